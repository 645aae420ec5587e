"""JERR, its ablations and two baselines."""

from collections.abc import Iterator

import pyarrow as pa

from gsum_assets.evaluation.passages import Passage, context_rows
from gsum_assets.evaluation.retrieval_metrics import chunks_within
from gsum_assets.jerr.contexts import (
    ShortForms,
    gists_of,
    graph_contexts,
    short_contexts,
    synopses_of,
)
from gsum_assets.jerr.explain import explained
from gsum_assets.jerr.index import INDEX
from gsum_assets.jerr.long_units import Unit, long_units, rank_units, unit_contexts
from gsum_assets.jerr.methods import METHODS, Method
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.rank import Relevance, chunks_by_nodes, rank_by_lines, relevance
from gsum_assets.jerr.reread import FULL, first_in_full, look_ups, reread
from gsum_assets.jerr.search import SearchSpace, ask_keywords, search
from gsum_assets.jerr.settings import (
    AnswerSettings,
    JerrSettings,
    LongSettings,
    PageSettings,
    SearchSettings,
)
from gsum_assets.jerr.sizes import size_of, sized
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family, Read
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.words import Words

_PIECES_A_WORD = 2  # word pieces per word at most: pages are measured in words
_PASSAGES = ("documents", "chunks", "chunk_embeddings")


def _chosen(inputs: Inputs) -> Method:
    return METHODS[inputs.method]


def _answers(inputs: Inputs) -> AnswerSettings:
    return AnswerSettings.model_validate(inputs.settings("jerr.answers"))


def _long(inputs: Inputs) -> LongSettings:
    return LongSettings.model_validate(inputs.settings("jerr.long"))


def _units(inputs: Inputs) -> list[Unit]:
    return long_units(inputs.table("documents"), inputs.table("chunks"), _long(inputs))


def _collection(inputs: Inputs) -> tuple[Collection, Questions]:
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    return Collection.from_tables(*map(inputs.table, _PASSAGES)), questions


def _relevance(inputs: Inputs) -> Relevance:
    chunks, (line_chunks,) = inputs.table("chunks"), sized(inputs, "line_chunks")
    words, is_lexical = Words(inputs.settings("language")), _chosen(inputs).is_lexical
    return relevance(*_collection(inputs), chunks, line_chunks, words, is_lexical)


def _keywords(inputs: Inputs) -> pa.Table | Result:
    if _chosen(inputs).search != "published":
        return TABLES["jerr.keywords"].empty()
    return ask_keywords(
        inputs.table("queries"), inputs.model("language_model"), inputs.prompts("jerr")
    )


def _searches(inputs: Inputs) -> pa.Table:
    if _chosen(inputs).reads != "graph":
        return TABLES["jerr.searches"].empty()
    words = Words(inputs.settings("language"))
    return search(
        inputs.table("queries"),
        inputs.table("keywords"),
        _relevance(inputs),
        SearchSpace(*sized(inputs, "nodes", "edges", "line_chunks", "synopses"), words=words),
        _chosen(inputs),
        SearchSettings.model_validate(inputs.settings("jerr.search")),
        words,
    )


def _rank(inputs: Inputs) -> pa.Table:
    reads, (collection, questions) = _chosen(inputs).reads, _collection(inputs)
    if reads == "pages":  # decides which gists are shown if there are too many for a prompt
        return rank_questions(Dense, questions, collection)
    if reads == "units":
        return rank_units(collection, questions, _units(inputs), _long(inputs))
    is_searched = reads == "graph"
    ranked = chunks_by_nodes(inputs.table("searches")) if is_searched else _relevance(inputs)
    (lines,) = sized(inputs, "line_chunks")
    return rank_by_lines(collection, questions, inputs.table("chunks"), lines, ranked)


def _contexts(inputs: Inputs) -> pa.Table:
    queries, reads = inputs.table("queries"), _chosen(inputs).reads
    if reads == "units":
        return unit_contexts(queries, _units(inputs), inputs.table("rankings"), _long(inputs))

    def short_forms(texts: Iterator[Passage], longest: int) -> ShortForms:
        return ShortForms(texts, _answers(inputs), longest, inputs.settings("answer")["max_words"])

    if reads == "pages":
        spans = inputs.table("pages").rename_columns({"page_id": "chunk_id"})
        settings = PageSettings.model_validate(inputs.settings("jerr.pages"))
        short = short_forms(gists_of(inputs.table("pages")), _PIECES_A_WORD * settings.max_words)
    else:
        spans, synopses = sized(inputs, "line_chunks", "synopses")
        short = short_forms(synopses_of(synopses), size_of(inputs))
    if reads == "graph":
        graph = sized(inputs, "nodes", "edges", "atomic_facts")
        choose = graph_contexts(inputs.table("searches"), *graph, short=short)
    else:
        choose = short_contexts(spans, inputs.table("chunks"), inputs.table("rankings"), short)
    return context_rows(queries, choose)


def _look_ups(inputs: Inputs) -> pa.Table | Result:
    shown, settings = (inputs.table("contexts"), inputs.table("queries")), _answers(inputs)
    if _chosen(inputs).reads == "lines":
        return first_in_full(*shown, settings.n_reread)
    return look_ups(*shown, inputs.model("language_model"), settings, inputs.prompts("jerr"))


def _reread_contexts(inputs: Inputs) -> pa.Table:
    reads, texts = _chosen(inputs).reads, {}
    if reads != "units":
        is_paged = reads == "pages"
        rows = inputs.table("pages") if is_paged else sized(inputs, "line_chunks")[0]
        ids = rows["page_id" if is_paged else "chunk_id"].to_pylist()
        texts = dict(zip(ids, rows["text"].to_pylist(), strict=True))
    return reread(
        inputs.table("contexts"),
        inputs.table("look_ups"),
        texts,
        inputs.table("queries"),
        _answers(inputs),
        inputs.settings("answer")["max_words"],
    )


def _read(inputs: Inputs) -> Read:
    """Return the read passages with the chunks in them; texts written by a model have none."""
    rows, reads = inputs.table("reread_contexts"), _chosen(inputs).reads
    if reads == "units":
        held = {u.unit_id: [(c, u.document_id) for c in u.chunk_ids] for u in _units(inputs)}
        return Read(rows, held)
    if reads == "pages":
        held = chunks_within(inputs.table("chunks"), inputs.table("pages"), "page_id")
    else:
        held = chunks_within(inputs.table("chunks"), *sized(inputs, "line_chunks"))
    columns = (rows[name].to_pylist() for name in ("node_id", "node_kind"))
    ids = [
        node_id if kind in FULL.values() else f"{kind} {node_id}"
        for node_id, kind in zip(*columns, strict=True)
    ]
    index = rows.column_names.index("node_id")
    return Read(rows.set_column(index, "node_id", pa.array(ids, pa.string())), held)


def _explain(inputs: Inputs) -> str:
    tables = (inputs.table(n) for n in ("keywords", "searches", "look_ups", "reread_contexts"))
    is_searched = _chosen(inputs).reads == "graph"
    (edges,) = sized(inputs, "edges") if is_searched else (TABLES["jerr.edges"].empty(),)
    return explained(*tables, edges=edges)


_LOOKS_UP = [name for name, method in METHODS.items() if method.reads in ("graph", "pages")]

FAMILY = Family(
    "jerr",
    tuple(METHODS),
    index=INDEX,
    studies=(
        "bm25-lines",
        "jerr-pagerank",
        "jerr-ppr",
        "jerr-600",
        "jerr-1000",
        "jerr-4000",
    ),
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
            (
                *("documents", "chunks", "line_chunks", "pages"),
                *("nodes", "edges", "synopses", "atomic_facts"),
            ),
            pool=None,
            code_version="4",
        ),
        Step(
            _look_ups,
            {"look_ups": "Line chunks or pages that the model requests to read in full."},
            ("language_model",),
            "llm",
            costs=[Cost("question", calls=1.87, tokens_in=3921, tokens_out=314, methods=_LOOKS_UP)],
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
    without_k=[name for name, method in METHODS.items() if method.reads != "graph"],
    read=_read,
    costs=[Cost("question", tokens_in=3870, tokens_out=185, repeated=0.1)],
)
