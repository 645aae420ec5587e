"""One request's values by name, each computed when asked for: what `filling` draws from."""

from functools import cached_property
from typing import Any

from gsum_resources.llm.classical.entities import extract_entities
from gsum_resources.llm.classical.facts import extract_facts
from gsum_resources.llm.classical.filling import Share
from gsum_resources.llm.classical.keyphrases import distinct, keyphrases
from gsum_resources.llm.classical.question import write_question
from gsum_resources.llm.classical.ranking import centrality
from gsum_resources.llm.classical.reading import Reading
from gsum_resources.llm.classical.relevance import helpfulness
from gsum_resources.llm.classical.rendering import render_sentences
from gsum_resources.llm.classical.summarize import SummarySettings, choose_sentences
from gsum_resources.llm.classical.topics import topic_title
from gsum_resources.llm.classical.vocabulary import word_set
from gsum_resources.protocols import Request

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
    "relationships": ("relations", "edges"),
    "facts": ("atomic_facts", "statements"),
    "claims": (),
    "findings": ("points", "key_points"),
    "elements": ("core_elements", "key_elements", "keywords", "keyphrases", "topics"),
}
_CANONICAL = {other: name for name, others in _NAMES.items() for other in (name, *others)}


class Replies:
    """What the classical tasks have to say about one request."""

    def __init__(self, request: Request, reading: Reading, settings: SummarySettings) -> None:
        self._request = request
        self._reading = reading
        self._settings = settings

    def __call__(self, name: str) -> Any:
        """The value for a field of this name; None where no task gives one."""
        canonical = _CANONICAL.get(name)
        return None if canonical is None else getattr(self, canonical)

    @cached_property
    def importance(self) -> Any:
        """Centrality of the sentences, `(n_sentences,)`."""
        return centrality(self._reading.vectors)

    @cached_property
    def chosen(self) -> Any:
        """Sentences of the summary."""
        return choose_sentences(self._reading, self._request.max_words, self._settings)

    @cached_property
    def summary(self) -> str:
        """Summary of the passages for the question."""
        return render_sentences(self.chosen)

    @cached_property
    def question(self) -> str:
        """A question which the passages answer; "" if they have no keyphrase."""
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
        """The one sentence that speaks most for the score."""
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
        found = [relationship.model_dump() for relationship in self._network.relationships]
        return [{**r, "strength": Share((r["strength"] - 1) / 9)} for r in found]

    @cached_property
    def facts(self) -> list[dict[str, Any]]:
        """Statements with their elements."""
        found = extract_facts(self._reading.sentences, self.importance)
        return [fact.model_dump() for fact in found.facts]

    @cached_property
    def claims(self) -> list[dict[str, Any]]:
        """Statements about the entities, each with those that it names."""
        names = {entity["name"] for entity in self.entities}
        found = []
        for fact in self.facts:
            about = [element for element in fact["elements"] if element in names]
            if about:
                ends = {"subject": about[0], "object": about[1] if about[1:] else ""}
                claim = {"description": fact["statement"], "type": "statement", "status": "true"}
                found.append({**fact, **claim, **ends})
        return found

    @cached_property
    def findings(self) -> list[dict[str, Any]]:
        """The summary's sentences, each with its subject and the passage that says it."""
        return [
            {
                "name": s.speaker or s.text.split(",")[0],
                "statement": s.text,
                "description": s.text,
                "references": [self._passage_of(s.text)],
            }
            for s in self.chosen
        ]

    def _passage_of(self, sentence: str) -> int:
        """Number, from 1, of the passage that has most of a sentence's words."""
        wanted = word_set(sentence)
        shared = [
            (sentence in passage, len(wanted & word_set(passage)))
            for passage in self._request.passages
        ]
        return 1 + max(range(len(shared)), key=lambda place: shared[place])

    @cached_property
    def elements(self) -> list[str]:
        """The three best keyphrases."""
        ranked = keyphrases(self._reading.sentences, self.importance)
        return [keyphrase.phrase.core for keyphrase in distinct(ranked, 3)]
