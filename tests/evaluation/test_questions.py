"""Generated questions, over a real socket, and the suggested one."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from gsum_assets.cli.suggested_question import suggest_question
from gsum_assets.cli.terminal import quoted
from gsum_assets.corpus.load import load
from gsum_assets.evaluation.generate_questions import (
    QuestionError,
    QuestionsSettings,
    generate_questions,
)
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section, load_settings
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from tests.evaluation.judges.scripted_judges import judging
from tests.servers.replies import wanted_schema

SETTINGS = QuestionsSettings(description="Tales of a river town.", n=2)
TOPICS = ("harbour", "mills", "floods", "markets", "bridges", "ferries", "guilds", "taxes")


def writer(body: dict) -> str:
    """Two personas, two tasks of each, two questions of those, all different."""
    said, wanted = body["messages"][1]["content"], (wanted_schema(body) or {})["properties"]
    assert "Tales of a river town." in said
    if "personas" in wanted:
        people = [{"name": name, "description": "Reads."} for name in ("Historian", "Teacher")]
        return json.dumps({"personas": people})
    persona = "Historian" in said
    if "tasks" in wanted:
        return json.dumps({"tasks": [f"Task {persona} {i}." for i in range(2)]})
    start = 4 * persona + 2 * (f"Task {persona} 1." in said)
    texts = [f"How did  {topic} change?" for topic in TOPICS[start : start + 2]]
    return json.dumps({"questions": texts})


def generated(
    tmp_path: Path, says: Callable[[dict], str], settings: QuestionsSettings = SETTINGS, **script
) -> Result:
    with judging(tmp_path, says, 0, **script) as (model, _):
        return generate_questions(settings, model)


def always(*questions: str) -> Callable[[dict], str]:
    """Write the same questions for every task."""

    def says(body: dict) -> str:
        text = writer(body)
        return json.dumps({"questions": questions}) if "questions" in text else text

    return says


def test_every_persona_and_task(tmp_path: Path) -> None:
    with judging(tmp_path, writer) as (model, server):
        found = generate_questions(SETTINGS, model)
        assert len(server.lines()) == 1 + 2 + 4
        assert generate_questions(SETTINGS, model) == found
    assert found.failures == []
    assert found.rows.schema == TABLES["generated_questions"].schema
    rows = found.rows.to_pylist()
    assert sorted(row["text"] for row in rows) == sorted(f"How did {t} change?" for t in TOPICS)
    assert {row["persona"] for row in rows} == {"Historian: Reads.", "Teacher: Reads."}
    assert {row["task"] for row in rows} == {
        f"Task {p} {i}." for p in (True, False) for i in (0, 1)
    }
    ids = found.rows["query_id"].to_pylist()
    assert ids == sorted(set(ids))
    assert found.rows["model"].to_pylist() == ["judge"] * 8


def test_duplicates_are_dropped_and_reported(tmp_path: Path) -> None:
    found = generated(tmp_path, always("What recurs in the tales?", "WHAT recurs in the tale?"))
    assert found.rows["text"].to_pylist() == ["What recurs in the tales?"]
    assert found.failures == ["1 of 8 questions: 7 repeated another, 0 were not written"]


def test_questions_without_spaces_between_words_are_distinct(tmp_path: Path) -> None:
    found = generated(tmp_path, always("主要主题是什么？", "城镇如何变化？"))
    assert found.rows.num_rows == 2


def test_surplus_questions_are_dropped_and_missing_ones_reported(tmp_path: Path) -> None:
    one = QuestionsSettings(description=SETTINGS.description, n=1)
    assert generated(tmp_path, writer, one).rows.num_rows == 1
    three = QuestionsSettings(description=SETTINGS.description, n=3)
    found = generated(tmp_path, writer, three)
    assert found.failures == ["8 of 27 questions: 0 repeated another, 19 were not written"]


def test_failure_costs_its_questions_and_is_reported(tmp_path: Path) -> None:
    def failing(body: dict) -> str:
        return "no" if "Task True 1." in body["messages"][1]["content"] else writer(body)

    found = generated(tmp_path, failing)
    assert found.rows.num_rows == 6
    assert found.failures[0].startswith("no questions: judge: the question request")
    assert found.failures[1] == "6 of 8 questions: 0 repeated another, 2 were not written"


@pytest.mark.parametrize("blank", ['{"questions": [" ", ""]}', '{"questions": []}', "{}", "no"])
def test_no_question_raises(tmp_path: Path, blank: str) -> None:
    def says(body: dict) -> str:
        text = writer(body)
        return blank if "questions" in text else text

    with pytest.raises(QuestionError, match="none of 8 questions was written; first: no questions"):
        generated(tmp_path, says)


def test_questions_need_a_description() -> None:
    with pytest.raises(CorpusError, match="n is 5, but description is empty: write a few"):
        checked_section(QuestionsSettings, "questions", {"n": 5, "description": " \n"})


CORPORA = Path(__file__).parents[2] / "data" / "corpora"


@pytest.mark.parametrize(
    ("corpus", "question"),
    [
        ("sample-meetings", "What was said about the folding ramp?"),
        ("sample-stories", "What does The Keeper's Name say about Miss Dunne?"),
    ],
)
def test_question_reads_well_on_the_sample_corpora(corpus: str, question: str) -> None:
    documents, _ = load(CORPORA / corpus, load_settings(CORPORA / corpus))
    texts = [(document.title, document.text) for document in documents]
    assert suggest_question(texts) == question
    assert suggest_question(texts[::-1]) == question


RAMP = "They took the folding ramp to the quay. " * 2 + "Nobody saw the folding ramp again. "


@pytest.mark.parametrize(
    ("title", "text", "question"),
    [
        ("Report", RAMP, "What does Report say about the folding ramp?"),
        ("63109", RAMP, "What is written about the folding ramp?"),  # no name of a document
        ("x" * 80, RAMP, "What is written about the folding ramp?"),
        ("Folding chairs", RAMP, "What are these documents about?"),  # the title says it already
        ("Report", "", "What are these documents about?"),
        ("Report", "1 2 3 $ %", "What are these documents about?"),
    ],
)
def test_short_text_gives_a_question(title: str, text: str, question: str) -> None:
    assert suggest_question([(title, text)]) == question


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("What does The Keeper's Name say?", '"What does The Keeper\'s Name say?"'),
        ("What is $HOME?", "'What is $HOME?'"),
        ('Who said "no"?', "'Who said \"no\"?'"),
    ],
)
def test_text_is_quoted_for_the_shell(text: str, word: str) -> None:
    assert quoted(text) == word
