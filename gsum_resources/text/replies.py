"""Results of the classical tasks for one request by name, each computed on demand."""

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from gsum_resources.protocols.models import Request
from gsum_resources.protocols.results import Relationship
from gsum_resources.text.entities import extract_entities, relate_elements
from gsum_resources.text.facts import extract_facts
from gsum_resources.text.filling import Share
from gsum_resources.text.keyphrases import (
    distinct,
    keyphrases,
    keywords,
    topic_title,
    write_question,
)
from gsum_resources.text.periods import date_of, version_of
from gsum_resources.text.question_kinds import rule_of, words_of_answer
from gsum_resources.text.ranking import (
    centrality,
    helpfulness,
    least_alike,
    relevance,
    worth_of_sentences,
)
from gsum_resources.text.reading import Reading
from gsum_resources.text.sentences import render_sentences
from gsum_resources.text.summarize import SummarySettings, choose_sentences
from gsum_resources.text.vocabulary import word_set

_NAMES = {
    "summary": ("answer", "response", "text", "synopsis", "report", "content", "refined_text"),
    "question": ("query",),
    "topic": ("title", "name", "label", "theme"),
    "score": (
        "relevance",
        "rating",
        "helpfulness",
        "importance",
        "relevance_score",
        "importance_score",
    ),
    "reason": ("explanation", "rationale", "rating_explanation", "evidence", "quote"),
    "entities": ("nodes",),
    "relationships": ("edges",),
    "relations": (),
    "facts": ("atomic_facts", "statements"),
    "claims": (),
    "findings": ("points", "key_points"),
    "elements": ("core_elements", "key_elements", "keyphrases", "topics"),
    "keywords": (),
    "references": (),
    "pause": (),
}
_CANONICAL = {alias: name for name, aliases in _NAMES.items() for alias in (name, *aliases)}


class Replies:
    """Results of the classical tasks for one request."""

    def __init__(self, request: Request, reading: Reading, settings: SummarySettings) -> None:
        self._request = request
        self._reading = reading
        self._settings = settings

    def __call__(self, name: str) -> Any:
        """Return the value of a field name; None if no task computes it."""
        canonical = _CANONICAL.get(name)
        return None if canonical is None else getattr(self, canonical)

    @cached_property
    def importance(self) -> Any:
        """Centrality of the sentences, `(n_sentences,)`."""
        return centrality(self._reading.vectors)

    @cached_property
    def chosen(self) -> Any:
        """Sentences of the summary."""
        weights = np.array(self._request.weights)
        known = weights[np.array(self._passages_of_sentences) - 1] if len(weights) else None
        request, n_words = self._request, self._request.max_words
        if request.task == "answer":
            n_words = words_of_answer(request.question, n_words, request.is_brief)
        return choose_sentences(self._reading, n_words, self._settings, known, request.is_brief)

    @cached_property
    def summary(self) -> str:
        """Summary of the passages for the question."""
        rule, is_brief = rule_of(self._request.question), self._request.is_brief
        named = is_brief and rule.kind in ("comparison", "chronology")
        ordered = self.chosen
        if named:  # by date, and without one behind
            ordered = sorted(ordered, key=lambda s: (not date_of(s.source), version_of(s.source)))
        return render_sentences(ordered, with_sources=named)

    @cached_property
    def question(self) -> str:
        """A question that the passages answer; "" if they have no keyphrase."""
        request = self._request
        return write_question(
            self._reading.sentences, self.importance, request.temperature, request.seed
        )

    @cached_property
    def topic(self) -> str:
        """Short title."""
        return topic_title(self._reading)

    @cached_property
    def score(self) -> Share:
        """Helpfulness for the question."""
        return Share(helpfulness(self._reading))

    @cached_property
    def reason(self) -> str:
        """The sentence that supports the score most."""
        best = choose_sentences(self._reading, 40, self._settings)[:1]
        return best[0].text if best else ""

    @cached_property
    def _network(self) -> Any:
        return extract_entities(self._reading.sentences, self.importance)

    @cached_property
    def entities(self) -> list[dict[str, Any]]:
        """Names, types and descriptions."""
        return [entity.model_dump() for entity in self._network.entities]

    @cached_property
    def relationships(self) -> list[dict[str, Any]]:
        """Pairs of entities; strengths as shares."""
        return _graded(self._network.relationships)

    @cached_property
    def relations(self) -> list[dict[str, Any]]:
        """Pairs of elements if the schema requests those, else of entities."""
        schema = self._request.schema
        if not schema or "elements" not in map(_CANONICAL.get, schema.model_fields):
            return self.relationships
        return _graded(relate_elements(self.elements, self._reading.sentences, self.importance))

    @cached_property
    def facts(self) -> list[dict[str, Any]]:
        """Statements with their elements."""
        extracted = extract_facts(self._reading.sentences, self.importance)
        return [fact.model_dump() for fact in extracted.facts]

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Statements about the entities, each with the entities that it names."""
        names = {entity["name"] for entity in self.entities}
        claims = []
        for fact in self.facts:
            about = [element for element in fact["elements"] if element in names]
            if about:
                ends = {"subject": about[0], "object": about[1] if about[1:] else ""}
                claim = {"description": fact["statement"], "type": "statement", "status": "true"}
                claims.append({**fact, **claim, **ends})
        return claims

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """The summary's sentences, each with its subject, its passage, and how much it helps."""
        worth = worth_of_sentences(self._reading)
        worth_of = dict(zip((s.text for s in self._reading.sentences), worth, strict=True))
        return [
            {
                "name": s.speaker or s.text.split(",")[0],
                "statement": render_sentences([s]),
                "description": render_sentences([s]),
                "references": [self._passage_of(s.text)],
                "score": Share(worth_of.get(s.text, worth.max())),  # of one that is cut: the best
            }
            for s in self.chosen
        ]

    @cached_property
    def _passage_words(self) -> list[frozenset[str]]:
        return [word_set(passage) for passage in self._request.passages]

    def _passage_of(self, sentence: str) -> int:
        """Return the number, from 1, of the passage with most of a sentence's words."""
        wanted = word_set(sentence)
        shared = [
            (sentence in passage, len(wanted & held))
            for passage, held in zip(self._request.passages, self._passage_words, strict=True)
        ]
        return 1 + max(range(len(shared)), key=lambda i: shared[i])

    @cached_property
    def _passages_of_sentences(self) -> list[int]:
        return [self._passage_of(sentence.text) for sentence in self._reading.sentences]

    @cached_property
    def elements(self) -> list[str]:
        """The three best keyphrases."""
        ranked = keyphrases(self._reading.sentences, self.importance)
        return [keyphrase.phrase.core for keyphrase in distinct(ranked, 3)]

    @cached_property
    def keywords(self) -> list[str]:
        """Search terms: keyphrases, and words outside of them."""
        return keywords(self._reading.sentences)

    @cached_property
    def references(self) -> list[int]:
        """Numbers of the passages that help with the question, by their best sentences."""
        reading = self._reading
        is_specific = len(reading.aspects) > 0
        worth = relevance(reading.vectors, reading.aspects) if is_specific else self.importance
        best: dict[int, float] = {}
        for passage, value in zip(self._passages_of_sentences, worth, strict=True):
            best[passage] = max(best.get(passage, 0.0), float(value))
        ranked = sorted(best, key=lambda passage: (-best[passage], passage))
        return [passage for passage in ranked if best[passage] >= self._settings.unrelated]

    @cached_property
    def pause(self) -> int:
        """Number of the passage after which the text differs most from before."""
        n_passages = len(self._request.passages)
        return least_alike(self._reading.vectors, self._passages_of_sentences, n_passages)


def _graded(relationships: Sequence[Relationship]) -> list[dict[str, Any]]:
    """Return relationships with strengths as shares."""
    return [{**r.model_dump(), "strength": Share((r.strength - 1) / 9)} for r in relationships]
