"""Stored rows of unchanged chunks are kept if the same code and model wrote them."""

from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.corpus.index import with_earlier
from gsum_assets.evidence.sentence_index import sentence_rows
from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance, conform
from tests.models import HashEmbedder

NAME = "evidence.sentences"
TABLE = TABLES[NAME]
TEXTS = {
    "c2": "A lamp met a clerk. The river was high.",
    "c1": "A boat met a lamp.",
    "c3": "The clerk slept.",
}


def chunks(*ids: str) -> pa.Table:
    rows = [{"chunk_id": i, "document_id": "d", "text": TEXTS[i]} for i in ids]
    return pa.Table.from_pylist(rows)


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """Inputs of a step whose table has rows of c1 and c2."""
    embedder, store = HashEmbedder(), ParquetStore(str(tmp_path))
    written = Provenance(
        "", code_version_of(TABLE, "1"), {"model:embedding_model": embedder.identity}
    )
    rows = sentence_rows(chunks("c1", "c2"), embedder)
    store.write(TABLE, Partition("tales", "00"), rows, written)
    return Inputs({}, "tales", code_version="1", store=store).with_tables(
        {"embedding_model": embedder}
    )


def computed(inputs: Inputs, *ids: str) -> tuple[pa.Table, list[str]]:
    """Return the rows of chunks, and the chunks that were computed."""
    fresh: list[str] = []

    def compute(some: pa.Table) -> pa.Table:
        fresh.extend(some["chunk_id"].to_pylist())
        return sentence_rows(some, HashEmbedder())

    return with_earlier(inputs, NAME, chunks(*ids), compute), fresh


def test_only_new_chunks_are_computed_and_rows_equal_those_of_a_rebuild(inputs: Inputs) -> None:
    found, fresh = computed(inputs, "c3", "c2")  # c1 is gone
    assert fresh == ["c3"]
    assert found.to_pylist() == sentence_rows(chunks("c3", "c2"), HashEmbedder()).to_pylist()


def test_nothing_new(inputs: Inputs) -> None:
    found, fresh = computed(inputs, "c2", "c1")
    assert fresh == []
    expected = sentence_rows(chunks("c2", "c1"), HashEmbedder())
    hashes = [content_hash(conform(TABLE, rows, "")) for rows in (found, expected)]
    assert hashes[0] == hashes[1]
    assert found.to_pylist() == sentence_rows(chunks("c2", "c1"), HashEmbedder()).to_pylist()


def test_rows_of_another_code_model_or_bucket_do_not_count(inputs: Inputs) -> None:
    other_model = inputs.with_tables({"embedding_model": HashEmbedder("another")})
    for other in (replace(inputs, code_version="2"), replace(inputs, buckets=["01"]), other_model):
        assert computed(other, "c1", "c2")[1] == ["c1", "c2"]
    assert computed(replace(inputs, buckets=["00"]), "c1", "c2")[1] == []


def test_without_a_store_everything_is_computed() -> None:
    alone = Inputs({}, "tales").with_tables({"embedding_model": HashEmbedder()})
    assert computed(alone, "c1")[1] == ["c1"]
