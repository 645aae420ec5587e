"""`evidence-finetuned` as assets: trained on request and by schedule, not by new documents."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.runner.forget import forget
from gsum_resources.store.checkpoints import learnt_hash
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House, document_in, text_of
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of, house_at, write_lines

METHODS = ["evidence", "evidence-finetuned"]
DOCUMENTS = [document_in(bucket) for bucket in range(5)]
NEW = document_in(6)
N_CHARACTERS = 60  # of marked evidence
SETTINGS = f"""
{WITHOUT_BERTSCORE}[chunking]
max_tokens = 32
overlap_tokens = 0
[evidence.training]
epochs = 30
learning_rate = 0.02
least_questions = 4
"""

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


def write(house: House, split: str, settings: str = SETTINGS) -> None:
    """Five documents with two marked questions each, and a question without marks."""
    for number, document_id in enumerate(DOCUMENTS):
        house.write_document(document_id, text_of(document_id, 10 + number))
    (house.folder / "corpus.toml").write_text(settings)
    marked = [
        {
            "query_id": f"{document_id}-{start}",
            "text": f"Who met the boat of {document_id}?",
            "document_id": document_id,
            "split": split,
            "references": ["A."],
            "relevant_spans": [
                {"document_id": document_id, "start": start, "end": start + N_CHARACTERS}
            ],
        }
        for document_id in DOCUMENTS
        for start in (0, 2 * N_CHARACTERS)
    ]
    own = {"query_id": "own", "text": "Who met the clerk?", "document_id": DOCUMENTS[0]}
    write_lines(house.folder / "queries.jsonl", [*marked, {**own, "references": ["A."]}])


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("finetuned")) as house:
        write(house, "train")
        report = house.run(METHODS)
        assert report.is_complete, report.errors
        yield house


@pytest.fixture(scope="module")
def unmarked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """The same with marks of questions that nothing may learn from."""
    with house_at(tmp_path_factory.mktemp("unmarked")) as house:
        write(house, "test")
        report = house.run(METHODS)
        assert report.is_complete, report.errors
        yield house


def model(house: House) -> dict:
    """The only row of `evidence.model`: the packaged methods have none."""
    (row,) = house.table("evidence.model").to_pylist()
    assert row["method"] == "evidence-finetuned"
    return row


def probabilities(house: House, method: str) -> dict[tuple[str, str], float]:
    rows = house.table("evidence.probabilities").to_pylist()
    return {
        (row["query_id"], row["chunk_id"]): row["probability"]
        for row in rows
        if row["method"] == method
    }


def test_marked_questions_train_a_network_that_ranks(indexed: House) -> None:
    row = model(indexed)
    assert (row["data"], row["n_questions"]) == ("marked", 10)
    assert row["learnt_from"] == sorted(map(learnt_hash, DOCUMENTS))
    log = indexed.table("evidence.training_log").sort_by("epoch")
    assert log["epoch"].to_pylist() == list(range(31))
    assert log["held_out_ap"][30].as_py() > log["held_out_ap"][0].as_py()
    tuned, packaged = (probabilities(indexed, name) for name in reversed(METHODS))
    assert tuned.keys() == packaged.keys()
    assert tuned != packaged
    assert not [name for name in failing(indexed) if name.startswith("evidence")]
    answer = ask(indexed.workspace, CORPUS, "Who met the boat?", "evidence-finetuned", explain=True)
    assert f"\n\npassages read: {len(answer.passages)} of " in answer.explanation


def test_new_documents_and_marks_do_not_retrain(indexed: House, tmp_path: Path) -> None:
    with copy_of(indexed, tmp_path) as house:
        house.write_document(NEW, text_of(NEW, 8))
        queries = house.folder / "queries.jsonl"
        queries.write_text(queries.read_text().replace('"start": 0,', '"start": 1,'))
        report = house.run()
        assert report.is_complete, report.errors
        names = report.written
        assert "evidence/rankings" in names
        assert not [name for name in names if name.startswith("evidence/model")]
        assert model(house) == model(indexed)


def test_a_forgotten_document_is_reported_and_retrained_without(
    indexed: House, tmp_path: Path
) -> None:
    with copy_of(indexed, tmp_path) as house, house.instance() as instance:
        kept = forget(house.pipeline(), instance, CORPUS, DOCUMENTS[1])
        assert (kept.problem, kept.trained) == (None, ["evidence-finetuned"])
        assert learnt_hash(DOCUMENTS[1]) in model(house)["learnt_from"]
        done = forget(house.pipeline(), instance, CORPUS, DOCUMENTS[2], retrain=True)
        assert (done.problem, [*done.trained]) == (None, [])
        left = {DOCUMENTS[0], *DOCUMENTS[3:]}
        assert model(house)["learnt_from"] == sorted(map(learnt_hash, left))


def test_without_marks_the_packaged_weights_rank(unmarked: House) -> None:
    row = model(unmarked)
    assert (row["data"], row["n_questions"], row["learnt_from"]) == ("packaged", 0, [])
    tuned, packaged = (probabilities(unmarked, name) for name in METHODS)
    assert tuned == packaged
    assert unmarked.run().written == []
    with unmarked.instance() as instance:  # no network has learnt from it
        assert forget(unmarked.pipeline(), instance, CORPUS, DOCUMENTS[1]).trained == []
