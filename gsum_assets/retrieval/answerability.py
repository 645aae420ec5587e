"""Whether the documents answer a question: a probability from what they hold.

The name of a document counts as what it holds. A question is not judged, and therefore answered, if
it has no words of its own ("Summarize the meeting"), or if hardly any of its words occurs, as where
it is in another language. With another embedder than the packaged one, words alone judge questions
about one document of several.
"""

import math
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.corpus.chunk import default_tokenizer
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.loading import collection_of
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

    Fitted with the packaged embedder on QMSum train and SQuALITY train, each question asked of its
    own document and of others. The threshold refuses 3% of the questions that are answered.
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
        return {
            "probability": probability,
            "threshold": self.threshold,
            "is_answered": probability >= self.threshold,
        }


OF_DOCUMENT = Weights(0.9215, 0.5456, -12.7443, 0.24)
"""Of surprise and gap."""
BY_WORDS = Weights(-0.4289, 0.4989, 0.0, 0.2225)
"""Of surprise alone, on QMSum train."""
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
        for lower in map(str.lower, texts):
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
    """Return the sum over the question's words of ln((n + s) / (expected + s)).

    n counts a word in the document, and `expected` in as much text of the others. None if the
    question is not judged.
    """
    wanted = _wanted(question, scope)

    def of(word: str) -> float:
        expected = scope.n_words * others.counts.get(word, 0) / others.n_words
        return math.log((scope.counts.get(word, 0) + _SMOOTHING) / (expected + _SMOOTHING))

    return sum(map(of, wanted)) if wanted else None


def missing(question: str, scope: WordCounts) -> float | None:
    """Return the mean over the question's words of -ln of their frequency in general English.

    Words that occur in `scope` count 0. None if the question is not judged.
    """
    wanted = _wanted(question, scope)
    shares = _frequencies()
    absent = [
        -math.log(max(shares.get(word, 0.0), _RAREST))
        for word in wanted
        if not scope.counts.get(word)
    ]
    return sum(absent) / len(wanted) if wanted else None


def lacks_name(question: str, texts: Sequence[str], scope: WordCounts) -> bool:
    """Return whether a name in a question occurs in none of the texts, which `scope` counts.

    Names have capitals, which count only where the language does not write all nouns so.
    """
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


@cache
def _frequencies() -> Mapping[str, float]:
    """Return the approximate share of stems among the words of general English, by Zipf's law."""
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
    """Return the rows of the table `answerability`, in the order of the questions of these texts.

    Raises `ValueError` if the vectors of questions and passages have different lengths.
    """
    assert questions.embeddings is not None
    assert collection.embeddings is not None
    lengths = questions.embeddings.shape[1], collection.embeddings.shape[1]
    if len(set(lengths)) > 1 and len(collection.chunk_ids):
        raise ValueError(
            f"answerability: question vectors have {lengths[0]} dimensions, passage vectors "
            f"{lengths[1]}; materialize chunk_embeddings with the questions' embedding model"
        )
    ids, counts_of = collection.chunk_ids, _word_counts(collection, read)
    number_of = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    rows, over_all = [], {}
    for i, (query_id, document_id) in enumerate(
        zip(questions.ids, questions.document_ids, strict=True)
    ):
        document = number_of.get(document_id) if document_id else None
        if document is None and document_id:
            continue  # it has no passage
        cosines = collection.cosines(questions.embeddings[i])
        bounds = (0, -1) if document is None else (document, document + 1)
        first, last = collection.starts[list(bounds)].tolist()
        if not len(own := cosines[first:last]):
            continue
        chunks = (first + first_of(own, _NEAREST)).tolist()
        nearest = [ids[j] for j in chunks]
        row = {"query_id": query_id, "probability": None, "threshold": None, "is_answered": True}
        rows.append(row | {"chunk_id": nearest[0]})
        counts = None if document is None else counts_of(document)
        if counts is None:
            names = collection.names_of(chunks)
            over_all[len(rows) - 1] = texts[i], float(own.max()), nearest, names
            continue
        gap = max(0.0, float(np.delete(cosines, slice(first, last)).max()) - float(own.max()))
        if (value := surprise(texts[i], *counts)) is not None:
            rows[-1] |= OF_DOCUMENT.verdict(value, gap)
    near = sorted({chunk_id for *_, nearest, _ in over_all.values() for chunk_id in nearest})
    text_of = dict(zip(near, read(near), strict=True)) if near else {}
    for index, (text, similarity, nearest, names) in over_all.items():
        passages = [text_of[chunk_id] for chunk_id in nearest]
        counts = WordCounts.of([*passages, *names])
        if (value := missing(text, counts)) is not None:
            lacking = lacks_name(text, passages, counts)
            rows[index] |= OF_ALL.verdict(value, similarity, lacking)
    return pa.Table.from_pylist(rows, TABLES["answerability"].schema)


def answerability_by_words(
    questions: Questions, texts: Sequence[str], collection: Collection, read: ReadTexts
) -> pa.Table:
    """Return the rows of `answerability` by words alone, with the passage that shares most."""
    number_of = {document_id: i for i, document_id in enumerate(collection.document_ids)}
    counts_of, rows = _word_counts(collection, read), []
    for query_id, text, document_id in zip(
        questions.ids, texts, questions.document_ids, strict=True
    ):
        document = number_of.get(document_id or "")
        counts = None if document is None else counts_of(document)
        if document is None or not counts or (value := surprise(text, *counts)) is None:
            continue
        ids = list(collection.chunk_ids[slice(*collection.starts[document : document + 2])])
        wanted = _wanted(text, counts[0])
        passages = [WordCounts.of([passage]).counts for passage in read(ids)]
        shared = [sum(word in passage for word in wanted) for passage in passages]
        row = {"query_id": query_id, "chunk_id": ids[int(np.argmax(shared))]}
        rows.append(row | BY_WORDS.verdict(value, 0.0))
    return pa.Table.from_pylist(rows, TABLES["answerability"].schema)


def _word_counts(
    collection: Collection, read: ReadTexts
) -> Callable[[int], tuple[WordCounts, WordCounts] | None]:
    """Return a function that counts words of a document, and of the others, in a sample of these.

    It returns None if the others have too few words to compare with.
    """
    ids, starts = collection.chunk_ids, collection.starts
    sampled: list[int] = np.unique(np.linspace(0, len(ids) - 1, _MOST_OTHERS).astype(int)).tolist()

    @cache
    def sample() -> tuple[list[str], WordCounts]:
        texts = read([ids[i] for i in sampled])
        return texts, WordCounts.of(texts)

    @cache
    def counts_of(document: int) -> tuple[WordCounts, WordCounts] | None:
        first, last = starts[document : document + 2].tolist()
        texts, counts = sample()
        inside = [t for i, t in zip(sampled, texts, strict=True) if first <= i < last]
        others = counts.without(WordCounts.of(inside))
        is_enough = others.n_words >= _LEAST_OTHER_WORDS
        own = [*read(list(ids[first:last])), *collection.names_of([first])]
        return (WordCounts.of(own), others) if is_enough else None

    return counts_of


def _answerability(inputs: Inputs) -> Result:
    queries = inputs.table("queries")
    if not queries.num_rows:
        return Result(TABLES["answerability"].empty())

    def read(chunk_ids: list[str]) -> list[str]:
        rows = inputs.tables["chunks"].rows_with("chunk_id", chunk_ids)
        texts = dict(zip(rows["chunk_id"].to_pylist(), rows["text"].to_pylist(), strict=True))
        return [texts[chunk_id] for chunk_id in chunk_ids]

    texts = queries["text"].to_pylist()
    if PACKAGED in inputs.model("embedding_model").identity:
        questions = Questions.from_tables(queries, inputs.table("query_embeddings"))
        rows = answerability(questions, texts, collection_of(inputs, keep_indexes=True), read)
    else:
        collection = collection_of(inputs, with_vectors=False)
        rows = answerability_by_words(Questions.from_tables(queries), texts, collection, read)
    return Result(rows, shown=lambda: {"answerability": separation(rows, queries)})


def separation(rows: pa.Table, queries: pa.Table) -> Mapping[str, Any]:
    """Return how many questions are refused and, where both kinds are marked, the shares of each.

    `refused_rightly` is that of unanswerable questions, `refused_wrongly` that of the others.
    """
    marks = dict(zip(*(queries[n].to_pylist() for n in ("query_id", "is_answerable")), strict=True))
    refused = np.array([not answered for answered in rows["is_answered"].to_pylist()], bool)
    unanswerable = np.array([marks[q] is False for q in rows["query_id"].to_pylist()], bool)
    shown: dict[str, Any] = {"refused": int(refused.sum())}
    if unanswerable.any() and not unanswerable.all():
        shown["refused_rightly"] = float(refused[unanswerable].mean())
        shown["refused_wrongly"] = float(refused[~unanswerable].mean())
    return shown


ANSWERABILITY = Step(
    _answerability,
    {
        "answerability": "Whether the documents answer each question, judged before any method "
        "answers it, and the most similar passage."
    },
    (
        *("queries", "query_embeddings", "documents", "chunks", "chunk_embeddings"),
        "embedding_model",
    ),
    pool=None,
    code_version="3",
)
