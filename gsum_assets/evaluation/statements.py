"""Scores of what an answer states: the assertions that it meets, and its claims.

Claims after GraphRAG (arXiv 2404.16130, section 4.1.2): the comprehensiveness of an answer is its
number of claims, its diversity the number of their clusters by complete linkage, where the distance
of two claims is 1 - ROUGE-L. Here a claim is a sentence.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.rouge import rouge
from gsum_assets.evaluation.support import Support
from gsum_resources.text.selection import is_statement
from gsum_resources.text.sentences import read_sentences, split_sentences
from gsum_resources.text.speech import without_names
from gsum_resources.text.vocabulary import content_stems, n_words

# Least support, of 0 to 2. Chosen on 118 sentences of reference answers to 20 questions of five
# stories of SQuALITY train: another writer's answer to the same question has it for 60% of them, an
# answer to another question on the same story for 30%. By the share met an answer to the same
# question is above the other with a probability of 0.81; thresholds from 0.5 to 0.75 are similar.
_LEAST = 0.7
# Least share of the content words that the question does not have. On 580 such sentences of 25
# stories of SQuALITY train: 53% of the sentences have it, and 39% with the other answer.
_LEAST_NEW = 0.2
_SAME = 0.8  # share of content words by which one sentence may be the negation of another
_FIGURE = re.compile(r"\d+(?:[.,]\d+)*")
_NEGATION = re.compile(
    r"\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot)\b|n['’]t\b", re.IGNORECASE
)

SAME_CLAIM = 0.75  # cosine of two sentences that say the same
LEAST_STEMS = 3  # content words of a sentence that claims something
DISTANCES = (0.5, 0.6, 0.7, 0.8)
"""Distances of clusters of claims, as in the paper's appendix."""


def statement_rows(
    queries: pa.Table,
    summaries: pa.Table,
    assertions: Mapping[str, Sequence[str]],
    support: Support,
    with_claims: bool,
) -> Iterator[tuple[str, str, float]]:
    """Yield query id, metric and value for each sample of each answer; assertions by query id.

    A question without an answer has the value 0 in `assertions_met` and no claim.
    """
    if not (assertions or with_claims):
        return
    texts: dict[str, list[str]] = defaultdict(list)
    for row in summaries.select(["query_id", "text"]).to_pylist():
        texts[row["query_id"]].append(row["text"])
    questions = {row["query_id"]: row["text"] for row in queries.to_pylist()}
    answers = [(i, text) for i in questions for text in texts.get(i, [""])]
    support.embed_pairs((a, [text]) for i, text in answers for a in assertions.get(i, ()))
    if with_claims:
        support.embed([sentence for _, text in answers for sentence in _claiming(text)])
    for query_id, answer in answers:
        if query_id in assertions:
            of_question = assertions[query_id], answer, support, questions[query_id]
            yield query_id, "assertions_met", assertions_met(*of_question)
        if with_claims:
            for metric, value in claim_metrics(claims_of(answer, support.embed), answer):
                yield query_id, metric, value


def assertions_met(
    assertions: Sequence[str], answer: str, support: Support, question: str = ""
) -> float:
    """Return the share of assertions that an answer to a question makes, 0 to 1."""
    met = [is_met(assertion, answer, support, question) for assertion in assertions]
    return sum(met) / len(met)


def is_met(assertion: str, answer: str, support: Support, question: str = "") -> bool:
    """Return whether an answer to a question makes a statement, by rule.

    One of its runs of sentences supports the statement, has some of its words besides those of the
    question, has its figures, and is not its negation.
    """
    value, _, span = support.of(assertion, [answer])
    run = answer[slice(*span)]
    if value < _LEAST or not _figures(assertion) <= _figures(run):
        return False
    stems = frozenset(content_stems(without_names(assertion)))
    new = stems - frozenset(content_stems(question)) or stems
    if len(new & frozenset(content_stems(run))) < _LEAST_NEW * len(new):
        return False
    shares = [
        (len(stems & frozenset(content_stems(sentence))) / max(1, len(stems)), sentence)
        for sentence in split_sentences(run)
    ]
    share, nearest = max(shares, key=lambda item: item[0])
    is_negated = bool(_NEGATION.search(assertion)) != bool(_NEGATION.search(nearest))
    return share < _SAME or not is_negated


def _figures(text: str) -> frozenset[str]:
    return frozenset(_FIGURE.findall(text.replace(",", "")))


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
