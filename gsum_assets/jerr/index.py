"""Index of JERR: line chunks, synopses, facts and elements, the graph; pages of ReadAgent."""

import pyarrow as pa

from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.jerr.extract import extract, synopses
from gsum_assets.jerr.graph import graph_of
from gsum_assets.jerr.merge import merge_elements
from gsum_assets.jerr.methods import METHODS
from gsum_assets.jerr.pages import paginate
from gsum_assets.jerr.settings import ChunkingSettings, PageSettings
from gsum_assets.pipeline.corpus_settings import ChunkingSettings as CorpusChunking
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.arrow import mapping

_GRAPH_READS = ("elements", "atomic_facts", "relations", "merges", "line_chunks")
"""Arguments of `graph_of`, in order."""
_READ_BY_MODEL = ("corpus_settings", "language_model")


def _line_chunks(inputs: Inputs) -> pa.Table:
    settings = ChunkingSettings.model_validate(inputs.settings("jerr.chunking"))
    documents = inputs.table("documents")
    texts = mapping(documents, "document_id", "text")
    lines = CorpusChunking(chunker="lines", max_tokens=settings.max_tokens, borders="length")
    chunks = chunk_documents(texts, lines)
    return pa.Table.from_pylist(list(map(vars, chunks)), TABLES["jerr.line_chunks"].schema)


def _asked(inputs: Inputs) -> tuple[LanguageModel, Prompts]:
    return inputs.model("language_model"), inputs.prompts("jerr")


def _pages(inputs: Inputs) -> pa.Table | Result:
    if METHODS[inputs.method].reads != "pages":
        return TABLES["jerr.pages"].empty()
    settings = PageSettings.model_validate(inputs.settings("jerr.pages"))
    return paginate(inputs.table("documents"), settings, *_asked(inputs))


_SEARCHES = [name for name, method in METHODS.items() if method.reads == "graph"]
_BY_LINES = [name for name, method in METHODS.items() if method.reads in ("graph", "lines")]
_LENGTH = "jerr.chunking.max_tokens"

INDEX = (
    Step(
        _line_chunks,
        {"line_chunks": "As many lines as fit; a line that is too long by itself is cut."},
        ("documents", "corpus_settings"),
        pool=None,
        code_version="3",
        methods=_BY_LINES,
    ),
    Step(
        lambda inputs: synopses(inputs.table("line_chunks"), *_asked(inputs)),
        {
            "synopses": "A summary of the line chunk, from which the graph is extracted and which "
            "answers read first."
        },
        ("line_chunks", *_READ_BY_MODEL),
        pool="llm",
        code_version="2",
        methods=_BY_LINES,
        work="extraction",
        costs=[
            Cost(
                "passage",
                length=_LENGTH,
                requests=0.92,
                tokens_in=175,
                tokens_out=11,
                text_in=0.78,
                text_out=0.125,
            )
        ],
    ),
    Step(
        lambda inputs: extract(inputs.table("synopses"), *_asked(inputs)),
        {
            "atomic_facts": "Each states one thing that the synopsis says.",
            "elements": "Merged elements are the nodes of the graph.",
            "relations": "Directed and in at most three words; merged relations are the edges.",
        },
        ("synopses", *_READ_BY_MODEL),
        pool="llm",
        code_version="2",
        methods=_SEARCHES,
        work="extraction",
        costs=[
            Cost("passage", length=_LENGTH, requests=0.92, calls=1.3, tokens_in=510, tokens_out=175)
        ],
    ),
    Step(
        lambda inputs: merge_elements(inputs.table("elements")),
        {"merges": "Equal and nearly equal elements are merged, in this table only."},
        ("elements",),
        methods=_SEARCHES,
    ),
    Step(
        lambda inputs: graph_of(*map(inputs.table, _GRAPH_READS)),
        {
            "nodes": "With its facts and where it is mentioned; a search visits nodes.",
            "edges": "A search follows edges; the graph is acyclic, so every path ends.",
            "left_out_edges": "No search follows it; the row has the cycle that it would close.",
        },
        _GRAPH_READS,
        code_version="2",
        methods=_SEARCHES,
    ),
    Step(
        _pages,
        {"pages": "With its gist, which is read first; empty for other methods."},
        ("documents", *_READ_BY_MODEL),
        costs=[Cost("passage", requests=0.47, tokens_in=789, tokens_out=64, methods=["readagent"])],
        pool="llm",
        code_version="2",
        work="extraction",
    ),
)
"""Steps from line chunks to the graph, partitioned by document where possible."""
