"""Whether the documents answer a question: a probability from what they hold.

No feature needs labels of the corpus at hand. For a question about one document of several:

- `surprise`: the sum over the question's words of ln((n + s) / (expected + s)), where n counts a
  word in the document, and `expected` is its count in as much text of the other documents;
- `gap`: by how much the most similar passage of another document is more similar than its own.

For a question about all documents, or about the only one:

- `missing`: the mean over the question's words of -ln of their frequency in general English, where
  words that occur in the most similar passages count 0: a rare word that is missing weighs most;
- `lacks_name`: whether a word that the question writes with a capital, its first aside, occurs in
  none of these passages, unless their language writes all nouns so;
- `similarity`: cosine of the question and the most similar passage.

A question is not judged, and therefore answered, if it has no words of its own ("Summarize the
meeting"), or if hardly any of its words occurs, as where it is in another language. Cosines mean
something else with another embedder than the packaged one; with it a question about one document of
several is judged by `surprise` alone, and others are not judged.
"""

import math
import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.ranking import first_of
from gsum_resources.text.reading import CONTENTLESS, question_aspects
from gsum_resources.text.vocabulary import content_stems, is_plain, stem, words

ReadTexts = Callable[[list[str]], list[str]]
"""Returns the texts of chunks by their ids."""

PACKAGED = "56b0e4c1f213e079"
"""Digest of the packaged embedder's weights, which is in its identity."""
_WORD = re.compile(r"[^\W_]+")
_SMOOTHING = 0.3  # of a count
_FIRST_WORD = 1996  # id of the packaged tokenizer's first word; they are ordered by frequency
_RAREST = 2e-6  # frequency of a word that this vocabulary lacks
_LEAST_SHARED = 0.25  # of a question's words, else it is in another language
_LEAST_OTHER_WORDS = 5_000  # of other documents, to compare with
_MOST_OTHERS = 2_000  # passages of all documents that are counted, evenly spread
_NAME = re.compile(r"(?<=[\w,'’\"”)] )[\"“'‘(]*([^\W\d_][^\W_]+)")  # after another word
_INSIDE = re.compile(r"(?<=[\w,] )[^\W\d_]\w*")  # a word that begins no sentence
_MOST_CAPITALS = 0.2  # of words inside sentences; German has a third, English a tenth
_NEAREST = 6  # passages in which the words of a question over all documents are looked for


@dataclass(frozen=True)
class Weights:
    """Logistic regression of features, and the probability from which a question is answered.

    Fitted with the packaged embedder. `OF_DOCUMENT`: on 32 meetings of QMSum train and 20 stories
    of SQuALITY train, each question asked of its own document and of all others. `OF_ALL`: on 13
    of these meetings and the stories, each question asked of its own document alone and of the
    others alone, and of all documents of its own set and of the other set. Sets and answers weigh
    equally. The threshold is where 3% of the questions that are answered are refused, in both sets
    together (`OF_DOCUMENT`) or in the set and scope with most (`OF_ALL`).
    """

    intercept: float
    lexical: float
    dense: float
    threshold: float
    name: float = 0.0

    def verdict(self, lexical: float, dense: float, lacks_name: bool = False) -> dict[str, Any]:
        """Return the probability of an answer in the documents, and whether it suffices."""
        logit = self.intercept + self.lexical * lexical + self.dense * dense
        logit += self.name * lacks_name
        probability = round(1 / (1 + math.exp(-logit)), 6)
        is_answered = probability >= self.threshold
        return {
            "probability": probability,
            "threshold": self.threshold,
            "is_answered": is_answered,
        }


OF_DOCUMENT = Weights(0.9215, 0.5456, -12.7443, 0.24)
"""Of surprise and gap."""
BY_WORDS = Weights(-0.4289, 0.4989, 0.0, 0.2225)
"""Of surprise alone. Fitted on 80 meetings of QMSum train, each question asked of its own document
and of three others; 3% of the own are refused."""
OF_ALL = Weights(-2.3639, -0.1739, 10.103, 0.1076, name=-2.245)
"""Of missing, similarity and lacks_name."""


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


def lacks_name(question: str, texts: Sequence[str], scope: WordCounts) -> bool:
    """Return whether a name in a question occurs in none of the texts, which `scope` counts."""
    names = {stem(name.lower()) for name in _NAME.findall(question) if name[0].isupper()}
    if all(scope.counts.get(name) for name in names):
        return False
    inside = [word for text in texts for word in _INSIDE.findall(text)]
    return sum(word[0].isupper() for word in inside) <= _MOST_CAPITALS * len(inside)


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
    shares: dict[str, float] = defaultdict(float)
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

    Raises
    ------
    ValueError
        If the vectors of questions and passages have different lengths.
    """
    assert questions.embeddings is not None
    assert collection.embeddings is not None
    lengths = questions.embeddings.shape[1], collection.embeddings.shape[1]
    if len(set(lengths)) > 1 and len(collection.chunk_ids):
        raise ValueError(
            f"answerability: question vectors have {lengths[0]} dimensions, passage vectors "
            f"{lengths[1]}; materialize chunk_embeddings with the questions' embedding model"
        )
    ids, documents = collection.chunk_ids, collection.document_ids
    words_by = _Others(collection, read)
    rows, over_all = [], {}
    for i, query_id in enumerate(questions.ids):
        cosines = collection.cosines(questions.embeddings[i])
        document = None
        if document_id := questions.document_ids[i]:
            document = bisect_left(documents, document_id)
            if document == len(documents) or documents[document] != document_id:
                continue  # it has no passage
        bounds = (0, -1) if document is None else (document, document + 1)
        first, last = collection.starts[list(bounds)].tolist()
        if not len(own := cosines[first:last]):
            continue
        nearest = first + first_of(own, _NEAREST)
        row = {"query_id": query_id, "probability": None, "threshold": None, "is_answered": True}
        rows.append(row | {"chunk_id": ids[int(nearest[0])]})
        words_of = None if document is None else words_by.of(document)
        if words_of is None:
            over_all[len(rows) - 1] = texts[i], float(own.max()), nearest
            continue
        gap = max(0.0, float(np.delete(cosines, slice(first, last)).max()) - float(own.max()))
        if (found := surprise(texts[i], *words_of)) is not None:
            rows[-1] |= OF_DOCUMENT.verdict(found, gap)
    near = sorted({ids[int(j)] for _, _, nearest in over_all.values() for j in nearest})
    text_of = dict(zip(near, read(near), strict=True)) if near else {}
    for place, (text, similarity, nearest) in over_all.items():
        read_texts = [text_of[ids[int(j)]] for j in nearest]
        counted = WordCounts.of(read_texts)
        if (found := missing(text, counted)) is not None:
            lacking = lacks_name(text, read_texts, counted)
            rows[place] |= OF_ALL.verdict(found, similarity, lacking)
    return pa.Table.from_pylist(rows, TABLES["answerability"].schema)


def answerability_by_words(
    questions: Questions, texts: Sequence[str], collection: Collection, read: ReadTexts
) -> pa.Table:
    """Return the rows of `answerability` of questions that words alone judge, without vectors.

    The passage of a row is the one with most of the question's words.
    """
    number_of = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    words_by, rows = _Others(collection, read), []
    for query_id, text, document_id in zip(
        questions.ids, texts, questions.document_ids, strict=True
    ):
        document = number_of.get(document_id or "")
        words_of = None if document is None else words_by.of(document)
        if document is None or not words_of or (found := surprise(text, *words_of)) is None:
            continue
        ids = list(collection.chunk_ids[slice(*collection.starts[document : document + 2])])
        wanted = _wanted(text, words_of[0])
        held = [WordCounts.of([passage]).counts for passage in read(ids)]
        shared = [sum(word in counts for word in wanted) for counts in held]
        row = {"query_id": query_id, "chunk_id": ids[int(np.argmax(shared))]}
        rows.append(row | BY_WORDS.verdict(found, 0.0))
    return pa.Table.from_pylist(rows, TABLES["answerability"].schema)


class _Others:
    """Words of a document and of the others, which are counted in a sample."""

    def __init__(self, collection: Collection, read: ReadTexts) -> None:
        self._ids, self._starts, self._read = collection.chunk_ids, collection.starts, read
        self._chosen = np.unique(np.linspace(0, len(self._ids) - 1, _MOST_OTHERS).astype(int))
        self.of = cache(self._of)

    @cached_property
    def _texts(self) -> list[str]:
        return self._read([self._ids[int(i)] for i in self._chosen])

    @cached_property
    def _all(self) -> WordCounts:
        return WordCounts.of(self._texts)

    def _of(self, document: int) -> tuple[WordCounts, WordCounts] | None:
        """Return the counts; None if the others have too few words to compare with."""
        first, last = self._starts[document : document + 2].tolist()
        inside = [t for i, t in zip(self._chosen, self._texts, strict=True) if first <= i < last]
        others = self._all.without(WordCounts.of(inside))
        if others.n_words < _LEAST_OTHER_WORDS:
            return None
        return WordCounts.of(self._read(list(self._ids[first:last]))), others
