"""The steps of a corpus: documents, chunks, embeddings, questions."""

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import numpy as np
import pyarrow as pa

from gsum_assets.corpus import observe
from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import converters_version
from gsum_assets.corpus.convert import Conversion
from gsum_assets.corpus.intake import NONE_REJECTED, ONE_VERSION_EACH
from gsum_assets.corpus.load import Loaded, load_folder, with_file_dates
from gsum_assets.corpus.queries import as_queries, load_queries, query_rows
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.corpus_settings import ChunkingSettings, load_settings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.embed import embed_chunks, embed_questions
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.messages.progress import reporter
from gsum_resources.store.arrow import pc

_FAILURES_SHOWN = 20


def _folder(inputs: Inputs) -> Path:
    if inputs.folder is None:
        raise ValueError(f"{inputs.step}: no corpus folder to read; run it on a corpus of a home")
    return inputs.folder


def _documents(inputs: Inputs) -> Result:
    folder, listed = _folder(inputs), inputs.table("source_documents")
    on_page = reporter(f"converting files of {inputs.corpus}: pages", inputs.log)
    with Converter(on_page) as converter:
        conversion = Conversion(converter, inputs.warehouse, inputs.corpus)
        listed_ids = set(listed["document_id"].to_pylist())
        read = load_folder(folder, load_settings(folder), conversion.convert, listed_ids)
    rejected = observe.counted_crashes(read, listed)
    versions = inputs.versions.get("source_documents", {})
    listed_versions = {p: version for p, version in versions.items() if p.corpus == inputs.corpus}
    versions.update(observe.changed_since(inputs.warehouse, listed_versions, read.listing))
    return Result(
        rows_of(TABLES["documents"], with_file_dates(read.documents, _file_dates(listed, read))),
        [
            f"{inputs.corpus}/{document.file}: rejected: {document.reason}"
            for document in read.rejected
            if not document.is_other_type
        ],
        {
            "rejected_documents": rows_of(TABLES["rejected_documents"], rejected),
            "converted_documents": conversion.rows,
            "document_sections": rows_of(TABLES["document_sections"], read.sections),
        },
    )


def _file_dates(listed: pa.Table, read: Loaded) -> dict[str, datetime | None]:
    """Return when each file was last modified, as of the first observation of its content."""
    known = {
        (row["document_id"], row["content_hash"]): row.get("modified")  # not of earlier versions
        for row in listed.to_pylist()
    }
    dates: dict[str, datetime | None] = {}
    for source in read.listing:
        date = known.get((source.document_id, source.content_hash)) or source.modified
        dates.setdefault(source.document_id, date)
    return dates


def _chunks(inputs: Inputs) -> pa.Table:
    settings = ChunkingSettings.model_validate(inputs.settings("chunking"))
    rows = inputs.table("documents")
    texts = dict(zip(rows["document_id"].to_pylist(), rows["text"].to_pylist(), strict=True))
    return rows_of(TABLES["chunks"], chunk_documents(texts, settings))


def _chunk_embeddings(inputs: Inputs) -> Result:
    chunks, embedder = inputs.table("chunks"), inputs.model("embedding_model")
    embedded = with_earlier(
        inputs, "chunk_embeddings", chunks, lambda new: embed_chunks(new, embedder)
    )
    return Result(embedded)


def _queries(inputs: Inputs) -> Result:
    inputs.table("source_queries")  # an input: lists the files that are read
    known = set(inputs.column("documents", "document_id"))
    questions, failures = load_queries(_folder(inputs), known)
    is_marked = any(question.relevant_spans for question in questions)
    passages = inputs.table("chunks") if is_marked else TABLES["chunks"].empty()
    generated = as_queries(inputs.table("generated_questions"))
    rows, unfound = query_rows([*questions, *generated], passages)
    failures += unfound

    named = {"problems": failures[:_FAILURES_SHOWN]} if failures else {}
    shown = {"queries": {"left_out": len(failures), **named}}
    return Result(rows, failures, shown=lambda: shown)


def _query_embeddings(inputs: Inputs) -> pa.Table:
    queries = inputs.table("queries")
    if not queries.num_rows:  # send no request to a served model, not even for its dimension
        return TABLES["query_embeddings"].empty()
    return embed_questions(queries, inputs.model("embedding_model"))


CORPUS = (
    Step(
        _documents,
        {
            "documents": "The texts of the documents, on which all other tables depend.",
            "rejected_documents": "Reason and remedy for each; the other documents are loaded.",
            "converted_documents": "Text returned by the converter of the format. Stored by "
            "content and converter, so that a file is converted once.",
            "document_sections": "Pages, times, rows and headings, from which the location of a "
            "passage is derived.",
        },
        ("source_documents",),
        pool=None,
        code_version=f"6; {converters_version()}",  # another converter may give another text
        checks={"rejected_documents": [NONE_REJECTED], "documents": [ONE_VERSION_EACH]},
    ),
    Step(
        _chunks,
        {"chunks": "The passages that are retrieved and read, with their position in the text."},
        ("documents", "corpus_settings"),
        pool=None,
        code_version="4",
    ),
    Step(
        _chunk_embeddings,
        {"chunk_embeddings": "The vector of its text: close vectors have similar meaning."},
        ("chunks", "embedding_model"),
        costs=[Cost("passage", "embedding_model", tokens_in=245)],
    ),
    Step(
        _queries,
        {
            "queries": "Questions about the whole corpus or one document; with reference answers "
            "if the source has them, so that answers can be scored."
        },
        ("source_queries", "documents", "chunks", "generated_questions"),
        pool=None,
        code_version="3",
    ),
    Step(
        _query_embeddings,
        {
            "query_embeddings": "The vector of the text that retrieval searches for. Computed "
            "once, and read by every method that compares vectors."
        },
        ("queries", "embedding_model"),
        costs=[Cost("question", "embedding_model", tokens_in=15)],
    ),
)


def with_earlier(
    inputs: Inputs, name: str, chunks: pa.Table, compute: Callable[[pa.Table], pa.Table]
) -> pa.Table:
    """Return the rows of a table by chunk, in the order of `chunks`; only new ones are computed.

    The id of a chunk is a hash of its text, so that its stored rows are valid if the same code and
    the same embedding model wrote them. `compute` returns the rows of some chunks, in their order.
    """
    chunk_ids = chunks["chunk_id"].to_pylist()
    earlier = inputs.earlier_rows(name, ["embedding_model"]).rows_with("chunk_id", chunk_ids)
    earlier = earlier.select(TABLES[name].schema.names)
    if not earlier.num_rows:
        return compute(chunks)
    is_known = pc.is_in(chunks["chunk_id"], value_set=pc.unique(earlier["chunk_id"]))
    fresh = compute(chunks.filter(pc.invert(is_known)))
    if fresh.num_rows:
        earlier = pa.concat_tables([earlier.cast(fresh.schema), fresh])
    positions = pc.index_in(earlier["chunk_id"], chunks["chunk_id"].combine_chunks())
    return earlier.take(np.argsort(positions.to_numpy(), kind="stable"))
