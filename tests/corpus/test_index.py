"""The steps of a corpus read its folder, correct its listing, and warn of what they leave out."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pytest

from gsum_assets.answering.workspace import section_of
from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.corpus.index import CORPUS, with_earlier
from gsum_assets.corpus.load import Document, SourceDocument, bucket_of, scan
from gsum_assets.corpus.rows import rows_of
from gsum_assets.evidence.sentence_index import sentence_rows
from gsum_assets.pipeline.corpus_settings import ChunkingSettings, CorpusSettings
from gsum_assets.pipeline.step import Inputs, Step, run
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import content_hash
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance, conform
from tests.models import HashEmbedder

STEPS: dict[str, Step] = {step.table: step for step in CORPUS}
LISTING = TABLES["source_documents"]
DEFAULT = CorpusSettings()


class Given:
    def __init__(self, settings: CorpusSettings) -> None:
        self._settings = settings

    def section(self, _: str, name: str) -> object:
        return section_of(self._settings, name)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    written = tmp_path / "tales"
    written.mkdir()
    (written / "boat.txt").write_text("A boat met a lamp.")
    (written / "torn.txt").write_bytes(b"caf\xe9\0\1")
    (written / "photo.jpg").write_bytes(b"\xff")
    return written


def listed_in(folder: Path) -> list[SourceDocument]:
    return list(scan(folder, CorpusSettings()))


def inputs_of(folder: Path, settings: CorpusSettings = DEFAULT, **tables: pa.Table) -> Inputs:
    inputs = Inputs(
        {"corpus_settings": Given(settings)},
        folder.name,
        step="documents",
        store=ParquetStore(str(folder.parent / "warehouse")),
        folder=folder,
    )
    return inputs.with_tables({"embedding_model": HashEmbedder(), **tables})


def test_rejected_files_are_warned_about_except_other_types(folder: Path) -> None:
    listing = rows_of(LISTING, listed_in(folder))
    found = STEPS["documents"].result(inputs_of(folder, source_documents=listing))
    assert found.rows["text"].to_pylist() == ["A boat met a lamp."]
    assert sorted(found.beside["rejected_documents"]["file"].to_pylist()) == [
        "photo.jpg",
        "torn.txt",
    ]
    (problem,) = found.failures
    assert problem.startswith("tales/torn.txt: rejected: ")
    assert {*found.beside, "documents"} == set(STEPS["documents"].writes)


def test_file_changed_after_listing_is_listed_as_read(folder: Path) -> None:
    bucket = Partition(folder.name, bucket_of("boat"))
    other_partition = Partition("other", bucket_of("boat"))

    def listing() -> pa.Table:
        return rows_of(LISTING, [d for d in listed_in(folder) if d.document_id == "boat"])

    inputs = inputs_of(folder, source_documents=listing())
    before = inputs.warehouse.write(LISTING, bucket, listing(), Provenance("", "")).content_hash
    versions = {bucket: before, other_partition: "other"}
    inputs = replace(inputs, versions={"source_documents": versions})
    STEPS["documents"].result(inputs)
    assert versions == {bucket: before, other_partition: "other"}
    (folder / "boat.txt").write_text("A boat met a clerk.")
    (row,) = STEPS["documents"].result(inputs).rows.to_pylist()
    assert row["text"] == "A boat met a clerk."
    kept = inputs.warehouse.provenance(LISTING, bucket)
    assert kept is not None
    assert versions == {bucket: kept.content_hash, other_partition: "other"}
    assert kept.content_hash != before
    rows, _ = inputs.warehouse.read(LISTING, [bucket])
    assert rows["content_hash"].to_pylist() == listing()["content_hash"].to_pylist()


def test_all_steps_run_from_folder_to_vectors(folder: Path) -> None:
    questions = [
        {"query_id": "q", "text": "Who met?", "document_id": "boat"},
        {"query_id": "lost", "text": "Who?", "document_id": "ship"},
    ]
    lines = "".join(json.dumps(one) + "\n" for one in questions)
    (folder / "queries.jsonl").write_text(lines)
    read = {
        "source_documents": rows_of(LISTING, listed_in(folder)),
        "source_queries": TABLES["source_queries"].empty(),
        "generated_questions": TABLES["generated_questions"].empty(),
    }
    inputs = inputs_of(folder, **read)
    written = run(CORPUS, inputs)
    assert written["chunk_embeddings"]["chunk_id"] == written["chunks"]["chunk_id"]
    assert written["query_embeddings"]["query_id"].to_pylist() == ["q"]
    found = STEPS["queries"].result(inputs.with_tables(written))
    (problem,) = found.failures
    assert "ship" in problem
    assert found.shown()["queries"] == {"left_out": 1, "problems": [problem]}


@pytest.mark.parametrize("borders", ["length", "content"])
def test_chunks_are_cut_by_the_borders_that_are_set(
    folder: Path, borders: Literal["length", "content"]
) -> None:
    text = "A boat met a lamp. The lamp was late again, said the boat. " * 20
    document = Document("boat", "", text)
    chunking = ChunkingSettings(max_tokens=32, overlap_tokens=4, borders=borders)
    settings = CorpusSettings(chunking=chunking)
    read = {"documents": rows_of(TABLES["documents"], [document])}
    cut = STEPS["chunks"].result(inputs_of(folder, settings, **read)).rows["text"].to_pylist()
    assert cut == [chunk.text for chunk in chunk_documents({"boat": text}, chunking)]
    assert all(text.endswith(".") for text in cut) == (borders == "content")


def test_missing_folder_raises(folder: Path) -> None:
    read = inputs_of(folder, source_documents=LISTING.empty())
    with pytest.raises(ValueError, match=r"^documents: no corpus folder"):
        STEPS["documents"].result(replace(read, folder=None))


NAME = "evidence.sentences"
SENTENCES = TABLES[NAME]
TEXTS = {
    "c2": "A lamp met a clerk. The river was high.",
    "c1": "A boat met a lamp.",
    "c3": "The clerk slept.",
}


def chunks(*ids: str) -> pa.Table:
    rows = [{"chunk_id": i, "document_id": "d", "text": TEXTS[i]} for i in ids]
    return pa.Table.from_pylist(rows)


@pytest.fixture
def stored_inputs(tmp_path: Path) -> Inputs:
    """Inputs of a step whose table has rows of c1 and c2."""
    embedder, store = HashEmbedder(), ParquetStore(str(tmp_path))
    written = Provenance(
        "", code_version_of(SENTENCES, "1"), {"model:embedding_model": embedder.identity}
    )
    rows = sentence_rows(chunks("c1", "c2"), embedder)
    store.write(SENTENCES, Partition("tales", "00"), rows, written)
    return Inputs({}, "tales", code_version="1", store=store).with_tables(
        {"embedding_model": embedder}
    )


def computed(stored_inputs: Inputs, *ids: str) -> tuple[pa.Table, list[str]]:
    """Return the rows of chunks, and the chunks that were computed."""
    fresh: list[str] = []

    def compute(some: pa.Table) -> pa.Table:
        fresh.extend(some["chunk_id"].to_pylist())
        return sentence_rows(some, HashEmbedder())

    return with_earlier(stored_inputs, NAME, chunks(*ids), compute), fresh


@pytest.mark.parametrize(
    ("ids", "new"),
    [(["c3", "c2"], ["c3"]), (["c2", "c1"], [])],  # of the second the order of the file differs
)
def test_only_new_chunks_are_computed_and_rows_equal_those_of_a_rebuild(
    stored_inputs: Inputs, ids: list[str], new: list[str]
) -> None:
    rows, fresh = computed(stored_inputs, *ids)
    assert fresh == new
    rebuilt = sentence_rows(chunks(*ids), HashEmbedder())
    assert rows.to_pylist() == rebuilt.to_pylist()
    hashes = [content_hash(conform(SENTENCES, table, "")) for table in (rows, rebuilt)]
    assert hashes[0] == hashes[1]


def test_rows_of_another_code_model_or_bucket_do_not_count(stored_inputs: Inputs) -> None:
    other_model = stored_inputs.with_tables({"embedding_model": HashEmbedder("another")})
    for other in (
        replace(stored_inputs, code_version="2"),
        replace(stored_inputs, buckets=["01"]),
        other_model,
    ):
        assert computed(other, "c1", "c2")[1] == ["c1", "c2"]
    assert computed(replace(stored_inputs, buckets=["00"]), "c1", "c2")[1] == []


def test_without_a_store_everything_is_computed() -> None:
    alone = Inputs({}, "tales").with_tables({"embedding_model": HashEmbedder()})
    assert computed(alone, "c1")[1] == ["c1"]
