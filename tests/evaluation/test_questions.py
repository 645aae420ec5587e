"""Generated questions of activities and of data, over a real socket, and the suggested one."""

import json
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.cli.terminal import quoted
from gsum_assets.corpus.load import load
from gsum_assets.corpus.queries import as_queries, query_rows
from gsum_assets.evaluation.generate_questions import (
    QuestionError,
    QuestionsSettings,
    generate_questions,
)
from gsum_assets.evaluation.question_topics import Topic, find_topics, suggest_question
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section, load_settings
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel
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


LAMP = "The keeper carried the signal lamp down to the harbour wall every evening before supper."
FILLER = "Rain fell on the roofs of the town while everybody stayed indoors and mended nets."
TEXTS = {  # by document, a text for each passage
    "log": [FILLER, LAMP, "In the morning the lamp was polished with sand and vinegar by a boy."],
    "first": ["The council of Port Maren paid for a new crane in the spring of that year."],
    "second": ["A storm drove three ships ashore near Port Maren, and two of the masts broke."],
    "third": ["The school of Port Maren, an old one, taught the daughters of the pilots."],
}
TITLES = {"log": "The Log", "first": "One", "second": "Two", "third": "Three"}


def chunks(texts: dict[str, list[str]]) -> pa.Table:
    rows = [
        {"chunk_id": f"{document}{i}", "document_id": document, "position": i, "start": 1000 * i}
        | {"end": 1000 * i + len(text), "n_tokens": 1, "text": text}
        for document, of_document in texts.items()
        for i, text in enumerate(of_document)
    ]
    return pa.Table.from_pylist(rows, TABLES["chunks"].schema)


def topics(texts: dict[str, list[str]] = TEXTS) -> dict[str, Topic]:
    titles = {document: TITLES.get(document, document) for document in texts}
    return {topic.phrase: topic for topic in find_topics(titles, chunks(texts))}


def test_a_local_topic_has_the_statements_around_it() -> None:
    topic = topics()["the signal lamp"]
    assert not topic.is_global
    assert [(s.text, s.chunk_ids) for s in topic.statements] == [
        (LAMP, ("log1",)),
        (TEXTS["log"][2], ("log2",)),  # "the lamp"
    ]


def test_a_global_topic_has_a_statement_of_each_document() -> None:
    topic = topics()["Port Maren"]
    assert topic.is_global
    assert sorted(topic.chunk_ids) == ["first0", "second0", "third0"]


def test_distant_parts_of_one_document_make_a_topic_global() -> None:
    far = [FILLER.replace("Rain", f"Rain number {i}") for i in range(15)]
    for position, document in zip((0, 6, 12), ("first", "second", "third"), strict=True):
        far[position] = TEXTS[document][0]
    assert topics({"book": far})["Port Maren"].is_global
    near = {"book": far[:1] + far[6:7] + far[12:13]}
    assert "Port Maren" not in topics(near)  # neither in one place nor in many


def test_a_sentence_in_overlapping_passages_is_one_statement() -> None:
    cut = LAMP[LAMP.index("signal") :]  # the border of a passage cuts its beginning
    texts = [f"{FILLER} {LAMP}", f"{LAMP} The lamp is old.", cut]
    topic = topics({"log": texts})["the signal lamp"]
    assert [(s.text, s.chunk_ids) for s in topic.statements] == [(LAMP, ("log0", "log1"))]


@pytest.mark.parametrize(
    "text",
    [
        "Was the signal lamp carried down to the harbour wall every evening before supper?",
        "The signal lamp.",
        'He said "the signal lamp is carried down to the harbour wall every evening.',
    ],
)
def test_what_states_nothing_is_no_topic(text: str) -> None:
    assert "the signal lamp" not in topics({"log": [text, FILLER]})


def test_new_documents_keep_the_order_of_topics() -> None:
    before = [topic.phrase for topic in find_topics(TITLES, chunks(TEXTS))]
    more = TEXTS | {"new": ["The brass anchor of the museum was found in the mud by two divers."]}
    after = [t.phrase for t in find_topics({**TITLES, "new": "New"}, chunks(more))]
    assert [phrase for phrase in after if phrase in before] == before
    assert find_topics({}, chunks({})) == []


class Extractive:
    """The identity of the embedded model, which writes no question."""

    identity = "extractive-1/0"


def made(settings: QuestionsSettings, model: LanguageModel) -> Result:
    texts = {row["chunk_id"]: row["text"] for row in chunks(TEXTS).to_pylist()}
    return generate_questions(
        settings, model, topics=find_topics(TITLES, chunks(TEXTS)), texts=texts
    )


def test_embedded_model_asks_by_template() -> None:
    model: LanguageModel = Extractive()  # type: ignore[assignment]
    found = made(QuestionsSettings(data_local=1, data_global=1), model)
    kinds = {row["kind"]: row for row in found.rows.to_pylist()}
    assert kinds["data-global"]["text"] == "What is written about Port Maren?"
    assert set(kinds) == {"data-local", "data-global"}
    assertions = found.beside["assertions"].to_pylist()
    assert {row["query_id"] for row in assertions} == set(found.rows["query_id"].to_pylist())
    of_global = [r for r in assertions if r["query_id"] == kinds["data-global"]["query_id"]]
    assert [row["number"] for row in of_global] == [1, 2, 3]
    assert of_global[0]["text"] == TEXTS[of_global[0]["chunk_ids"][0][:-1]][0]
    rows, _ = query_rows(as_queries(found.rows, found.beside["assertions"]), chunks({}))
    relevant = {row["kind"]: row["relevant_chunk_ids"] for row in rows.to_pylist()}
    assert sorted(relevant["data-global"]) == ["first0", "second0", "third0"]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"activity_local": 3}, "activity_local is 3, but n is 0"),
        ({"n": 5, "description": " \n"}, "n is 5, but description is empty: write a few"),
    ],
)
def test_activities_need_personas_and_a_description(values: dict, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        checked_section(QuestionsSettings, "questions", values)


def asks(body: dict) -> str:
    if "points" not in (wanted_schema(body) or {})["properties"]:
        return writer(body)
    points = [
        {"statement": "It  holds.", "references": [1, 99]},
        {"statement": "No passage says this.", "references": [7]},
    ]
    about = body["messages"][1]["content"]
    question = "Where does Port Maren recur?" if "subject" in about else "Who minds the lamp?"
    return json.dumps({"question": question, "points": points})


def test_a_model_writes_question_and_assertions(tmp_path: Path) -> None:
    settings = QuestionsSettings(
        description="Tales of a river town.", n=1, activity_local=1, data_global=1
    )
    with judging(tmp_path, asks, 0) as (model, server):
        found = made(settings, model)
        assert len(server.lines()) == 1 + 1 + 1 + 2
    rows = {row["kind"]: row for row in found.rows.to_pylist()}
    assert set(rows) == {"general", "activity-local", "data-global"}
    assert rows["activity-local"]["persona"] == rows["general"]["persona"] != ""
    assert rows["data-global"]["persona"] == ""
    assertions = found.beside["assertions"].to_pylist()
    assert [row["text"] for row in assertions] == ["It holds."] * 2  # without a passage: none
    assert all(len(row["chunk_ids"]) == 1 for row in assertions)


def test_a_question_without_supported_points_is_a_failure(tmp_path: Path) -> None:
    def unsupported(body: dict) -> str:
        return asks(body).replace("[1, 99]", "[]")

    with judging(tmp_path, unsupported, 0) as (model, _):
        found = made(
            QuestionsSettings(description="Tales of a river town.", n=1, data_global=1), model
        )
    assert found.rows["kind"].to_pylist() == ["general"]
    assert "no point has the number of a passage" in found.failures[0]


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
