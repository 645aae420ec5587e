"""Whether the documents answer a question: a probability from what they hold.

No feature needs labels of the corpus at hand. For a question about one document of several:

- `surprise`: the sum over the question's words of ln((n + s) / (expected + s)), where n counts a
  word in the document, and `expected` is its count in as much text of the other documents;
- `gap`: by how much the most similar passage of another document is more similar than its own.

For a question about all documents, or about the only one:

- `missing`: the mean over the question's words of -ln of their frequency in general English, where
  words that occur in the most similar passages count 0: a rare word that is missing weighs most;
- `similarity`: cosine of the question and the most similar passage.

A question is not judged, and therefore answered, if it has no words of its own ("Summarize the
meeting"), or if hardly any of its words occurs, as where it is in another language.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_resources.text.reading import CONTENTLESS, question_aspects
from gsum_resources.text.scripts import is_plain
from gsum_resources.text.vocabulary import content_stems, stem, words

ReadTexts = Callable[[Sequence[str]], Sequence[str]]
"""Returns the texts of chunks by their ids."""

_WORD = re.compile(r"[^\W_]+")
_SMOOTHING = 0.3  # of a count
_FIRST_WORD = 1996  # id of the packaged tokenizer's first word; they are ordered by frequency
_RAREST = 2e-6  # frequency of a word that this vocabulary lacks
_LEAST_SHARED = 0.25  # of a question's words, else it is in another language
_LEAST_OTHER_WORDS = 5_000  # of other documents, to compare with
_MOST_OTHERS = 2_000  # passages of all documents that are counted, evenly spread
_NEAREST = 6  # passages in which the words of a question over all documents are looked for


@dataclass(frozen=True)
class Weights:
    """Logistic regression of two features, and the probability from which a question is answered.

    Fitted on 32 meetings of QMSum train and 20 stories of SQuALITY train (packaged embedder), each
    question asked of its own document and of all others; both sets, and both answers, weigh
    equally. The threshold is where 3% of the questions asked of their own document are refused, in
    both sets together (`OF_DOCUMENT`) or in the set with more (`OF_ALL`).
    """

    intercept: float
    lexical: float
    dense: float
    threshold: float

    def probability(self, lexical: float, dense: float) -> float:
        """Return the probability that the documents answer the question."""
        logit = self.intercept + self.lexical * lexical + self.dense * dense
        return round(1 / (1 + math.exp(-logit)), 6)


OF_DOCUMENT = Weights(0.9215, 0.5456, -12.7443, 0.24)
"""Of surprise and gap."""
OF_ALL = Weights(-1.4827, -0.2649, 7.5715, 0.1236)
"""Of missing and similarity."""


@dataclass(frozen=True)
class WordCounts:
    """How often stems occur in some texts of `n_words` words, function words included."""

    counts: Mapping[str, int]
    n_words: int

    @classmethod
    def of(cls, texts: Iterable[str]) -> "WordCounts":
        """Count the words of texts."""
        spelled: Counter[str] = Counter()
        for text in texts:
            lower = text.lower()
            spelled.update(_WORD.findall(lower) if is_plain(lower) else words(lower))
        counts: Counter[str] = Counter()
        for word, n in spelled.items():
            counts[stem(word)] += n
        return cls(counts, spelled.total())

    def without(self, other: "WordCounts") -> "WordCounts":
        """Return the counts in the texts that are not among those of `other`."""
        counts = Counter(self.counts)
        counts.subtract(other.counts)
        return WordCounts(counts, self.n_words - other.n_words)


def surprise(question: str, scope: WordCounts, others: WordCounts) -> float | None:
    """Return by how much the question's words are more frequent than in other documents.

    None if the question is not judged.
    """
    wanted = _wanted(question, scope)

    def of(word: str) -> float:
        expected = scope.n_words * others.counts.get(word, 0) / others.n_words
        return math.log((scope.counts.get(word, 0) + _SMOOTHING) / (expected + _SMOOTHING))

    return sum(map(of, wanted)) if wanted else None


def missing(question: str, scope: WordCounts) -> float | None:
    """Return how rare the question's words are that do not occur; None if it is not judged."""
    wanted = _wanted(question, scope)
    absent = [-math.log(frequency(word)) for word in wanted if not scope.counts.get(word)]
    return sum(absent) / len(wanted) if wanted else None


def _wanted(question: str, scope: WordCounts) -> list[str]:
    """Return the stems of a question's own words; none if it is not judged."""
    every = {stem(word) for word in words(question)}
    n_shared = sum(scope.counts.get(word, 0) > 0 for word in every)
    if not question_aspects(question) or n_shared < _LEAST_SHARED * len(every):
        return []
    return [w for w in dict.fromkeys(content_stems(question)) if w not in CONTENTLESS]


def frequency(word: str) -> float:
    """Return the approximate share of a stem among the words of general English, by Zipf's law."""
    return max(_frequencies().get(word, 0.0), _RAREST)


@lru_cache(maxsize=1)
def _frequencies() -> Mapping[str, float]:
    vocabulary = default_tokenizer().get_vocab()
    harmonic = math.log(len(vocabulary) - _FIRST_WORD) + 0.5772
    shares: Counter[str] = Counter()
    for word, number in vocabulary.items():
        if number >= _FIRST_WORD and word.isalpha():
            shares[stem(word)] += 1 / ((number - _FIRST_WORD + 1) * harmonic)
    return shares


def answerability(
    questions: Questions, texts: Sequence[str], collection: Collection, read: ReadTexts
) -> pa.Table:
    """Return the rows of the table `answerability`, in the order of the questions.

    Parameters
    ----------
    texts : of the questions.
    collection : with embeddings.
    """
    assert questions.embeddings is not None
    assert collection.embeddings is not None
    ids, n_chunks = collection.chunk_ids, len(collection.chunk_ids)
    number_of = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    owner = np.repeat(np.arange(len(number_of)), np.diff(collection.starts))

    @cache
    def sample() -> tuple[np.ndarray, Sequence[str]]:
        chosen = np.unique(np.linspace(0, n_chunks - 1, _MOST_OTHERS).astype(int))
        return chosen, read([ids[i] for i in chosen.tolist()])

    @cache
    def all_words() -> WordCounts:
        return WordCounts.of(sample()[1])

    @cache
    def words_of(document: int) -> tuple[WordCounts, WordCounts | None]:
        first, last = collection.starts[document : document + 2].tolist()
        chosen, sampled = sample()
        inside = [t for i, t in zip(chosen, sampled, strict=True) if first <= i < last]
        others = all_words().without(WordCounts.of(inside))
        enough = others if others.n_words >= _LEAST_OTHER_WORDS else None
        return WordCounts.of(read(ids[first:last])), enough

    rows = []
    for i, query_id in enumerate(questions.ids):
        cosines = collection.embeddings @ questions.embeddings[i]
        document = number_of.get(questions.document_ids[i] or "")
        inside = np.flatnonzero(owner == document) if document is not None else np.arange(n_chunks)
        if not len(inside):
            continue
        nearest = inside[np.argsort(-cosines[inside], kind="stable")[:_NEAREST]]
        best = float(cosines[nearest[0]])
        counted, others = (None, None) if document is None else words_of(document)
        if counted is not None and others is not None:
            gap = max(0.0, float(np.delete(cosines, inside).max(initial=-1.0)) - best)
            weights, found = OF_DOCUMENT, (surprise(texts[i], counted, others), gap)
        else:
            near = WordCounts.of(read([ids[j] for j in nearest.tolist()]))
            weights, found = OF_ALL, (missing(texts[i], near), best)
        probability = None if found[0] is None else weights.probability(found[0], found[1])
        rows.append(
            {
                "query_id": query_id,
                "probability": probability,
                "is_answered": probability is None or probability >= weights.threshold,
                "chunk_id": ids[int(nearest[0])],
            }
        )
    return pa.Table.from_pylist(rows, TABLES["answerability"].schema)
