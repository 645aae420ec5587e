"""JERR, its ablations and two baselines."""

import pyarrow as pa

from gsum_assets.evaluation.passages import context_rows
from gsum_assets.evaluation.retrieval_metrics import chunks_within
from gsum_assets.jerr.contexts import (
    graph_contexts,
    short_contexts,
    short_forms,
    short_texts,
)
from gsum_assets.jerr.explain import explained
from gsum_assets.jerr.index import INDEX
from gsum_assets.jerr.long_units import Unit, long_units, rank_units, unit_contexts
from gsum_assets.jerr.methods import METHODS, Method
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.rank import (
    ByLineChunks,
    Relevance,
    chunks_by_nodes,
    relevance,
    spans_of_passages,
)
from gsum_assets.jerr.reread import FULL, first_in_full, look_ups, reread
from gsum_assets.jerr.search import ask_keywords, scopes_of, search
from gsum_assets.jerr.settings import (
    AnswerSettings,
    ChunkingSettings,
    JerrSettings,
    LongSettings,
    PageSettings,
    SearchSettings,
)
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family, Read
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.loading import collection_of
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.words import Words
from gsum_resources.store.arrow import mapping

_PIECES_A_WORD = 2  # word pieces per word at most: pages are measured in words
_PASSAGES = ("documents", "chunks", "chunk_embeddings")


def _chosen(inputs: Inputs) -> Method:
    return METHODS[inputs.method]


def _answers(inputs: Inputs) -> AnswerSettings:
    return AnswerSettings.model_validate(inputs.settings("jerr.answers"))


def _long(inputs: Inputs) -> LongSettings:
    return LongSettings.model_validate(inputs.settings("jerr.long"))


def _units(inputs: Inputs) -> list[Unit]:
    return long_units(inputs.table("documents"), inputs.table("chunks"), _long(inputs).unit_tokens)


def _spans(inputs: Inputs) -> pa.Table:
    """Return the texts to read again: pages, with `page_id` as `chunk_id`, or line chunks."""
    if _chosen(inputs).reads == "pages":
        return inputs.table("pages").rename_columns({"page_id": "chunk_id"})
    return inputs.table("line_chunks")


def _questions(inputs: Inputs) -> Questions:
    return Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))


def _relevance(inputs: Inputs) -> Relevance:
    texts = inputs.table("chunks"), inputs.table("line_chunks")
    words, is_lexical = Words(inputs.settings("language")), _chosen(inputs).is_lexical
    return relevance(collection_of(inputs), _questions(inputs), *texts, words, is_lexical)


def _keywords(inputs: Inputs) -> pa.Table | Result:
    if _chosen(inputs).search != "published":
        return TABLES["jerr.keywords"].empty()
    model, prompts = inputs.model("language_model"), inputs.prompts("jerr")
    return ask_keywords(inputs.table("queries"), model, prompts)


def _searches(inputs: Inputs) -> pa.Table:
    if _chosen(inputs).reads != "graph":
        return TABLES["jerr.searches"].empty()
    words = Words(inputs.settings("language"))
    graph = map(inputs.table, ("nodes", "edges", "line_chunks", "synopses"))
    return search(
        inputs.table("queries"),
        inputs.table("keywords"),
        _relevance(inputs),
        scopes_of(*graph, words=words),
        _chosen(inputs),
        SearchSettings.model_validate(inputs.settings("jerr.search")),
        words,
    )


def _rank(inputs: Inputs) -> pa.Table:
    reads, collection = _chosen(inputs).reads, collection_of(inputs)
    questions = _questions(inputs)
    if reads == "pages":  # decides which gists are shown if there are too many for a prompt
        return rank_questions(Dense, questions, collection)
    if reads == "units":
        return rank_units(collection, questions, _units(inputs), _long(inputs).n_units)
    is_searched = reads == "graph"
    ranked = chunks_by_nodes(inputs.table("searches")) if is_searched else _relevance(inputs)
    span_of = spans_of_passages(inputs.table("chunks"), inputs.table("line_chunks"))
    return rank_questions(
        lambda scope: ByLineChunks(scope, span_of, ranked, Dense(scope)), questions, collection
    )


def _contexts(inputs: Inputs) -> pa.Table:
    queries, reads = inputs.table("queries"), _chosen(inputs).reads
    if reads == "units":
        rankings, n_units = inputs.table("rankings"), _long(inputs).n_units
        return unit_contexts(queries, _units(inputs), rankings, n_units)
    if reads == "pages":
        texts = short_texts(inputs.table("pages"), "page_id", "gist")
        pages = PageSettings.model_validate(inputs.settings("jerr.pages"))
        longest = _PIECES_A_WORD * pages.max_words
    else:
        texts = short_texts(inputs.table("synopses"), "chunk_id", "synopsis")
        chunking = ChunkingSettings.model_validate(inputs.settings("jerr.chunking"))
        longest = chunking.max_tokens
    short = short_forms(texts, _answers(inputs), longest, inputs.settings("answer")["max_words"])
    if reads == "graph":
        found = map(inputs.table, ("searches", "nodes", "edges", "atomic_facts"))
        return context_rows(queries, graph_contexts(*found, short=short))
    chunks, rankings = inputs.table("chunks"), inputs.table("rankings")
    return context_rows(queries, short_contexts(_spans(inputs), chunks, rankings, short))


def _look_ups(inputs: Inputs) -> pa.Table | Result:
    shown, settings = (inputs.table("contexts"), inputs.table("queries")), _answers(inputs)
    if _chosen(inputs).reads == "lines":
        return first_in_full(*shown, settings.n_reread)
    return look_ups(*shown, inputs.model("language_model"), settings, inputs.prompts("jerr"))


def _reread_contexts(inputs: Inputs) -> pa.Table:
    texts = {}
    if _chosen(inputs).reads != "units":
        texts = mapping(_spans(inputs), "chunk_id", "text")
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
    rows = inputs.table("reread_contexts")
    if _chosen(inputs).reads == "units":
        held = {u.unit_id: [(c, u.document_id) for c in u.chunk_ids] for u in _units(inputs)}
        return Read(rows, held)
    columns = (rows[name].to_pylist() for name in ("node_id", "node_kind"))
    ids = [
        node_id if kind in FULL.values() else f"{kind} {node_id}"
        for node_id, kind in zip(*columns, strict=True)
    ]
    index = rows.column_names.index("node_id")
    held = chunks_within(inputs.table("chunks"), _spans(inputs))
    return Read(rows.set_column(index, "node_id", pa.array(ids, pa.string())), held)


def _explain(inputs: Inputs) -> str:
    tables = (inputs.table(n) for n in ("keywords", "searches", "look_ups", "reread_contexts"))
    is_searched = _chosen(inputs).reads == "graph"
    return explained(
        *tables, edges=inputs.table("edges") if is_searched else TABLES["jerr.edges"].empty()
    )


_LOOKS_UP = [name for name, method in METHODS.items() if method.reads in ("graph", "pages")]

FAMILY = Family(
    "jerr",
    tuple(METHODS),
    index=INDEX,
    studies=("bm25-lines", "jerr-pagerank"),
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
    read=_read,
    costs=[Cost("question", tokens_in=3870, tokens_out=185, repeated=0.1)],
)
