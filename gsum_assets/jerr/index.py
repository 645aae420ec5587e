"""Index assets of JERR: line chunks, synopses, facts and elements, the graph, pages."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial

import pyarrow as pa

from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.corpus.rows import rows_of
from gsum_assets.jerr.checks import EVERY_CHUNK_HAS_ONE, EVERY_SYNOPSIS_HAS_SOME
from gsum_assets.jerr.extract import extract
from gsum_assets.jerr.graph import graph_of
from gsum_assets.jerr.merge import merge_elements
from gsum_assets.jerr.methods import METHODS, READAGENT
from gsum_assets.jerr.pages import paginate
from gsum_assets.jerr.settings import ChunkingSettings, IndexSettings, PageSettings
from gsum_assets.jerr.sizes import SIZE, all_sizes, rows_of_size
from gsum_assets.jerr.synopses import synopses
from gsum_assets.pipeline.corpus_settings import ChunkingSettings as CorpusChunking
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.arrow import pc

_EXTRACTED = {
    "atomic_facts": "Each states one thing that the synopsis says.",
    "elements": "Merged elements are the nodes of the graph.",
    "relations": "Directed and in at most three words; merged relations are the edges.",
}
_GRAPH = {
    "nodes": "With its facts and where it is mentioned; a search visits nodes.",
    "edges": "A search follows edges; the graph is acyclic, so every path ends.",
    "left_out_edges": "No search follows it; the row has the cycle that it would have closed.",
}
_GRAPH_READS = ("elements", "atomic_facts", "relations", "merges", "line_chunks")
"""Arguments of `graph_of`, in order."""


def _by_size(rows: pa.Table) -> Iterator[tuple[int, pa.Table]]:
    """Yield the rows of each size of line chunks, smallest first."""
    for size in sorted(pc.unique(rows[SIZE]).to_pylist()):
        yield size, rows_of_size(rows, size)


def _side_by_side(tables: Iterable[str], results: Mapping[int, Result]) -> Result:
    """Return the results of all sizes as one result; `tables` names its rows, then the others."""
    first, *others = tables
    return Result(
        all_sizes(f"jerr.{first}", ((size, result.rows) for size, result in results.items())),
        [failure for result in results.values() for failure in result.failures],
        {
            name: all_sizes(
                f"jerr.{name}", ((size, result.beside[name]) for size, result in results.items())
            )
            for name in others
        },
    )


def _line_chunks(inputs: Inputs) -> pa.Table:
    settings = ChunkingSettings.model_validate(inputs.settings("jerr.chunking"))
    documents = inputs.table("documents")
    ids, contents = (documents[name].to_pylist() for name in ("document_id", "text"))
    texts = dict(zip(ids, contents, strict=True))

    def of_size(size: int) -> pa.Table:
        chunking = CorpusChunking(
            chunker="lines",
            max_tokens=size,
            overlap_lines=settings.overlap_lines,
            borders="length",  # `[jerr.chunking]` has no such key
        )
        return rows_of(TABLES["chunks"], chunk_documents(texts, chunking))

    return all_sizes("jerr.line_chunks", ((size, of_size(size)) for size in settings.sizes))


def _settings(inputs: Inputs) -> IndexSettings:
    return IndexSettings.model_validate(inputs.settings("jerr.index"))


def _by_model(
    ask: Callable[..., Result], read: str, tables: Iterable[str], inputs: Inputs
) -> Result:
    """Return the results of `ask` for the rows of table `read`, size by size."""
    how = inputs.model("language_model"), _settings(inputs), inputs.prompts("jerr")
    results = {size: ask(rows, *how) for size, rows in _by_size(inputs.table(read))}
    return _side_by_side(tables, results)


def _merges(inputs: Inputs) -> pa.Table:
    near_bits = _settings(inputs).near_bits
    sized = _by_size(inputs.table("elements"))
    return all_sizes(
        "jerr.merges", ((size, merge_elements(rows, near_bits)) for size, rows in sized)
    )


def _graph(inputs: Inputs) -> Result:
    read = [inputs.table(name) for name in _GRAPH_READS]
    graphs = {
        size: graph_of(elements, *(rows_of_size(rows, size) for rows in read[1:]))
        for size, elements in _by_size(read[0])
    }
    results = {
        size: Result(
            graph.nodes, beside={"edges": graph.edges, "left_out_edges": graph.left_out_edges}
        )
        for size, graph in graphs.items()
    }
    return _side_by_side(_GRAPH, results)


def _pages(inputs: Inputs) -> pa.Table | Result:
    if METHODS[inputs.method].reads != "pages":
        return TABLES["jerr.pages"].empty()
    return paginate(
        inputs.table("documents"),
        inputs.model("language_model"),
        PageSettings.model_validate(inputs.settings("jerr.pages")),
        inputs.prompts("jerr"),
    )


def _methods_that_read(*what: str) -> list[str]:
    return [name for name, method in METHODS.items() if method.reads in what]


_SEARCHES = _methods_that_read("graph")
_BY_LINES = _methods_that_read("graph", "lines")

_LENGTHS = ("jerr.chunking.max_tokens", "jerr.chunking.ablations")

INDEX = (
    Step(
        _line_chunks,
        {"line_chunks": "As many lines as fit; a line that is too long by itself is cut."},
        ("documents", "corpus_settings"),
        pool=None,
        code_version="2",
        methods=_BY_LINES,
    ),
    Step(
        partial(_by_model, synopses, "line_chunks", ("synopses",)),
        {
            "synopses": "A summary of the line chunk, from which the graph is extracted and which "
            "answers read first."
        },
        ("line_chunks", "corpus_settings", "language_model"),
        pool="llm",
        code_version="2",
        methods=_BY_LINES,
        work="extraction",
        costs=[
            Cost(
                "passage",
                lengths=_LENGTHS,
                requests=0.92,
                tokens_in=175,
                tokens_out=11,
                text_in=0.78,
                text_out=0.125,
            )
        ],
        checks={"synopses": [EVERY_CHUNK_HAS_ONE]},
    ),
    Step(
        partial(_by_model, extract, "synopses", _EXTRACTED),
        _EXTRACTED,
        ("synopses", "corpus_settings", "language_model"),
        pool="llm",
        code_version="2",
        methods=_SEARCHES,
        work="extraction",
        costs=[
            Cost(
                "passage", lengths=_LENGTHS, requests=0.92, calls=1.3, tokens_in=510, tokens_out=175
            )
        ],
        checks={"elements": [EVERY_SYNOPSIS_HAS_SOME]},
    ),
    Step(
        _merges,
        {"merges": "Equal and nearly equal elements are merged, in this table only."},
        ("elements", "corpus_settings"),
        methods=_SEARCHES,
    ),
    Step(
        _graph,
        _GRAPH,
        _GRAPH_READS,
        code_version="2",
        methods=_SEARCHES,
    ),
    Step(
        _pages,
        {"pages": "With its gist, which is read first; empty for other methods."},
        ("documents", "corpus_settings", "language_model"),
        costs=[Cost("passage", requests=0.47, tokens_in=789, tokens_out=64, methods=[READAGENT])],
        pool="llm",
        code_version="2",
        work="extraction",
    ),
)
"""Steps from line chunks to the graph, partitioned by document where possible."""
