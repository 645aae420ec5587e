"""The steps of index and questions, from tables at hand: what each reads is what it names."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.graphrag.family import FAMILY
from gsum_assets.graphrag.index import INDEX
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.step import Inputs, run
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.parquet_store import conform
from tests.models import HashEmbedder

TEXTS = ("Marit Olsen met Dov Hallam at Tarnholt.", "Dov Hallam told Wren Tarry of Tarnholt.")
EXTRACTION = INDEX[0]


class Sections:
    """Settings that have every step read all that it may, and built-in prompts."""

    def __init__(self, **chosen: Any) -> None:
        self._chosen = {"answer": {"max_words": 50}, **chosen}

    def section(self, corpus: str, name: str) -> Any:
        """Return the contents of `corpus.toml` or the text of a prompt."""
        table, _, rest = name.partition(".")
        if table == "prompts":
            return PROMPTS.built_in[rest.partition(".")[2]].text
        return self._chosen.get(name, {})


class Recorded(dict[str, Any]):
    """Tables and models, with the names of those that were read."""

    def __init__(self, tables: Mapping[str, Any]) -> None:
        super().__init__(tables)
        self.read: set[str] = set()

    def __getitem__(self, name: str) -> Any:
        self.read.add(name)
        return super().__getitem__(name)


def inputs_in(folder: Path | None, **more: Any) -> Inputs:
    """A document of two chunks, in a corpus without tables."""
    whole = " ".join(TEXTS)
    chunks = [
        {"chunk_id": f"c{n}", "document_id": "d", "position": n, "text": text, "n_tokens": 9}
        | {"start": whole.index(text), "end": whole.index(text) + len(text)}
        for n, text in enumerate(TEXTS)
    ]
    documents = pa.table({"document_id": ["d"], "title": ["T"], "text": [whole]})
    model = ExtractiveModel(HashEmbedder())
    return inputs_of(documents, pa.Table.from_pylist(chunks), model, folder=folder, **more)


def inputs_of(
    documents: pa.Table,
    chunks: pa.Table,
    model: LanguageModel,
    sections: Mapping[str, Any] = MappingProxyType({}),
    **more: Any,
) -> Inputs:
    """A corpus of documents and chunks with their vectors, and a question."""
    query = {"query_id": "q", "text": "Who met?", "retrieval_text": "Who met?", "form": "summary"}
    embedder = HashEmbedder()
    of_chunks, of_question = (
        vector_column(embedder.embed(texts)) for texts in (chunks["text"].to_pylist(), ["Who met?"])
    )
    there = {
        "documents": documents,
        "chunks": chunks,
        "chunk_embeddings": pa.table({"chunk_id": chunks["chunk_id"], "embedding": of_chunks}),
        "queries": pa.Table.from_pylist([{**query, "document_id": None}]),
        "query_embeddings": pa.table({"query_id": ["q"], "embedding": of_question}),
        "source_graph": TABLES["source_graph"].empty(),
        "language_model": model,
        "embedding_model": embedder,
    }
    tables = {name: Lazy.of(one) for name, one in there.items()}
    tables["corpus_settings"] = Sections(**sections)  # type: ignore[assignment]
    return Inputs(tables, "tales", **more)


def test_each_step_reads_its_inputs_and_writes_rows_of_its_tables(tmp_path: Path) -> None:
    inputs = inputs_in(tmp_path)
    for step in INDEX:
        tables = Recorded(inputs.tables)
        result = step.result(Inputs(tables, "tales", folder=tmp_path))
        assert tables.read == set(step.reads)
        written = {step.table: result.rows, **result.beside}
        assert list(written) == list(step.writes)
        for name, rows in written.items():
            assert conform(TABLES[f"graphrag.{name}"], rows, name).num_rows or name == "claims"
        inputs = inputs.with_tables(written)
        assert not result.failures


@pytest.mark.parametrize("method", FAMILY.methods)
def test_question_reads_only_the_inputs_of_its_steps(tmp_path: Path, method: str) -> None:
    inputs = inputs_in(tmp_path, method=method)
    inputs = inputs.with_tables(run(INDEX, inputs))
    named = {"queries", "corpus_settings"}
    for step in FAMILY.question:
        tables = Recorded(inputs.tables)
        result = step.result(Inputs(tables, "tales", method))
        assert tables.read <= named | set(step.reads)
        conform(FAMILY.table(step.table), result.rows, step.table)
        written = {step.table: result.rows, **result.beside}
        inputs, named = inputs.with_tables(written), named | written.keys()
    assert inputs.table("reduced_contexts").num_rows
    assert FAMILY.texts_read(inputs).rows.num_rows


def test_given_graph_replaces_the_model(tmp_path: Path) -> None:
    (tmp_path / "graph").mkdir()
    named = {"title": ["Dov Hallam", "Zorn"], "type": ["", ""], "description": ["A", "B"]}
    ends = {name: pa.array([], pa.string()) for name in ("source", "target", "description")}
    pq.write_table(pa.table(named), tmp_path / "graph" / "entities.parquet")
    pq.write_table(pa.table(ends), tmp_path / "graph" / "relationships.parquet")
    tables = Recorded(inputs_in(tmp_path).tables)
    found = EXTRACTION.result(Inputs(tables, "tales", folder=tmp_path))
    assert found.beside["entity_mentions"]["name"].to_pylist() == ["Dov Hallam"] * len(TEXTS)
    assert tables.read == {"chunks", "source_graph"}
    (problem,) = found.failures
    assert "1 of 2 entities are in no chunk" in problem
    assert "Zorn" not in problem
    # Zorn may stand in another bucket
    assert EXTRACTION.result(inputs_in(tmp_path, buckets=["03"])).failures == []


def test_given_graph_without_its_folder_is_an_error() -> None:
    inputs = inputs_in(None, step="graphrag/extractions")
    assert EXTRACTION.result(inputs).rows.num_rows == len(TEXTS)  # no graph is given
    listed = pa.table({"file": ["graph/entities.parquet"], "content_hash": ["h"]})
    with pytest.raises(ValueError, match="graphrag/extractions: there is no corpus folder"):
        EXTRACTION.result(inputs.with_tables({"source_graph": listed}))
