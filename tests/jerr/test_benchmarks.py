"""QuALITY, MuSiQue and NarrativeQA from their official files to scored answers."""

import csv
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.evaluation.short_answers import chosen_option
from gsum_resources.llm.extractive import ExtractiveModel
from tests.checks.indexed import failing
from tests.conftest import House
from tests.models import HashEmbedder
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.tales import PEOPLE, PLACES, paragraphs

pytestmark = pytest.mark.usefixtures("only_tables")
METHODS = ["jerr", "readagent"]
SETTINGS = f"""
{WITHOUT_BERTSCORE}[jerr.chunking]
max_tokens = 600
[jerr.pages]
min_words = 60
max_words = 120
"""


def quality(folder: Path) -> None:
    """Two articles; two writers have questions on each, so each comes twice."""
    rows = [
        {
            "article_id": str(51000 + number),
            "set_unique_id": f"{51000 + number}_{writer}",
            "title": f"Tale {number}",
            "article": paragraphs(number, 24),
            "questions": [
                {"question": f"Who wept on day {number}{day}?"}
                | {"question_unique_id": f"{51000 + number}_{writer}_{day}"}
                | {"options": PEOPLE[:4], "gold_label": 1 + day, "writer_label": 1 + day}
                | {"difficult": 0}
                for day in range(2)
            ],
        }
        for number in (1, 2)
        for writer in ("A", "B")
    ]
    write_lines(folder / "QuALITY.v1.0.1.htmlstripped.dev", rows)


def musique(folder: Path) -> None:
    """Two questions over twenty paragraphs each, two of which hold the answer."""
    rows = []
    for number in (1, 2):
        parts = paragraphs(number, 18).split("\n\n")
        parts.insert(3, f"{PEOPLE[number]} was born in {PLACES[number]} and never learned to swim.")
        parts.insert(11, f"{PLACES[number]} lies at the mouth of the river Esk.")
        rows.append(
            {
                "id": f"2hop__{number}_9",
                "paragraphs": [
                    {"idx": i, "title": f"Page {i}", "paragraph_text": text}
                    | {"is_supporting": i in (3, 11)}
                    for i, text in enumerate(parts)
                ],
                "question": f"At which river was {PEOPLE[number]} born?",
                "answer": "Esk",
                "answer_aliases": ["the river Esk"],
                "answerable": True,
            }
        )
    write_lines(folder / "musique_ans_v1.0_dev.jsonl", rows)


def narrativeqa(folder: Path) -> None:
    """Two downloaded stories, with a licence in front that the recorded start leaves out."""
    documents, questions = [], []
    (folder / "tmp").mkdir()
    for number in (1, 2):
        text = paragraphs(number, 24)
        words = text.split()
        known = {"document_id": f"{number}" * 40, "set": "valid", "kind": "gutenberg"}
        ends = {"story_start": " ".join(words[:6]), "story_end": " ".join(words[-6:])}
        documents.append({**known, "wiki_title": f"Tale {number}", **ends})
        questions.append(
            {**known, "question": "Who wept ?", "answer1": PEOPLE[number], "answer2": "a skipper"}
        )
        page = f"<html><pre>Licence of this book.\n\n{text}\n\nThe end.</pre></html>"
        (folder / "tmp" / f"{known['document_id']}.content").write_text(page)
    for name, rows in (("documents.csv", documents), ("qaps.csv", questions)):
        with (folder / name).open("w", newline="") as stream:
            writer = csv.DictWriter(stream, rows[0])
            writer.writeheader()
            writer.writerows(rows)


BENCHMARKS: dict[str, Callable[[Path], None]] = {
    "quality": quality,
    "musique": musique,
    "narrativeqa": narrativeqa,
}


@pytest.fixture(scope="module")
def answered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """All three imported into one corpus, since every further corpus costs a run."""
    with house_at(tmp_path_factory.mktemp("benchmarks")) as house:
        house.model = ExtractiveModel(HashEmbedder())  # type: ignore[assignment]
        for name, written in BENCHMARKS.items():
            source, imported = (tmp_path_factory.mktemp(f"{name}-{n}") for n in ("from", "to"))
            written(source)
            import_benchmark(name, source, imported)
            for file in ("documents.jsonl", "queries.jsonl"):
                with (house.folder / file).open("a") as stream:
                    stream.write((imported / name / file).read_text())
        (house.folder / "corpus.toml").write_text(SETTINGS)
        assert house.run(METHODS).errors == []
        yield house


@pytest.mark.slow
def test_both_methods_answer_every_form_of_question(answered: House) -> None:
    rows = answered.table("summaries").to_pylist()
    questions = {row["query_id"]: row["form"] for row in answered.table("queries").to_pylist()}
    assert Counter(questions.values()) == {"choice": 8, "short": 4}
    assert {(row["method"], row["query_id"]) for row in rows if row["text"]} == {
        (method, query_id) for method in METHODS for query_id in questions
    }


@pytest.mark.slow
def test_no_check_of_the_family_fails(answered: House) -> None:
    assert {name for name in failing(answered) if name.startswith("jerr")} == set()


@pytest.mark.slow
def test_choice_is_one_of_the_options_and_correct_or_wrong(answered: House) -> None:
    found = scores(answered, "accuracy")
    questions = of_form(answered, "choice")
    assert len(found) == len(METHODS) * len(questions)
    for row in answered.table("summaries").to_pylist():
        if question := questions.get(row["query_id"]):
            chosen = chosen_option(row["text"], question["options"])
            is_right = chosen is not None and question["options"][chosen] in question["references"]
            assert found[row["method"], row["query_id"], "accuracy"] == is_right


@pytest.mark.slow
def test_short_answer_is_short_and_scored(answered: House) -> None:
    questions = of_form(answered, "short")
    rows = [r for r in answered.table("summaries").to_pylist() if r["query_id"] in questions]
    assert all(len(row["text"].split()) <= 20 for row in rows)
    assert scores(answered, "token_f1", "exact_match").keys() == {
        (row["method"], row["query_id"], metric)
        for row in rows
        for metric in ("token_f1", "exact_match")
    }


def of_form(house: House, form: str) -> dict[str, dict]:
    """Questions by id."""
    rows = house.table("queries").to_pylist()
    return {row["query_id"]: row for row in rows if row["form"] == form}


def scores(house: House, *metrics: str) -> dict[tuple[str, str, str], float]:
    """Values by method, question and metric."""
    return {
        (row["method"], row["query_id"], row["metric"]): row["value"]
        for row in house.table("scores").to_pylist()
        if row["metric"] in metrics
    }
