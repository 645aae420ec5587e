"""Graph of Records as assets: materialized on request; new documents do not retrain it."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest
import torch

from gsum_assets.answering.ask import ask
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Completion, CompletionError, Request
from gsum_resources.store.parquet_store import Partition
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House, document_in, text_of
from tests.families.small import SMALL
from tests.models import FirstWords
from tests.pipeline.homes import copy_of, house_at, write_lines
from tests.pipeline.stalling_run import STALLED_EPOCH, kill_in

pytestmark = pytest.mark.slow

LONG, ONE_CHUNK = document_in(0), document_in(1)
NEW, MUTE = document_in(5), document_in(5, 1)
N_QUERIES = 3  # of a document


class Asker(FirstWords):
    """Generates questions on the first names of a passage, and answers with its first words."""

    def _one(self, request: Request) -> Completion | CompletionError:
        reply = super()._one(request)
        if request.task != "question" or isinstance(reply, CompletionError):
            return reply
        words = reply.text.split()
        return replace(reply, text=f"Why did the {words[1]} of {words[3]} meet the {words[6]}?")


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Two documents, one of a single chunk, with a question for each and one for both."""
    with house_at(tmp_path_factory.mktemp("records")) as house:
        house.model = Asker()
        house.write_document(LONG, text_of(LONG, 10))
        house.write_document(ONE_CHUNK, text_of(ONE_CHUNK, 2))
        (house.folder / "corpus.toml").write_text(SMALL["gor"].corpus_toml)
        questions = [("all", None), ("long", LONG), ("short", ONE_CHUNK)]
        write_lines(
            house.folder / "queries.jsonl",
            [
                {"query_id": q, "text": f"Who met {d}?", "document_id": d, "references": ["A."]}
                for q, d in questions
            ],
        )
        assert house.run(["gor"]).is_complete
        yield house


def in_document(rows: pa.Table, document_id: str) -> list[dict]:
    return [row for row in rows.to_pylist() if row["document_id"] == document_id]


def of_method(house: House, table: str, method: str) -> list[dict]:
    return [row for row in house.table(table).to_pylist() if row["method"] == method]


def weights(house: House, method: str) -> bytes:
    (row,) = of_method(house, "gor.model", method)
    return row["weights"]


def test_single_chunk_document_passes_all_steps(indexed: House) -> None:
    nodes = indexed.table("gor.record_nodes")
    kinds = {d: [n["kind"] for n in in_document(nodes, d)] for d in (LONG, ONE_CHUNK)}
    assert kinds[ONE_CHUNK] == ["chunk", "response"]  # no other question is possible on the chunk
    assert kinds[LONG].count("response") == N_QUERIES < kinds[LONG].count("chunk")
    assert len(in_document(indexed.table("gor.node_rankings"), ONE_CHUNK)) == 2
    log = indexed.table("gor.training_log")
    assert log["epoch"].to_pylist() == list(range(1, STALLED_EPOCH + 2))
    embedded = indexed.table("gor.node_embeddings")
    assert set(embedded["node_id"].to_pylist()) == set(nodes["node_id"].to_pylist())
    assert failing(indexed) <= SMALL["gor"].may_fail  # of so few epochs nothing is promised


@pytest.mark.usefixtures("only_tables_here")
def test_later_documents_are_embedded_with_the_existing_model(
    indexed: House, tmp_path: Path
) -> None:
    with copy_of(indexed, tmp_path) as house:
        known = {row["node_id"]: row for row in house.table("gor.node_embeddings").to_pylist()}
        house.write_document(NEW, text_of(NEW, 12))  # four chunks; two of them ask the same
        house.write_document(MUTE, "Thank you. Goodbye.")  # no question is possible on this
        report = house.run()
        assert report.is_complete
        assert "gor/node_embeddings" in report.written
        assert not {"gor/model", "gor/training_log"} & set(report.written)
        assert weights(house, "gor") == weights(indexed, "gor")
        embedded = house.table("gor.node_embeddings").to_pylist()
        now = {row["node_id"]: row for row in embedded}
        assert {node_id: now[node_id] for node_id in known} == known
        assert len(in_document(house.table("gor.simulated_queries"), NEW)) == N_QUERIES
        (lonely,) = in_document(house.table("gor.record_nodes"), MUTE)
        assert (lonely["kind"], lonely["degree"]) == ("chunk", 0)
        assert lonely["node_id"] in now
        ranks = house.table("gor.source_ranks").to_pylist()
        learnt = {(LONG, True), (ONE_CHUNK, True), (NEW, False)}
        assert {(r["document_id"], r["is_learnt"]) for r in ranks} == learnt
        whole = ask(house.workspace, CORPUS, "Summarize the document.", "gor", MUTE)
        assert whole.text == "Thank you. Goodbye."


def test_killed_training_resumes_from_its_last_epoch(indexed: House, tmp_path: Path) -> None:
    with copy_of(indexed, tmp_path / "killed") as house:
        kill_in(house.home.root, "training", ["gor-gcn"])
        (state,) = Path(house.store.root).glob("gor.model/*/*/training.pt")
        saved = torch.load(state)["log"]
        assert [epoch["epoch"] for epoch in saved] == list(range(1, STALLED_EPOCH))
        assert house.run().is_complete
        log = of_method(house, "gor.training_log", "gor-gcn")
        assert [row["epoch"] for row in log] == list(range(1, STALLED_EPOCH + 2))
        # the seconds that they took, too: those of another training would differ
        assert [{name: row[name] for name in saved[0]} for row in log[: len(saved)]] == saved
        assert not state.exists()
        assert weights(house, "gor") == weights(indexed, "gor")
        with copy_of(house, tmp_path / "undisturbed") as undisturbed:
            undisturbed.store.delete(TABLES["gor.model"], Partition(CORPUS, method="gor-gcn"))
            assert undisturbed.run().is_complete
            again = of_method(undisturbed, "gor.training_log", "gor-gcn")
            assert [row["seconds"] for row in again] != [row["seconds"] for row in log]
            assert weights(undisturbed, "gor-gcn") == weights(house, "gor-gcn")
