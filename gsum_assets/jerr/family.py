"""JERR, its ablations and two baselines."""

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.budget import counter_for
from gsum_assets.evaluation.passages import context_rows
from gsum_assets.evaluation.retrieval_metrics import chunks_within
from gsum_assets.jerr.contexts import GraphContexts, Room, gists_of, short_contexts, synopses_of
from gsum_assets.jerr.explain import explained
from gsum_assets.jerr.index import INDEX
from gsum_assets.jerr.keywords import ask_keywords
from gsum_assets.jerr.lines import Relevance, first_in_full, relevance
from gsum_assets.jerr.long_units import Unit, long_units, rank_units, unit_contexts
from gsum_assets.jerr.look_up import look_ups
from gsum_assets.jerr.matches import SearchSpace
from gsum_assets.jerr.methods import METHODS, Method
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
from gsum_assets.jerr.sizes import rows_of_size
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family, Read
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words

_PIECES_A_WORD = 2  # word pieces per word at most: pages are measured in words
_GRAPH = ("nodes", "edges", "synopses", "atomic_facts")
_PASSAGES = ("documents", "chunks", "chunk_embeddings")


def _chosen(inputs: Inputs) -> Method:
    return METHODS[inputs.method]


def _answers(inputs: Inputs) -> AnswerSettings:
    return AnswerSettings.model_validate(inputs.settings("jerr.answers"))


def _long(inputs: Inputs) -> LongSettings:
    return LongSettings.model_validate(inputs.settings("jerr.long"))


def _units(inputs: Inputs) -> list[Unit]:
    return long_units(inputs.table("documents"), inputs.table("chunks"), _long(inputs))


def _size(inputs: Inputs) -> int:
    """Return the size of line chunks that a method uses.

    Raises
    ------
    ValueError
        If line chunks of this size are not indexed.
    """
    settings = ChunkingSettings.model_validate(inputs.settings("jerr.chunking"))
    size = _chosen(inputs).max_tokens or settings.max_tokens
    if size not in settings.sizes:
        raise ValueError(
            f"jerr: line chunks of {size} word pieces are not indexed, only of "
            f"{', '.join(map(str, settings.sizes))}; add {size} to `ablations` in corpus.toml, "
            "[jerr.chunking]"
        )
    return size


def _sized(inputs: Inputs, *names: str) -> list[pa.Table]:
    """Return the rows of these tables of the size that a method uses."""
    size = _size(inputs)
    return [rows_of_size(inputs.table(name), size) for name in names]


def _words(inputs: Inputs) -> Words:
    return Words(inputs.settings("language"))


def _collection(inputs: Inputs) -> tuple[Collection, Questions]:
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    return Collection.from_tables(*map(inputs.table, _PASSAGES)), questions


def _relevance(inputs: Inputs) -> Relevance:
    chunks, (line_chunks,) = inputs.table("chunks"), _sized(inputs, "line_chunks")
    is_lexical = _chosen(inputs).is_lexical
    return relevance(*_collection(inputs), chunks, line_chunks, _words(inputs), is_lexical)


def _keywords(inputs: Inputs) -> pa.Table | Result:
    if _chosen(inputs).search != "published":
        return TABLES["jerr.keywords"].empty()
    return ask_keywords(
        inputs.table("queries"), inputs.model("language_model"), inputs.prompts("jerr")
    )


def _searches(inputs: Inputs) -> pa.Table:
    if _chosen(inputs).reads != "graph":
        return TABLES["jerr.searches"].empty()
    words = _words(inputs)
    return search(
        inputs.table("queries"),
        inputs.table("keywords"),
        _relevance(inputs),
        SearchSpace(*_sized(inputs, "nodes", "edges", "line_chunks", "synopses"), words=words),
        _chosen(inputs),
        SearchSettings.model_validate(inputs.settings("jerr.search")),
        words,
    )


def _rank(inputs: Inputs) -> pa.Table:
    reads, (collection, questions) = _chosen(inputs).reads, _collection(inputs)
    documents, chunks = inputs.table("documents"), inputs.table("chunks")
    if reads == "pages":
        return rank_by_passages(collection, questions)
    if reads == "units":
        settings = _long(inputs)
        return rank_units(collection, questions, long_units(documents, chunks, settings), settings)
    is_searched = reads == "graph"
    ranked = chunks_by_nodes(inputs.table("searches")) if is_searched else _relevance(inputs)
    (lines,) = _sized(inputs, "line_chunks")
    return rank_by_lines(collection, questions, chunks, lines, ranked)


def _contexts(inputs: Inputs) -> pa.Table:
    queries, reads = inputs.table("queries"), _chosen(inputs).reads
    if reads == "units":
        return unit_contexts(queries, _units(inputs), inputs.table("rankings"), _long(inputs))
    if reads == "graph":
        index = _sized(inputs, *_GRAPH)
        room = _room(inputs, _size(inputs))
        return context_rows(queries, GraphContexts(inputs.table("searches"), *index, room=room))
    if reads == "pages":
        settings = PageSettings.model_validate(inputs.settings("jerr.pages"))
        room = _room(inputs, _PIECES_A_WORD * settings.max_words)
        texts = gists_of(inputs.table("pages"))
        spans = inputs.table("pages").rename_columns({"page_id": "chunk_id"})
    else:
        room = _room(inputs, _size(inputs))
        spans, synopses = _sized(inputs, "line_chunks", "synopses")
        texts = synopses_of(synopses)
    ranked = inputs.table("chunks"), inputs.table("rankings")
    return context_rows(queries, short_contexts(texts, spans, *ranked, room=room))


def _room(inputs: Inputs, most_reread: int) -> Room:
    max_words = inputs.settings("answer")["max_words"]
    return Room(_answers(inputs), most_reread, max_words, n_word_pieces)


def _look_ups(inputs: Inputs) -> pa.Table | Result:
    shown, settings = (inputs.table("contexts"), inputs.table("queries")), _answers(inputs)
    if _chosen(inputs).reads == "lines":
        return first_in_full(*shown, settings.n_reread)
    model = inputs.model("language_model")
    count_tokens = counter_for(model, settings.prompt_tokens)
    return look_ups(*shown, model, settings, count_tokens, inputs.prompts("jerr"))


def _reread_contexts(inputs: Inputs) -> pa.Table:
    reads, texts = _chosen(inputs).reads, {}
    if reads != "units":  # the texts that gists or synopses summarize, by id
        key = "page_id" if reads == "pages" else "chunk_id"
        rows = inputs.table("pages") if reads == "pages" else _sized(inputs, "line_chunks")[0]
        texts = dict(zip(rows[key].to_pylist(), rows["text"].to_pylist(), strict=True))
    return reread(
        inputs.table("contexts"),
        inputs.table("look_ups"),
        texts,
        inputs.table("queries"),
        _answers(inputs),
        inputs.settings("answer")["max_words"],
        n_word_pieces,
    )


def _read(inputs: Inputs) -> Read:
    """Return the read passages with the chunks in them; texts written by a model have none."""
    rows, reads = inputs.table("reread_contexts"), _chosen(inputs).reads
    if reads == "units":
        return Read(
            rows, {u.unit_id: [(c, u.document_id) for c in u.chunk_ids] for u in _units(inputs)}
        )
    if reads == "pages":
        held = chunks_within(inputs.table("chunks"), inputs.table("pages"), "page_id")
    else:
        held = chunks_within(inputs.table("chunks"), *_sized(inputs, "line_chunks"))
    ids = [
        node_id if kind in FULL.values() else f"{kind} {node_id}"
        for node_id, kind in zip(
            rows["node_id"].to_pylist(), rows["node_kind"].to_pylist(), strict=True
        )
    ]
    index = rows.column_names.index("node_id")
    return Read(rows.set_column(index, "node_id", pa.array(ids, pa.string())), held)


def _explain(inputs: Inputs) -> str:
    tables = (inputs.table(n) for n in ("keywords", "searches", "look_ups", "reread_contexts"))
    if _chosen(inputs).reads == "graph":
        (edges,) = _sized(inputs, "edges")
    else:
        edges = inputs.table("edges")
    return explained(*tables, edges=edges)


FAMILY = Family(
    "jerr",
    tuple(METHODS),
    index=INDEX,
    question=(
        Step(
            _keywords,
            {"keywords": "Keywords of the question by the language model."},
            ("language_model",),
            "llm",
            costs=[Cost("question", tokens_in=136, tokens_out=15, methods=["jerr-published"])],
            code_version="3",
        ),
        Step(
            _searches,
            {"searches": "With its number of visits and mean reward; the best nodes are read."},
            (*_PASSAGES, "query_embeddings", "line_chunks", "synopses", "nodes", "edges"),
            "llm",
            code_version="4",
        ),
        Step(_rank, RANKINGS, (*_PASSAGES, "line_chunks", "query_embeddings"), code_version="4"),
        Step(
            _contexts,
            CONTEXTS,
            ("documents", "chunks", "line_chunks", "pages", *_GRAPH),
            pool=None,
            code_version="4",
        ),
        Step(
            _look_ups,
            {"look_ups": "Line chunks or pages that the model requests to read in full."},
            ("language_model",),
            "llm",
            costs=[
                Cost(
                    "question",
                    calls=1.87,
                    tokens_in=3921,
                    tokens_out=314,
                    methods=[n for n, one in METHODS.items() if one.reads in ("graph", "pages")],
                )
            ],
            code_version="2",
        ),
        Step(
            _reread_contexts,
            {"reread_contexts": "Synopses or gists, and the full texts that are read again."},
            ("line_chunks", "pages"),
            "llm",
            code_version="2",
        ),
    ),
    settings=JerrSettings,
    prompts=PROMPTS,
    prompt_tokens="jerr.answers.prompt_tokens",
    explain=_explain,
    k="jerr.search.n_nodes",
    without_k=[name for name, one in METHODS.items() if one.reads != "graph"],
    read=_read,
    costs=[Cost("question", tokens_in=3870, tokens_out=185, repeated=0.1)],
)
