"""Global and local answers from the index, and two baselines."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache, partial

import pyarrow as pa

from gsum_assets.evaluation.budget import counter_for
from gsum_assets.evaluation.passages import context_rows
from gsum_assets.graphrag.contexts import (
    AnswerPrompt,
    Neighbourhood,
    all_chunks,
    all_reports,
    around,
    nearest_chunks,
    relevant_reports,
    reports_or,
)
from gsum_assets.graphrag.elements import chunk_of_claim
from gsum_assets.graphrag.homonyms import names_apart
from gsum_assets.graphrag.index import INDEX
from gsum_assets.graphrag.map_reduce import partial_answers, passages_behind, reduced_contexts
from gsum_assets.graphrag.methods import METHODS
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.rank import Index, rank
from gsum_assets.graphrag.settings import AnswerSettings, GraphRagSettings, LocalSettings
from gsum_assets.pipeline.cost import Cost
from gsum_assets.pipeline.family import Family, Read
from gsum_assets.pipeline.result import Result, result_of
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.loading import collection_of
from gsum_assets.retrieval.vectors import stacked
from gsum_resources.store.arrow import mapping, pc
from gsum_resources.store.partition import StoreError
from gsum_resources.store.table import Macro, View

_INDEX = ("entities", "relationships", "communities", "community_reports", "findings", "embeddings")
"""Arguments of `Index`, in order."""


def _prompt(inputs: Inputs) -> AnswerPrompt:
    settings = AnswerSettings.model_validate(inputs.settings("graphrag.answers"))
    return AnswerPrompt(settings.prompt_tokens, inputs.settings("answer")["max_words"])


def _n_entities(inputs: Inputs) -> int:
    return LocalSettings.model_validate(inputs.settings("graphrag.local")).n_entities


def _index(inputs: Inputs) -> Index:
    """Return the index, with empty tables for a baseline that does not use it."""
    if METHODS[inputs.method].uses_index:
        return inputs.derived("index", _INDEX, lambda: Index(*map(inputs.table, _INDEX)))
    return Index(*(TABLES[f"graphrag.{name}"].empty() for name in _INDEX))


def _rank(inputs: Inputs) -> pa.Table:
    questions = Questions.from_tables(inputs.table("queries"), inputs.table("query_embeddings"))
    n_entities = _n_entities(inputs) if METHODS[inputs.method].reads == "around" else 0
    return rank(inputs.method, collection_of(inputs), questions, _index(inputs), n_entities)


def _contexts(inputs: Inputs) -> pa.Table:
    queries, prompt, index = inputs.table("queries"), _prompt(inputs), _index(inputs)
    method = METHODS[inputs.method]
    every_chunk = cache(lambda: all_chunks(inputs.table("chunks")))
    if method.reads == "chunks":
        return context_rows(queries, every_chunk())
    if method.reads == "reports":
        reports = all_reports(index, method.level)
        return context_rows(queries, reports_or(index, reports, every_chunk))
    if method.reads == "nearest":
        ranked = inputs.table("rankings"), inputs.table("chunks")
        return context_rows(queries, nearest_chunks(*ranked, prompt))
    embedded = inputs.table("query_embeddings")
    vectors = stacked(embedded["embedding"])
    by_question = dict(zip(embedded["query_id"].to_pylist(), vectors, strict=True))
    if method.reads == "relevant":
        reports = relevant_reports(index, by_question, prompt)
        return context_rows(queries, reports_or(index, reports, every_chunk))
    tables = ("chunks", "claims", "aliases")
    neighbourhood_of = inputs.derived(
        "neighbourhoods",
        (*_INDEX, *tables),
        lambda: cache(partial(Neighbourhood, index, *map(inputs.table, tables))),
    )
    ranked = inputs.table("rankings"), inputs.table("chunks")
    choose = around(neighbourhood_of, *ranked, by_question, _n_entities(inputs), prompt)
    return context_rows(queries, choose)


def _partial_answers(inputs: Inputs) -> Result:
    if not METHODS[inputs.method].maps:
        return result_of("graphrag", {"partial_answers": [], "key_points": []})
    model, prompt = inputs.model("language_model"), _prompt(inputs)
    prompt = replace(prompt, count_tokens=counter_for(model, prompt.tokens))
    asked = inputs.table("contexts"), inputs.table("queries")
    return partial_answers(*asked, model, prompt, inputs.prompts("graphrag"))


def _reduced_contexts(inputs: Inputs) -> pa.Table:
    tables = ("contexts", "partial_answers", "key_points", "queries")
    return reduced_contexts(*map(inputs.table, tables), prompt=_prompt(inputs))


def _read(inputs: Inputs) -> Read:
    """Return the passages behind the points that answers read, with the chunks behind them."""
    method, rows = METHODS[inputs.method], inputs.table("reduced_contexts")
    if method.reads == "nearest":
        return Read(rows, {})
    points = TABLES["graphrag.key_points"].empty()
    if method.maps:
        contexts, partial = inputs.table("contexts"), inputs.table("partial_answers")
        points = inputs.table("key_points")
        rows = passages_behind(contexts, partial, points, rows)
    tables = ("chunks", "findings") if method.uses_index else ("chunks",)
    document_of, of_reports = inputs.derived(
        "chunks behind reports", tables, lambda: _chunks_of_reports(*map(inputs.table, tables))
    )
    behind = dict(of_reports)
    for claim_id in rows.filter(pc.equal(rows["node_kind"], "claim"))["node_id"].to_pylist():
        chunk_id = chunk_of_claim(claim_id)
        behind[claim_id] = {(chunk_id, document_of[chunk_id]): None}
    for row in points.select(["point_id", "node_ids"]).to_pylist():
        behind[row["point_id"]] = {
            pair: None
            for node_id in row["node_ids"]
            for pair in behind.get(node_id, ((node_id, document_of.get(node_id, "")),))
            if pair[1]
        }
    return Read(rows, behind)


def _chunks_of_reports(
    chunks: pa.Table, findings: pa.Table | None = None
) -> tuple[Mapping[str, str], Mapping[str, Mapping[tuple[str, str], None]]]:
    """Return the document of each chunk, and chunks with their documents by report, in order."""
    document_of = mapping(chunks, "chunk_id", "document_id")
    behind: dict[str, dict[tuple[str, str], None]] = {}
    for row in findings.to_pylist() if findings is not None else ():
        chunks_of = behind.setdefault(row["community_id"], {})
        chunks_of.update(dict.fromkeys((c, document_of[c]) for c in row["chunk_ids"]))
    return document_of, behind


def _ambiguous(question: str, inputs: Inputs) -> Mapping[str, Sequence[str]]:
    """Return the names of a question that may be several; none where methods need no graph."""
    try:
        return names_apart(question, inputs.table("aliases"))
    except StoreError:
        return {}


def _views() -> Sequence[View | Macro]:
    from gsum_assets.graphrag.views import MACROS, VIEWS

    return (*VIEWS, *MACROS)


_LEVELS = ["graphrag-c1", "graphrag-c2", "graphrag-c3"]
_PACK = Cost(
    "question", length="graphrag.answers.prompt_tokens", calls=1.4, tokens_in=7200, tokens_out=490
)
_PACKS = (
    replace(_PACK, requests=1.3, methods=["graphrag-ts"]),
    replace(_PACK, requests=0.6, methods=_LEVELS, repeated=0.75),
)
"""Requests about packs of passages, and of reports; a text that fits one prompt has none."""

FAMILY = Family(
    "graphrag",
    tuple(METHODS),
    index=INDEX,
    question=(
        Step(
            _rank,
            RANKINGS,
            ("documents", "chunks", "chunk_embeddings", *_INDEX, "query_embeddings"),
            code_version="2",
        ),
        Step(
            _contexts,
            CONTEXTS,
            ("chunks", *_INDEX, "claims", "aliases", "query_embeddings"),
            pool=None,
            code_version="4",
        ),
        Step(
            _partial_answers,
            {
                "partial_answers": "One pack of passages, and what it cost to read it.",
                "key_points": "What the pack says about the question, with its score and the "
                "passages that say it.",
            },
            ("language_model",),
            pool="llm",
            code_version="5",
            costs=_PACKS,
        ),
        Step(
            _reduced_contexts,
            {
                "reduced_contexts": "The most helpful points that fit one prompt, or the passages "
                "themselves if all fit."
            },
            pool="llm",
            code_version="3",
        ),
    ),
    settings=GraphRagSettings,
    prompts=PROMPTS,
    ambiguous=_ambiguous,
    prompt_tokens="graphrag.answers.prompt_tokens",
    read=_read,
    views=_views,
    costs=[Cost("question", tokens_in=3987, tokens_out=186, repeated=0.33)],
)
"""Global answers from four levels of communities, local answers, and two baselines."""
