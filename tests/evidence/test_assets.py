"""`evidence` as assets: sentences embedded once, a choice that can be read and explained."""

from collections.abc import Iterator

import pytest

from gsum_assets.answering.ask import ask
from gsum_resources.store.arrow import pc
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House, document_in, text_of
from tests.pipeline.homes import (
    WITHOUT_BERTSCORE,
    contents,
    copy_of,
    emptied_copy_of,
    house_at,
    write_lines,
)

pytestmark = pytest.mark.slow

DOCUMENTS = [document_in(bucket) for bucket in range(4)]
NEW = document_in(5)
METHODS = ["evidence", "evidence-no-graph", "evidence-gnn", "evidence-gbm", "evidence-fixed-k"]
SETTINGS = f"""
{WITHOUT_BERTSCORE}[chunking]
max_tokens = 32
overlap_tokens = 0
[retrieval]
k = 2
"""


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Four documents, and questions about all of them, about one, and about everything."""
    with house_at(tmp_path_factory.mktemp("evidence")) as house:
        for number, document_id in enumerate(DOCUMENTS):
            house.write_document(document_id, text_of(document_id, 4 + number))
        (house.folder / "corpus.toml").write_text(SETTINGS)
        questions = [
            ("all", "Who met the boat?", None),
            ("first", "Who met the boat?", DOCUMENTS[0]),
            ("general", "Summarize the whole story.", DOCUMENTS[1]),
        ]
        write_lines(
            house.folder / "queries.jsonl",
            [
                {"query_id": q, "text": text, "document_id": d, "references": ["A."]}
                for q, text, d in questions
            ],
        )
        report = house.run(METHODS)
        assert report.is_complete, report.errors
        yield house


def test_every_variant_answers_every_question(indexed: House) -> None:
    rows = indexed.table("summaries").to_pylist()
    assert {(row["method"], row["query_id"]) for row in rows} == {
        (method, query) for method in METHODS for query in ("all", "first", "general")
    }
    assert not [name for name in failing(indexed) if name.startswith("evidence")]
    fixed = indexed.table("contexts").filter(
        pc.equal(indexed.table("contexts")["method"], "evidence-fixed-k")
    )
    assert fixed["query_id"].value_counts().field("counts").to_pylist() == [2, 2, 2]


def test_contexts_stay_within_the_budget(indexed: House) -> None:
    tokens = {row["chunk_id"]: row["n_tokens"] for row in indexed.table("chunks").to_pylist()}
    read: dict[tuple[str, str], int] = {}
    for row in indexed.table("contexts").to_pylist():
        key = (row["method"], row["query_id"])
        read[key] = read.get(key, 0) + tokens[row["node_id"]]
    assert max(read.values()) <= 2 * 32


@pytest.mark.usefixtures("only_tables_here")
def test_update_equals_rebuild(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> None:
    with copy_of(indexed, tmp_path_factory.mktemp("updated")) as house:
        house.write_document(NEW, text_of(NEW, 5))
        house.write_document(DOCUMENTS[2], "A lamp met a clerk by the river. " * 20)
        (house.folder / f"{DOCUMENTS[3]}.txt").unlink()
        report = house.run()
        assert report.is_complete, report.errors
        buckets = [name for name in report.written if "evidence/sentences" in name]
        assert len(buckets) == 3  # of the documents that changed
        with emptied_copy_of(house, tmp_path_factory.mktemp("anew")) as fresh:
            assert fresh.run(METHODS).is_complete
            assert contents(fresh) == contents(house)


@pytest.mark.usefixtures("only_tables_here")
def test_a_budget_changes_the_contexts_alone(
    indexed: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        file = house.folder / "corpus.toml"
        file.write_text(file.read_text() + "[evidence.contexts]\nmax_tokens = 20\n")
        names = house.run(["evidence"]).written
        assert "evidence/contexts[evidence]" in names
        assert not [name for name in names if "rankings" in name or "sentences" in name]


@pytest.mark.parametrize("document_id", [None, DOCUMENTS[1]])
def test_an_answer_is_explained(indexed: House, document_id: str | None) -> None:
    pipeline = indexed.pipeline()
    answer = ask(pipeline, CORPUS, "Who met the boat?", "evidence", document_id, explain=True)
    assert answer.text
    assert f"\n\npassages read: {len(answer.passages)} of " in answer.explanation
    for passage in answer.passages:
        assert passage["node_id"] in answer.explanation
