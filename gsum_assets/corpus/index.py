"""The steps of a corpus: documents, chunks, embeddings, questions."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from gsum_assets.corpus import observe
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.conversion.formats import converters_version
from gsum_assets.corpus.convert import Conversion
from gsum_assets.corpus.embed import embed_chunks, embed_questions
from gsum_assets.corpus.evidence import query_rows
from gsum_assets.corpus.load import Document, take
from gsum_assets.corpus.queries import as_queries, load_queries
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.settings import CorpusSettings, load_settings
from gsum_assets.method import Inputs, Step
from gsum_assets.plots.chunk_lengths import chunk_lengths
from gsum_assets.plots.embedding_map import embedding_map
from gsum_assets.result import Markdown, Picture, Result
from gsum_assets.tables import TABLES
from gsum_resources.progress import reporter

_FAILURES_SHOWN = 20


def _folder(inputs: Inputs) -> Path:
    if inputs.folder is None:
        raise ValueError(f"{inputs.step}: there is no corpus folder here to read")
    return inputs.folder


def _documents(inputs: Inputs) -> Result:
    folder, listed = _folder(inputs), inputs.table("source_documents")
    on_page = reporter(f"converting files of {inputs.corpus}: pages", inputs.log)
    with Conversion(inputs.warehouse, inputs.corpus, on_page) as conversion:
        wanted = set(listed["document_id"].to_pylist())
        now = take(folder, load_settings(folder), conversion.convert, wanted)
    versions = inputs.versions.get("source_documents", {})
    here = {p: version for p, version in versions.items() if p.corpus == inputs.corpus}
    versions.update(observe.changed_since(inputs.warehouse, here, now.listing))
    beside: Mapping[str, Sequence[Any]] = {
        "rejected_documents": now.rejected,
        "converted_documents": conversion.done,
        "document_sections": now.sections,
    }
    return Result(
        rows_of(TABLES["documents"], now.documents),
        [
            f"{inputs.corpus}/{document.file}: rejected: {document.reason}"
            for document in now.rejected
            if not document.is_other_type
        ],
        {name: rows_of(TABLES[name], items) for name, items in beside.items()},
    )


def _chunks(inputs: Inputs) -> Result:
    settings = CorpusSettings(chunking=inputs.settings("chunking"))
    rows = inputs.table("documents").to_pylist()
    texts = [Document(row["document_id"], row["title"], row["text"]) for row in rows]
    chunks = rows_of(TABLES["chunks"], chunk_documents(texts, settings, default_tokenizer()))

    def shown() -> Mapping[str, Any]:
        png = chunk_lengths(chunks, settings.chunking.max_tokens, inputs.title)
        return {"chunks": {"plot": Picture(png, "chunk lengths")}}

    return Result(chunks, shown=shown)


def _chunk_embeddings(inputs: Inputs) -> Result:
    embedded = embed_chunks(inputs.table("chunks"), inputs.model("embedding_model"))

    def shown() -> Mapping[str, Any]:
        plot = Picture(embedding_map(embedded, inputs.title), "map of the chunks")
        return {"chunk_embeddings": {"plot": plot}}

    return Result(embedded, shown=shown)


def _queries(inputs: Inputs) -> Result:
    inputs.table("source_queries")  # lists the files that are read here
    known = set(inputs.table("documents")["document_id"].to_pylist())
    questions, failures = load_queries(_folder(inputs), known)
    is_marked = any(question.relevant_spans for question in questions)
    passages = inputs.table("chunks") if is_marked else TABLES["chunks"].empty()
    generated = as_queries(inputs.table("generated_questions"))
    rows, unfound = query_rows([*questions, *generated], passages)
    failures += unfound

    def shown() -> Mapping[str, Any]:
        named = {"problems": failures[:_FAILURES_SHOWN]} if failures else {}
        counts = {"questions": Markdown(_counts(rows)), "left_out": len(failures)}
        return {"queries": {**counts, **named}}

    return Result(rows, failures, shown=shown)


def _counts(questions: pa.Table) -> str:
    """How many questions of each split and kind, as a Markdown table."""
    counts = questions.group_by(["split", "kind"]).aggregate([("query_id", "count")])
    rows = sorted(zip(*(counts[name].to_pylist() for name in counts.column_names), strict=True))
    lines = [f"| {split} | {kind} | {n:,} |" for split, kind, n in rows]
    return "\n".join(["| split | kind | questions |", "|---|---|---:|", *lines])


def _query_embeddings(inputs: Inputs) -> pa.Table:
    queries = inputs.table("queries")
    if not queries.num_rows:  # a served model is asked for nothing, not even its dimension
        return TABLES["query_embeddings"].empty()
    return embed_questions(queries, inputs.model("embedding_model"))


CORPUS = (
    Step(
        _documents,
        {
            "documents": "The texts that everything else rests on.",
            "rejected_documents": "What is wrong with each, and how to repair it; the good rest "
            "is taken in.",
            "converted_documents": "Text as the converter of its format gave it. Kept by content "
            "and converter, so that a file is converted once.",
            "document_sections": "By which a passage says on which page, or under which heading, "
            "it stands.",
        },
        ("source_documents",),
        pool=None,
        code_version=f"3; {converters_version()}",  # another converter may give another text
    ),
    Step(
        _chunks,
        {"chunks": "What is found and read, with its exact place in the text."},
        ("documents", "corpus_settings"),
        pool=None,
        code_version="2",
    ),
    Step(
        _chunk_embeddings,
        {"chunk_embeddings": "The vector of its text: what lies close means something alike."},
        ("chunks", "embedding_model"),
    ),
    Step(
        _queries,
        {
            "queries": "Asked of the whole corpus or of one document; with reference answers where "
            "the source has them, so that answers can be scored."
        },
        ("source_queries", "documents", "chunks", "generated_questions"),
        pool=None,
    ),
    Step(
        _query_embeddings,
        {
            "query_embeddings": "The vector of the text that retrieval searches for. Made once, "
            "and read by every method that compares vectors."
        },
        ("queries", "embedding_model"),
    ),
)
