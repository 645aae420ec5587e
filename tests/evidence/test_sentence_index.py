"""Sentences by passage: in memory, and mapped from arrays that are kept for each partition."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.evidence import sentence_index as module
from gsum_assets.evidence.sentence_index import SentenceIndex, Sentences, sentence_index
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.lazy import Lazy, lazy_rows
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.evidence.toys import random_units, sentences

CORPUS = "tales"
PLACES = {
    "0000": [("mill-0", 1, "Ann", 3), ("mill-0", 0, "", 2), ("mill-00", 0, "Bo", 4)],
    "0001": [("sea-longer-0", 0, "", 5)],
    "0002": [],
}
VECTORS = random_units(9)
ASKED = ["sea-longer-0", "mill-00", "gone", "mill-0", "mill-000", "a"]


class Home:
    """A store with sentences in three partitions."""

    def __init__(self, root: str) -> None:
        self.store = ParquetStore(root)
        for bucket, rows in PLACES.items():
            self.write(bucket, rows)

    def write(self, bucket: str, rows: Sequence[tuple[str, int, str, int]], first: int = 0) -> None:
        spoken, table = sentences(rows, VECTORS[first : first + len(rows)]), self.table
        documents = pa.array([row[0].split("-")[0] for row in rows], pa.string())
        if rows:
            spoken = spoken.append_column("document_id", documents)
        spoken = spoken.select(table.schema.names).cast(table.schema)
        self.store.write(table, Partition(CORPUS, bucket), spoken, Provenance("", "1"))

    @property
    def table(self):
        return TABLES["evidence.sentences"]

    def lazy(self) -> Lazy:
        partitions = [Partition(CORPUS, bucket) for bucket in PLACES]
        return lazy_rows(self.store, self.table, partitions)

    def index(self, n_chunks: int = 10) -> SentenceIndex:
        return sentence_index(self.lazy(), n_chunks, ArrayCache(self.store, CORPUS))

    def kept(self) -> dict[str, int]:
        """Return the folders of arrays with the time when each was made."""
        folders = Path(self.store.root).rglob("sentences/*")
        return {folder.name: folder.stat().st_mtime_ns for folder in folders if folder.is_dir()}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.setattr(module, "SENTENCES_MAPPED_FROM", 10)
    return Home(str(tmp_path))


def contents(found: Sentences) -> list:
    return [vars(found)[n].tolist() for n in ("starts", "vectors", "n_words", "speakers")]


def test_passages_have_their_sentences_in_order() -> None:
    rows = [row for own in PLACES.values() for row in own]
    found = SentenceIndex.of_rows(sentences(rows, VECTORS[: len(rows)])).of(ASKED)
    assert found.starts.tolist() == [0, 1, 2, 2, 4, 4, 4]
    assert found.n_words.tolist() == [5, 4, 2, 3]
    assert found.speakers.tolist() == ["", "Bo", "", "Ann"]
    np.testing.assert_array_equal(found.vectors, VECTORS[[3, 2, 1, 0]])
    np.testing.assert_array_equal(found.vectors_of(3), VECTORS[[1, 0]])


def test_many_are_mapped_and_equal_those_in_memory(home: Home) -> None:
    few = home.index(9)
    assert not home.kept()
    many, again = home.index(), home.index()
    assert contents(few.of(ASKED)) == contents(many.of(ASKED)) == contents(again.of(ASKED))
    assert few.dim == many.dim == VECTORS.shape[1]
    assert len(home.kept()) == 2


def test_an_edit_writes_the_arrays_of_its_partition(home: Home) -> None:
    home.index()
    before = home.kept()
    assert len(before) == 2  # a partition without sentences needs none
    home.write("0001", PLACES["0001"], first=4)
    edited = home.index().of(["sea-longer-0"])
    np.testing.assert_array_equal(edited.vectors, VECTORS[[4]])
    after = home.kept()
    assert len(after) == 2
    assert len(set(before.items()) & set(after.items())) == 1


def test_sentences_that_are_replaced_meanwhile_are_not_kept(
    home: Home, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = iter(range(100))
    monkeypatch.setattr(Lazy, "version", lambda _: str(next(versions)))
    assert len(home.index().of(["mill-00"]).vectors)
    assert not home.kept()
