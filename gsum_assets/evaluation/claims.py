"""Claims of an answer and their clusters (GraphRAG, arXiv 2404.16130, section 4.1.2).

The comprehensiveness of an answer is its number of claims, its diversity the number of their
clusters by complete linkage, where the distance of two claims is 1 - ROUGE-L. Here a claim is a
sentence.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.rouge import rouge
from gsum_resources.protocols.models import Embedder
from gsum_resources.text.selection import is_statement
from gsum_resources.text.sentences import read_sentences
from gsum_resources.text.vocabulary import content_stems, n_words

SAME_CLAIM = 0.75  # cosine of two sentences that say the same
LEAST_STEMS = 3  # content words of a sentence that claims something
DISTANCES = (0.5, 0.6, 0.7, 0.8)
"""Distances of clusters of claims, as in the paper's appendix."""


def claim_rows(
    query_ids: Sequence[str], summaries: pa.Table, embedder: Embedder
) -> Iterator[tuple[str, str, float]]:
    """Yield query id, metric and value for each sample of each answer.

    A question without an answer has no claim.
    """
    texts: dict[str, list[str]] = defaultdict(list)
    for row in summaries.select(["query_id", "text"]).to_pylist():
        texts[row["query_id"]].append(row["text"])
    answers = [(i, text) for i in query_ids for text in texts.get(i, [""])]
    sentences = list(dict.fromkeys(s for _, text in answers for s in _claiming(text)))
    vectors = dict(zip(sentences, embedder.embed(sentences), strict=True)) if sentences else {}
    for query_id, answer in answers:
        claims = claims_of(answer, lambda wanted: np.stack([vectors[text] for text in wanted]))
        for metric, value in claim_metrics(claims, answer):
            yield query_id, metric, value


def claims_of(answer: str, embed: Callable[[Sequence[str]], np.ndarray]) -> list[str]:
    """Return the sentences of an answer that say what no earlier one says, without speakers."""
    sentences = _claiming(answer)
    chosen: list[int] = []
    vectors = embed(sentences) if sentences else np.zeros((0, 1))
    for i, vector in enumerate(vectors):
        if all(vector @ vectors[j] < SAME_CLAIM for j in chosen):
            chosen.append(i)
    return [sentences[i] for i in chosen]


def _claiming(answer: str) -> list[str]:
    """Return the sentences of an answer that claim something, repetitions included."""
    sentences = (s.text for s in read_sentences([answer]) if is_statement(s))
    return [text for text in sentences if len(content_stems(text)) >= LEAST_STEMS]


def claim_metrics(claims: Sequence[str], answer: str) -> Iterator[tuple[str, float]]:
    """Yield metrics of an answer with these claims.

    `claims` and `claim_clusters@D`, the clusters at distance D, grow with the length of an answer;
    `claims_per_100` is the number of claims in 100 words.
    """
    yield "claims", float(len(claims))
    yield "claims_per_100", 100 * len(claims) / max(1, n_words(answer))
    for distance, n in zip(DISTANCES, n_clusters(claims), strict=True):
        yield f"claim_clusters@{distance}", float(n)


def n_clusters(claims: Sequence[str]) -> list[int]:
    """Return the number of clusters of claims at each of `DISTANCES`."""
    from scipy.cluster.hierarchy import fcluster, linkage

    if len(claims) < 2:
        return [len(claims)] * len(DISTANCES)
    distances = [
        1 - rouge(first, [second])["rougeL"]
        for i, first in enumerate(claims)
        for second in claims[i + 1 :]
    ]
    tree = linkage(distances, method="complete")
    return [len(set(fcluster(tree, distance, "distance"))) for distance in DISTANCES]
