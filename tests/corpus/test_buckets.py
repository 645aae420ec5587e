"""Number of buckets of a corpus: rule, setting, and where it is kept."""

from pathlib import Path

import pytest

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.corpus.buckets import (
    BYTES_PER_BUCKET,
    DOCUMENTS_PER_BUCKET,
    Buckets,
    n_buckets_for,
    size_of,
)
from gsum_assets.corpus.load import bucket_of
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.forget import forget_corpus
from gsum_resources.settings.home import Home
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.partition import bucket_names

LISTING = TABLES["source_documents"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A corpus folder of one document."""
    (tmp_path / "tales").mkdir()
    (tmp_path / "tales" / "one.txt").write_text("One.")
    return tmp_path / "tales"


@pytest.fixture
def store(tmp_path: Path) -> ParquetStore:
    return ParquetStore(str(tmp_path / "warehouse"))


def write_listing(store: ParquetStore, bucket: str) -> None:
    store.write(LISTING, Partition("tales", bucket), LISTING.empty(), Provenance("", ""))


@pytest.mark.parametrize(
    ("n_documents", "n_bytes", "n"),
    [
        (0, 0, 8),
        (8 * DOCUMENTS_PER_BUCKET, 0, 8),
        (8 * DOCUMENTS_PER_BUCKET + 1, 0, 16),
        (1, 8 * BYTES_PER_BUCKET, 8),
        (1, 8 * BYTES_PER_BUCKET + 1, 16),
        (33 * DOCUMENTS_PER_BUCKET, 100 * BYTES_PER_BUCKET, 128),
        (10**9, 0, 1024),
    ],
)
def test_number_follows_the_size(n_documents: int, n_bytes: int, n: int) -> None:
    assert n_buckets_for(n_documents, n_bytes) == n


def test_size_is_that_of_documents_compressed_ones_fourfold(folder: Path) -> None:
    (folder / "photo.jpg").write_bytes(b"x" * 100)
    (folder / "corpus.toml").write_text("title = 'Tales'")
    (folder / "queries.jsonl").write_text("{}")
    (folder / "documents.jsonl.gz").write_bytes(b"x" * 10)
    assert size_of(folder) == (2, len("One.") + 40)


def test_names_and_hash_are_those_of_earlier_corpora() -> None:
    assert bucket_names(8) == ["00", "01", "02", "03", "04", "05", "06", "07"]
    assert bucket_names(1024)[98:102] == ["98", "99", "100", "101"]
    assert [bucket_of(f"tale-{i}") for i in range(6)] == ["01", "03", "06", "04", "02", "02"]
    for document_id in map(str, range(100)):  # each bucket of 8 is split, none is mixed
        assert int(bucket_of(document_id, 256)) % 8 == int(bucket_of(document_id))


def test_number_stays_when_the_corpus_grows(
    folder: Path, store: ParquetStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Buckets(store).fix("tales", folder) == 8
    monkeypatch.setattr("gsum_assets.corpus.buckets.size_of", lambda _: (10**6, 0))
    assert Buckets(store).fix("tales", folder) == 8
    assert Buckets(store).of("tales") == 8
    assert Buckets(store).fix("other", folder) == 512


def test_setting_counts_once(folder: Path, store: ParquetStore) -> None:
    settings = folder / "corpus.toml"
    settings.write_text("buckets = 64")
    assert Buckets(store).fix("tales", folder) == 64
    settings.write_text("buckets = 128")
    with pytest.raises(
        CorpusError, match=r"buckets = 128, but .*'tales' has 64 .* set buckets = 64"
    ):
        Buckets(store).fix("tales", folder)
    settings.unlink()
    assert Buckets(store).fix("tales", folder) == 64


@pytest.mark.parametrize("n", [4, 12, 2048, '"64"'])
def test_setting_is_a_power_of_two(folder: Path, store: ParquetStore, n: object) -> None:
    (folder / "corpus.toml").write_text(f"buckets = {n}")
    with pytest.raises(CorpusError, match="'buckets' has value"):
        Buckets(store).fix("tales", folder)


def test_warehouse_without_its_state_shows_the_number(store: ParquetStore) -> None:
    write_listing(store, "07")
    write_listing(store, "61")  # perhaps not all were written yet
    assert Buckets(store).of("tales") == 64


def test_deleted_corpus_is_created_anew(folder: Path, tmp_path: Path) -> None:
    home = Home(tmp_path, str(tmp_path / "warehouse"))
    store = home.open_store()
    buckets = Buckets(store)
    (folder / "corpus.toml").write_text("buckets = 32")
    buckets.fix("tales", folder)
    write_listing(store, "31")
    forget_corpus(open_workspace(home, store=store), "tales")
    buckets.reread()
    (folder / "corpus.toml").write_text("buckets = 16")
    assert buckets.fix("tales", folder) == 16
