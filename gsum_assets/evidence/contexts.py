"""The passages that the language model reads: the prefix with the largest expected F1."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.rank import EvidenceRanking
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
    queries: pa.Table, evidence: EvidenceRanking, chunks: Lazy, budget: Budget
) -> pa.Table:
    """Return rows of `contexts`: for each question the passages of its expected best F1.

    The network was trained on passages of one document: over several, expected F1 stops too early,
    so that at least `k` are read. A question without search terms ("Summarize the story") gets
    everything in reading order, or the first `k` of its ranking.
    """
    sizes = chunks.columns(["chunk_id", "document_id", "n_tokens"])
    texts = queries["text"].to_pylist()
    is_general = pa.array([not question_aspects(text) for text in texts], pa.bool_())
    general = queries.filter(is_general)
    fits = _fits(general["document_id"].to_pylist(), sizes, chunks, budget.whole_tokens)
    whole, similar = general.filter(fits), general.filter(pc.invert(fits))
    best = _best_of(queries.filter(pc.invert(is_general)), evidence.rankings, budget.k_max)
    best_similar = _best_of(similar, evidence.rankings, budget.k)
    ids = {*best["item_id"].to_pylist(), *best_similar["item_id"].to_pylist()}
    read = chunks.rows_with("chunk_id", sorted(ids))
    has_one = len(pc.unique(sizes["document_id"])) < 2
    least = {
        row["query_id"]: 1 if has_one or row["document_id"] else budget.k
        for row in queries.select(["query_id", "document_id"]).to_pylist()
    }
    prefixes = _prefixes(best, evidence.probabilities, read, least, budget)
    passages = _rows_in(chunks, whole["document_id"].to_pylist())
    return pa.concat_tables(
        [
            top_contexts(prefixes, read, budget.k_max),
            top_contexts(best_similar, read, budget.k),
            full_contexts(whole, passages, max(1, budget.whole_tokens)),
        ]
    )


def _best_of(questions: pa.Table, rankings: pa.Table, k: int) -> pa.Table:
    """Return the rows of the `k` best chunks of some questions, by rank."""
    best = best_chunks(rankings, k)
    return best.filter(pc.is_in(best["query_id"], value_set=questions["query_id"])).sort_by("rank")


def _prefixes(
    best: pa.Table,
    probabilities: pa.Table,
    chunks: pa.Table,
    least: Mapping[str, int],
    budget: Budget,
) -> pa.Table:
    """Return the rows of `best`, at least `least` of a question, up to its largest expected F1."""
    summed = probabilities.group_by("query_id").aggregate([("probability", "sum")])
    expected = dict(zip(*(column.to_pylist() for column in summed.columns), strict=True))
    sizes = chunks.select(["chunk_id", "n_tokens"]).columns
    tokens_of = dict(zip(*(column.to_pylist() for column in sizes), strict=True))
    ranked_of: dict[str, list[dict]] = defaultdict(list)
    for row in best.to_pylist():
        ranked_of[row["query_id"]].append(row)
    n_read = {
        query_id: best_prefix(
            np.array([row["score"] for row in ranked]),
            expected[query_id],
            np.array([tokens_of.get(row["item_id"], 0) for row in ranked]),
            budget,
            least[query_id],
        )
        for query_id, ranked in ranked_of.items()
    }
    most = pa.array([n_read[query_id] for query_id in best["query_id"].to_pylist()], pa.int32())
    return best.filter(pc.less_equal(best["rank"], most))


def _rows_in(chunks: Lazy, scopes: Sequence[str | None]) -> pa.Table:
    """Return the passages of some scopes, each a document or all."""
    if None in scopes:
        return chunks.get()
    return chunks.rows_with("document_id", sorted({scope for scope in scopes if scope}))


def _fits(
    scopes: Sequence[str | None], sizes: pa.Table, chunks: Lazy, most_tokens: int
) -> pa.Array:
    """Return whether each scope, a document or all, is prose of at most `most_tokens`."""

    @cache
    def fits(scope: str | None) -> bool:
        passages = sizes if scope is None else sizes.filter(pc.equal(sizes["document_id"], scope))
        if (pc.sum(passages["n_tokens"]).as_py() or 0) > most_tokens:
            return False
        read = read_sentences(_rows_in(chunks, [scope])["text"].to_pylist())
        return not is_speech([sentence.speaker for sentence in read])

    return pa.array([fits(scope) for scope in scopes], pa.bool_())


def expected_f1(probabilities: np.ndarray, expected: float) -> np.ndarray:
    """Return the expected F1 of each prefix of passages, best first, `(n,)`.

    The F1 of k passages of which a are evidence, out of b, is 2a / (k + b). Expectations replace a,
    the sum of their probabilities, and b, which is `expected`, the sum over all of the scope.
    """
    lengths = np.arange(1, len(probabilities) + 1)
    return 2 * np.cumsum(probabilities) / (lengths + expected)


def best_prefix(
    probabilities: np.ndarray, expected: float, tokens: np.ndarray, budget: Budget, k_min: int = 1
) -> int:
    """Return the number of passages to read: at least `k_min`, or as many as fit.

    Probabilities are as in `expected_f1`, `tokens` the lengths of these passages, `(n,)`.
    """
    fit = int(np.searchsorted(np.cumsum(tokens), budget.max_tokens, side="right"))
    allowed = min(max(fit, 1), budget.k_max)
    first = min(k_min, allowed) - 1
    f1 = expected_f1(probabilities, expected)[first:allowed]
    return first + int(np.argmax(f1.round(9))) + 1
