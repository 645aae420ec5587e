"""The passages that the language model reads."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.choose import best_prefix
from gsum_assets.evidence.rank import Evidence
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.contexts import best_chunks, full_contexts, top_contexts
from gsum_resources.store.arrow import pc
from gsum_resources.store.lazy import Lazy
from gsum_resources.text.reading import question_aspects
from gsum_resources.text.sentences import read_sentences
from gsum_resources.text.speech import is_speech


class Budget(NamedTuple):
    """The most passages in a context, their length in word pieces, and a fixed number.

    A question without search terms reads its whole scope if that is prose of at most `whole_tokens`
    word pieces, else `k` passages. A question over several documents reads at least `k`.
    """

    k_max: int
    max_tokens: int
    k: int
    whole_tokens: int


def adaptive_contexts(
    queries: pa.Table, evidence: Evidence, chunks: Lazy, budget: Budget
) -> pa.Table:
    """Return rows of `contexts`: for each question the passages of its expected best F1.

    Probabilities are those of passages of one document, on which the network was trained. Over
    several documents they order passages and do not count them: expected F1 stopped after one
    passage for 206 of 314 questions of ODSum's meetings, and answers lost 5.5 points of ROUGE-1.

    No passage is evidence for everything more than others, so that a question without search terms
    ("Summarize the story") gets everything in reading order, or the first `k` of its ranking.

    Parameters
    ----------
    chunks : the table `chunks` of the corpus; texts are read of passages that may be shown.
    """
    places = chunks.columns(["chunk_id", "document_id", "n_tokens"])
    is_general = {
        row["query_id"]: not question_aspects(row["text"])
        for row in queries.select(["query_id", "text"]).to_pylist()
    }
    general = queries.filter(pa.array(list(is_general.values()), pa.bool_()))
    fits = _fits(general["document_id"].to_pylist(), places, chunks, budget.whole_tokens)
    whole, similar_to = general.filter(fits), general.filter(pc.invert(fits))["query_id"]
    ranked_of: dict[str, list[tuple[str, float]]] = {}
    ordered = evidence.probabilities.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    columns = (ordered[name].to_pylist() for name in ("query_id", "chunk_id", "probability"))
    for query_id, chunk_id, probability in zip(*columns, strict=True):
        if not is_general[query_id]:
            ranked_of.setdefault(query_id, []).append((chunk_id, probability))
    similar = evidence.rankings.filter(
        pc.is_in(evidence.rankings["query_id"], value_set=similar_to.combine_chunks())
    )
    most = {chunk_id for ranked in ranked_of.values() for chunk_id, _ in ranked[: budget.k_max]}
    most.update(best_chunks(similar, budget.k)["item_id"].to_pylist())
    read = chunks.rows_with("chunk_id", sorted(most))
    tokens_of = dict(zip(read["chunk_id"].to_pylist(), read["n_tokens"].to_pylist(), strict=True))
    has_one = len(pc.unique(places["document_id"])) < 2
    scopes = dict(zip(*(queries[n].to_pylist() for n in ("query_id", "document_id")), strict=True))
    rows = [
        row
        for query_id, ranked in ranked_of.items()
        for row in _chosen(
            query_id, ranked, tokens_of, budget, 1 if has_one or scopes[query_id] else budget.k
        )
    ]
    chosen = pa.Table.from_pylist(rows, TABLES["rankings"].schema)
    return pa.concat_tables(
        [
            top_contexts(chosen, read, budget.k_max),
            top_contexts(similar, read, budget.k),
            full_contexts(
                whole,
                _rows_in(chunks, whole["document_id"].to_pylist()),
                max(1, budget.whole_tokens),
            ),
        ]
    )


def _rows_in(chunks: Lazy, scopes: Sequence[str | None]) -> pa.Table:
    """Return the passages of some scopes, each a document or all."""
    if None in scopes:
        return chunks.get()
    return chunks.rows_with("document_id", sorted({scope for scope in scopes if scope}))


def _fits(
    scopes: Sequence[str | None], places: pa.Table, chunks: Lazy, most_tokens: int
) -> pa.Array:
    """Return whether each scope, a document or all, is prose of at most `most_tokens`."""

    @cache
    def fits(scope: str | None) -> bool:
        passages = (
            places if scope is None else places.filter(pc.equal(places["document_id"], scope))
        )
        if (pc.sum(passages["n_tokens"]).as_py() or 0) > most_tokens:
            return False
        read = read_sentences(_rows_in(chunks, [scope])["text"].to_pylist())
        return not is_speech([sentence.speaker for sentence in read])

    return pa.array([fits(scope) for scope in scopes], pa.bool_())


def _chosen(
    query_id: str,
    ranked: Sequence[tuple[str, float]],
    tokens_of: Mapping[str, int],
    budget: Budget,
    k_min: int,
) -> list[dict[str, str | int | float]]:
    """Return the passages to read as rows of `rankings`, best first."""
    best = [chunk_id for chunk_id, _ in ranked[: budget.k_max]]
    unknown = [chunk_id for chunk_id in best if chunk_id not in tokens_of]
    if unknown:
        raise ValueError(
            f"contexts: {len(unknown)} ranked chunks are not in the corpus (first: "
            f"'{unknown[0]}'); materialize rankings again"
        )
    probabilities = np.array([probability for _, probability in ranked])
    tokens = np.array([tokens_of[chunk_id] for chunk_id in best])
    n = best_prefix(probabilities, tokens, budget.k_max, budget.max_tokens, k_min)
    return [
        {
            "query_id": query_id,
            "level": "node",
            "rank": rank,
            "item_id": chunk_id,
            "score": probability,
            "latency_s": 0.0,
        }
        for rank, (chunk_id, probability) in enumerate(ranked[:n], 1)
    ]
