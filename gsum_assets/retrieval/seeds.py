"""Seeds of the graph methods: BM25 of a chunk and of its whole document, and the chunk's vector.

Chunks that have a quoted or capitalized phrase of the question, or that are the best for a part of
it, score higher. Weights were chosen on ODSum-Story's train stories, parts on united questions of
QMSum train (`docs/baselines.md`).
"""

import re
from collections.abc import Sequence

import numpy as np

from gsum_assets.retrieval.bm25 import KEPT_FROM, Bm25
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.hybrid import DENSE_WEIGHT, min_max, ranks
from gsum_assets.retrieval.loading import texts_at
from gsum_assets.retrieval.ranking import Retriever, Scores, best_of_nodes, first_of
from gsum_assets.retrieval.words import Words
from gsum_resources.scoring.unigram import content_words

_DOCUMENT_WEIGHT, _CHUNK_WEIGHT = 0.4, 0.2  # together the lexical weight of `hybrid`
_PHRASE_WEIGHT = 0.4
_SEARCHED = 300  # best chunks that are searched for phrases
_WORD = re.compile(r"[^\W_]+")
_BETWEEN = r"[\W_]+"
_CAPITALS = r"[A-Z][A-Z'’]+"
_PHRASES = (
    re.compile(r"[\"“‘]([^\"“”‘’]{3,80})[\"”’]"),
    re.compile(rf"\b({_CAPITALS}(?:[ ,-]+(?:{_CAPITALS}|A|I))+)"),
)
"""A quotation; words in capital letters."""
_PART_WEIGHT = 0.3
_PART_END = re.compile(r"(?<=[?.!])\s+|[;,]\s+(?:and\s+)?|\s+and\s+|\s+as well as\s+")
_PRONOUNS = frozenset(
    ["it", "its", "they", "them", "their", "he", "him", "his", "she", "her", "hers", "this"]
) | {"these", "those"}


def lexical_and_dense(collection: Collection, language: str) -> tuple[Retriever, Retriever]:
    """Return the two retrievers that are combined for seeds."""
    return Bm25(collection, Words(language, bigrams=True)), Dense(collection)


def keep_index(collection: Collection, language: str) -> None:
    """Compute the index of a large collection and keep it in its cache, if it has one.

    Before vectors are read: the index takes most memory while it is computed.
    """
    if collection.cache and sum(map(len, collection.chunk_texts)) >= KEPT_FROM:
        Bm25(collection, Words(language, bigrams=True))


class Seeds:
    """First passages, from which a graph method starts; `language` is a BCP 47 code."""

    def __init__(self, collection: Collection, language: str) -> None:
        self._collection = collection
        self._lexical, self._dense = lexical_and_dense(collection, language)

    def scores(self, questions: Questions) -> Scores:
        """Return scores between 0 and 1.7."""
        nodes = self._by_words(questions)
        nodes += DENSE_WEIGHT * min_max(self._dense.scores(questions).nodes)
        self._add_phrases(nodes, questions)
        self._add_parts(nodes, questions)
        return Scores(nodes, best_of_nodes(nodes, self._collection))

    def _by_words(self, questions: Questions) -> np.ndarray:
        """Return BM25 of documents and chunks, 0 to 0.6, `(n_questions, n_chunks)`."""
        lexical = self._lexical.scores(with_names_twice(questions))
        documents = np.repeat(min_max(lexical.documents), np.diff(self._collection.starts), axis=1)
        return _DOCUMENT_WEIGHT * documents + _CHUNK_WEIGHT * min_max(lexical.nodes)

    def _add_parts(self, nodes: np.ndarray, questions: Questions) -> None:
        """Add to chunks by the reciprocal of their best rank for a part, or for the whole."""
        for i, text in enumerate(questions.texts):
            if split := parts(text):
                found = self._by_words(Questions([""] * len(split), split, [None] * len(split)))
                of_all = ranks(np.vstack([nodes[i], found]))  # the whole keeps its first chunk
                nodes[i] += _PART_WEIGHT * (1 / of_all).max(axis=0)

    def _add_phrases(self, nodes: np.ndarray, questions: Questions) -> None:
        """Add to the scores of chunks that have a phrase of the question, the rarer the more."""
        asked = {i: found for i, text in enumerate(questions.texts) if (found := phrases(text))}
        if not asked:
            return
        best = {i: first_of(nodes[i], _SEARCHED) for i in asked}
        searched = np.unique(np.concatenate(list(best.values()))).tolist()
        text_of = dict(zip(searched, texts_at(self._collection.chunk_texts, searched), strict=True))
        n = nodes.shape[1]
        for i, named in asked.items():
            added = np.zeros(n)
            for phrase in named:
                words = _BETWEEN.join(map(re.escape, phrase))
                pattern = re.compile(rf"(?<!\w){words}(?!\w)", re.IGNORECASE)
                having = [chunk for chunk in best[i].tolist() if pattern.search(text_of[chunk])]
                if having and n > 1:
                    added[having] += np.log(n / len(having)) / np.log(n)
            nodes[i] += _PHRASE_WEIGHT * np.minimum(added, 1)


def with_names_twice(questions: Questions) -> Questions:
    """Return the questions with their names repeated at the end."""
    texts = [" ".join([text, *names(text)]) for text in questions.texts]
    return Questions(questions.ids, texts, questions.document_ids, questions.embeddings)


def names(text: str) -> Sequence[str]:
    """Return the capitalized words of a text after its first word."""
    return [word for word in _WORD.findall(text)[1:] if word[0].isupper()]


def parts(text: str) -> list[str]:
    """Return the parts of a question that asks for several things, at least two, or none.

    Parts end at a sentence, a comma, a semicolon or "and". Those of one content word, or with a
    pronoun, which stands for something in another part, are left out.
    """
    found = [part.strip() for part in _PART_END.split(text)]
    whole = [
        part
        for part in found
        if len(content_words(part)) > 1 and _PRONOUNS.isdisjoint(_WORD.findall(part.lower()))
    ]
    return whole if len(whole) > 1 else []


def phrases(text: str) -> list[tuple[str, ...]]:
    """Return the words of quotations and of words in capital letters, at least two words each."""
    found = [phrase for pattern in _PHRASES for phrase in pattern.findall(text)]
    split = [tuple(_WORD.findall(phrase)) for phrase in found]
    return list(dict.fromkeys(words for words in split if len(words) > 1))
