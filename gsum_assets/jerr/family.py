"""JERR, its ablations and two baselines as a family of methods."""

from collections.abc import Mapping

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.budget import counter_for
from gsum_assets.evaluation.family import Family, Inputs, Read, Step
from gsum_assets.evaluation.passages import context_rows
from gsum_assets.evaluation.reading import chunks_within
from gsum_assets.jerr.contexts import GraphContexts, Room, gist_contexts
from gsum_assets.jerr.explain import explained
from gsum_assets.jerr.keywords import ask_keywords
from gsum_assets.jerr.lines import first_in_full, line_contexts, ranked_lines
from gsum_assets.jerr.long_units import long_units, rank_units, unit_contexts
from gsum_assets.jerr.look_up import look_ups
from gsum_assets.jerr.matches import SearchSpace
from gsum_assets.jerr.order import chunks_by_nodes
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.rank import rank_by_lines, rank_by_passages
from gsum_assets.jerr.reread import FULL, reread
from gsum_assets.jerr.search import search
from gsum_assets.jerr.settings import (
    AnswerSettings,
    ChunkingSettings,
    JerrSettings,
    LongSettings,
    PageSettings,
    SearchSettings,
)
from gsum_assets.jerr.sizes import SIZE, rows_of_size
from gsum_assets.jerr.variants import VARIANTS, Variant
from gsum_assets.result import Result
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc

_PIECES_A_WORD = 2  # at most, in running text: pages are measured in words
_GRAPH = ("nodes", "edges", "synopses", "atomic_facts")


def _answers(inputs: Inputs) -> AnswerSettings:
    return AnswerSettings.model_validate(inputs.settings("jerr.answers"))


def _long(inputs: Inputs) -> LongSettings:
    return LongSettings.model_validate(inputs.settings("jerr.long"))


def _size(variant: Variant, inputs: Inputs) -> int:
    """Size of the line chunks that a method reads.

    Raises
    ------
    ValueError
        If they were not indexed.
    """
    settings = ChunkingSettings.model_validate(inputs.settings("jerr.chunking"))
    size = variant.max_tokens or settings.max_tokens
    if size not in settings.sizes:
        raise ValueError(
            f"jerr: line chunks of {size} word pieces are not indexed, only of "
            f"{', '.join(map(str, settings.sizes))}; add {size} to `ablations` in corpus.toml, "
            "[jerr.chunking]"
        )
    return size


def _sized(variant: Variant, inputs: Inputs, *names: str) -> list[pa.Table]:
    size = _size(variant, inputs)
    return [rows_of_size(inputs.table(name), size) for name in names]


def _keywords(variant: str, inputs: Inputs) -> Result:
    if VARIANTS[variant].reads != "graph":
        return Result(TABLES["jerr.keywords"].empty())
    return ask_keywords(
        inputs.table("queries"), inputs.model("language_model"), inputs.prompts("jerr")
    )


def _searches(variant: str, inputs: Inputs) -> Result:
    chosen = VARIANTS[variant]
    if chosen.reads != "graph":
        return Result(TABLES["jerr.searches"].empty())
    words = Words(inputs.settings("language"))
    rows = search(
        inputs.table("queries"),
        inputs.table("keywords"),
        SearchSpace(*_sized(chosen, inputs, "nodes", "edges", "line_chunks"), words=words),
        chosen,
        SearchSettings.model_validate(inputs.settings("jerr.search")),
        words,
    )
    return Result(rows)


def _rank(variant: str, inputs: Inputs) -> pa.Table:
    queries, chosen = inputs.table("queries"), VARIANTS[variant]
    documents, chunks, embeddings = (
        inputs.table(name) for name in ("documents", "chunks", "chunk_embeddings")
    )
    collection = Collection.from_tables(documents, chunks, embeddings)
    questions = Questions.from_tables(queries, inputs.table("query_embeddings"))
    if chosen.reads == "pages":
        return rank_by_passages(collection, questions)
    if chosen.reads == "units":
        settings = _long(inputs)
        units = long_units(documents, chunks, settings)
        return rank_units(collection, questions, units, settings)
    (line_chunks,) = _sized(chosen, inputs, "line_chunks")
    if chosen.reads == "lines":
        found = ranked_lines(queries, line_chunks, Words(inputs.settings("language")))
    else:
        found = chunks_by_nodes(inputs.table("searches"))
    return rank_by_lines(collection, questions, chunks, line_chunks, found)


def _contexts(variant: str, inputs: Inputs) -> pa.Table:
    queries, chosen = inputs.table("queries"), VARIANTS[variant]
    if chosen.reads == "units":
        settings = _long(inputs)
        units = long_units(inputs.table("documents"), inputs.table("chunks"), settings)
        return unit_contexts(queries, units, inputs.table("rankings"), settings)
    if chosen.reads == "pages":
        pages = PageSettings.model_validate(inputs.settings("jerr.pages"))
        room = _room(inputs, _PIECES_A_WORD * pages.max_words)
        found = (inputs.table(name) for name in ("pages", "chunks", "rankings"))
        return context_rows(queries, gist_contexts(*found, room=room))
    room = _room(inputs, _size(chosen, inputs))
    if chosen.reads == "lines":
        line_chunks, synopses = _sized(chosen, inputs, "line_chunks", "synopses")
        found = ranked_lines(queries, line_chunks, Words(inputs.settings("language")))
        return context_rows(queries, line_contexts(found, synopses, room))
    index = _sized(chosen, inputs, *_GRAPH)
    return context_rows(queries, GraphContexts(inputs.table("searches"), *index, room=room))


def _room(inputs: Inputs, most_reread: int) -> Room:
    max_words = inputs.settings("answer")["max_words"]
    return Room(_answers(inputs), most_reread, max_words, n_word_pieces)


def _look_ups(variant: str, inputs: Inputs) -> Result:
    if VARIANTS[variant].reads == "lines":
        contexts, queries = inputs.table("contexts"), inputs.table("queries")
        return Result(first_in_full(contexts, queries, _answers(inputs).n_reread))
    model, settings = inputs.model("language_model"), _answers(inputs)
    return look_ups(
        inputs.table("contexts"),
        inputs.table("queries"),
        model,
        settings,
        counter_for(model, settings.prompt_tokens),
        inputs.prompts("jerr"),
    )


def _reread_contexts(variant: str, inputs: Inputs) -> Result:
    rows = reread(
        inputs.table("contexts"),
        inputs.table("look_ups"),
        _texts(VARIANTS[variant], inputs),
        inputs.table("queries"),
        _answers(inputs),
        inputs.settings("answer")["max_words"],
        n_word_pieces,
    )
    return Result(rows)


def _texts(chosen: Variant, inputs: Inputs) -> Mapping[str, str]:
    """What synopses or gists stand for, by id."""
    if chosen.reads == "units":
        return {}
    name, key = ("pages", "page_id") if chosen.reads == "pages" else ("line_chunks", "chunk_id")
    rows = inputs.table(name)
    if SIZE in rows.column_names:
        rows = rows_of_size(rows, _size(chosen, inputs))
    return dict(zip(rows[key].to_pylist(), rows["text"].to_pylist(), strict=True))


def _read(variant: str, inputs: Inputs) -> Read:
    """Line chunks, pages and units hold the chunks inside them; what a model wrote holds none."""
    chosen, rows = VARIANTS[variant], inputs.table("reread_contexts")
    chunks = inputs.table("chunks")
    if chosen.reads == "units":
        units = long_units(inputs.table("documents"), chunks, _long(inputs))
        return Read(rows, {u.unit_id: [(c, u.document_id) for c in u.chunk_ids] for u in units})
    if chosen.reads == "pages":
        held = chunks_within(chunks, inputs.table("pages"), "page_id")
    else:
        held = chunks_within(chunks, *_sized(chosen, inputs, "line_chunks"))
    ids = [
        node_id if kind in FULL.values() else f"{kind} {node_id}"
        for node_id, kind in zip(
            rows["node_id"].to_pylist(), rows["node_kind"].to_pylist(), strict=True
        )
    ]
    place = rows.column_names.index("node_id")
    return Read(rows.set_column(place, "node_id", pa.array(ids, pa.string())), held)


def _explain(variant: str, inputs: Inputs) -> str:
    own = (inputs.table(n) for n in ("keywords", "searches", "look_ups", "reread_contexts"))
    edges = inputs.table("edges")
    if VARIANTS[variant].reads == "graph":
        edges = edges.filter(pc.equal(edges[SIZE], _size(VARIANTS[variant], inputs)))
    return explained(*own, edges=edges)


JERR = Family(
    name="jerr",
    settings=JerrSettings,
    prompts=PROMPTS,
    variants=tuple(VARIANTS),
    default=(),
    rank=_rank,
    contexts=_contexts,
    reads=(
        "documents",
        "chunks",
        "chunk_embeddings",
        "jerr/line_chunks",
        "jerr/synopses",
        "jerr/atomic_facts",
    ),
    reads_by_corpus=("nodes", "edges"),
    reads_by_variant=("pages",),
    preparations=(
        Step(
            "keywords",
            _keywords,
            "What the language model takes it to be about.",
            reads_index=False,
            code_version="2",
        ),
        Step(
            "searches",
            _searches,
            "How often, and how well that paid; the best nodes are read.",
        ),
    ),
    refinements=(
        Step(
            "look_ups",
            _look_ups,
            "What the model wants to read again, having read synopses.",
            reads_index=False,
            code_version="2",
        ),
        Step(
            "reread_contexts",
            _reread_contexts,
            "Synopses, and in full what is read again.",
        ),
    ),
    explain=_explain,
    k="jerr.search.n_nodes",
    without_k=[name for name, one in VARIANTS.items() if one.n_nodes or one.reads != "graph"],
    read=_read,
)
"""Tree search over a graph of synopses, its ablations, ReadAgent and LongRAG."""
