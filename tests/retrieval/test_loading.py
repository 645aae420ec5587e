"""The collection of a corpus: texts are read when used, many vectors are mapped."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval import bm25, loading
from gsum_assets.retrieval.bm25 import Bm25
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.loading import collection_of
from gsum_resources.store.lazy import Lazy, lazy_rows
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.retrieval.toys import tables, toy_question

CORPUS, NAMES = "tales", ("documents", "chunks", "chunk_embeddings")
VECTORS = tables()[2]["embedding"].to_pylist()
FIELDS = {"title": "", "n_words": 0, "start": 0, "end": 0, "n_tokens": 0, "document_id": ""}


def vectors_of(inputs: Inputs) -> np.ndarray:
    found = collection_of(inputs).embeddings
    assert found is not None
    return found


def digests_of(inputs: Inputs) -> Sequence[str]:
    found = collection_of(inputs, keep_indexes=True).text_digests
    assert found is not None
    return found


def schema(name: str) -> pa.Schema:
    return TABLES[name].schema


class Home:
    """A store with the tables of a corpus, and what was read of each: columns and partitions."""

    def __init__(self, root: str) -> None:
        self.store = ParquetStore(root)
        self.read: list[tuple[str, tuple[str, ...] | None, list[Partition]]] = []
        self.write(dict(zip(NAMES, tables(), strict=True)))

    def write(self, rows: Mapping[str, pa.Table]) -> None:
        for name, table in rows.items():
            whole = pa.Table.from_pylist([FIELDS | row for row in table.to_pylist()], schema(name))
            half = table.num_rows // 2
            for bucket, part in (("0000", whole.slice(0, half)), ("0001", whole.slice(half))):
                self.store.write(TABLES[name], Partition(CORPUS, bucket), part, Provenance("", "1"))

    def n_kept(self, name: str) -> int:
        return len(list(Path(self.store.root).rglob(f"{name}.npy")))

    def inputs(self) -> Inputs:
        partitions = [Partition(CORPUS, bucket) for bucket in ("0000", "0001")]
        lazy = {name: lazy_rows(self.store, TABLES[name], partitions) for name in NAMES}
        return Inputs(lazy, CORPUS, store=self.store)


@pytest.fixture
def home(tmp_path, monkeypatch) -> Home:
    here = Home(str(tmp_path))
    read = here.store.read

    def recorded(table, partitions, columns=None, as_dictionaries=()):
        here.read.append(
            (table.name, None if columns is None else tuple(columns), list(partitions))
        )
        return read(table, partitions, columns, as_dictionaries)

    monkeypatch.setattr(here.store, "read", recorded)
    monkeypatch.setattr(loading, "MAPPED_FROM", 1)
    monkeypatch.setattr(loading, "_last", {})
    monkeypatch.setattr(bm25, "KEPT_FROM", 1)
    return here


def test_is_the_collection_of_the_tables(home):
    found, expected = collection_of(home.inputs()), Collection.from_tables(*tables())
    for name in ("document_ids", "document_texts", "chunk_ids", "chunk_texts"):
        assert list(getattr(found, name)) == list(getattr(expected, name))
    np.testing.assert_array_equal(found.starts, expected.starts)
    np.testing.assert_array_equal(vectors_of(home.inputs()), VECTORS)
    assert list(found.document_texts[1:]) == expected.document_texts[1:]


def test_vectors_are_read_once_and_mapped(home):
    first = vectors_of(home.inputs())
    home.read.clear()
    again = vectors_of(home.inputs())
    assert isinstance(again.base, np.memmap)
    assert not again.flags.writeable
    np.testing.assert_array_equal(first, again)
    assert not [table for table, *_ in home.read if table == "chunk_embeddings"]
    assert not [columns for _, columns, _ in home.read if "text" in (columns or ())]


def test_passages_are_read_once_until_they_change(home):
    before = collection_of(home.inputs()).chunk_ids
    home.read.clear()
    noted = []
    inputs = home.inputs()
    for name in ("documents", "chunks"):
        partitions = [Partition(CORPUS, bucket) for bucket in ("0000", "0001")]
        lazy = lazy_rows(home.store, TABLES[name], partitions, note=noted.append)
        inputs = replace(inputs, tables={**inputs.tables, name: lazy})
    assert collection_of(inputs).chunk_ids == before
    assert not [table for table, *_ in home.read if table in ("documents", "chunks")]
    assert len(noted) >= 2  # what is not read again is recorded as an input all the same
    home.write({"chunks": tables()[1].slice(1), "chunk_embeddings": tables()[2].slice(1)})
    assert collection_of(home.inputs()).chunk_ids == before[1:]


def test_other_vectors_of_the_same_chunks_are_read_again(home):
    before = vectors_of(home.inputs())
    *_, rows = tables()
    turned = pa.array([vector[::-1] for vector in rows["embedding"].to_pylist()])
    others = pa.table({**{n: rows[n] for n in rows.column_names}, "embedding": turned})
    home.write({"chunk_embeddings": others})
    after = vectors_of(home.inputs())
    np.testing.assert_array_equal(after, before[:, ::-1])
    assert home.n_kept("vectors") == 1


def test_index_that_is_kept_needs_no_text(home):
    question = toy_question("red harbour")
    first = Bm25(collection_of(home.inputs(), keep_indexes=True)).scores(question)
    assert home.n_kept("hashes") == 2
    home.read.clear()
    again = Bm25(collection_of(home.inputs(), keep_indexes=True)).scores(question)
    np.testing.assert_array_equal(first.nodes, again.nodes)
    np.testing.assert_array_equal(first.documents, again.documents)
    assert not [columns for _, columns, _ in home.read if "text" in (columns or ())]


def test_blanks_between_chunks_make_another_text(home):
    before = digests_of(home.inputs())
    chunks = tables()[1].to_pylist()
    moved = [row | {"start": int(row["chunk_id"] == "c-boat-2")} for row in chunks]
    home.write({"chunks": pa.Table.from_pylist(moved)})
    after = digests_of(home.inputs())
    assert [a == b for a, b in zip(after, before, strict=True)] == [True, False, True]


def test_vectors_that_are_replaced_meanwhile_are_not_kept(home, monkeypatch):
    inputs = home.inputs()
    versions = iter(["1", "2"])
    monkeypatch.setattr(inputs.tables["chunk_embeddings"], "version", lambda: next(versions))
    found = vectors_of(inputs)
    np.testing.assert_array_equal(found, VECTORS)
    assert not home.n_kept("vectors")


def test_missing_vector_keeps_nothing(home):
    home.write({"chunk_embeddings": tables()[2].slice(1)})
    with pytest.raises(ValueError, match=r"1 of 5 chunks have no embedding \(first: c-apple-1\)"):
        collection_of(home.inputs())
    assert not home.n_kept("*")


def test_rows_of_some_ids_are_read_from_their_partitions(home):
    chunks = home.inputs().tables["chunks"]
    found = chunks.rows_with("chunk_id", ["c-cloud-1", "gone"])
    assert found["chunk_id"].to_pylist() == ["c-cloud-1"]
    (whole,) = [partitions for _, columns, partitions in home.read if columns is None]
    assert whole == [Partition(CORPUS, "0001")]
    nothing = chunks.rows_with("chunk_id", [])
    assert not nothing.num_rows
    assert nothing.schema.equals(found.schema)
    in_memory = Lazy.of(tables()[1]).rows_with("chunk_id", ["c-boat-1"])
    assert in_memory["document_id"].to_pylist() == ["boats"]
