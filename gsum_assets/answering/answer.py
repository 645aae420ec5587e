"""The view of an answer that every rendering shows: text, sentences, sources, and its writer."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from gsum_assets.answering.sources import Source
from gsum_assets.evaluation.answer_sentences import Line, Sentence, with_numbers


@dataclass(frozen=True)
class Answer:
    """An answer and the passages it was written from.

    Attributes
    ----------
    text : the answer.
    passages : rows of `contexts`, best first.
    explanation : how the answer came about; "" unless requested.
    sources : what the answer was written from; the first ones are the passages in the order in
        which the model read them.
    model : the model that wrote the answer; "" if no passage was found.
    method : the method that found the passages.
    lines : the lines of the text, with the numbers of the sources of each sentence.
    question : the question as it was asked.
    understood : the question that was searched for and answered, if a follow-up was completed; else
        "".
    probability : that the documents answer the question; None: it was not judged. An answer that is
        refused has the most similar passage as its only source.
    is_refusal : whether the text says that the documents do not answer the question.
    usage : `calls`, `tokens_in`, `tokens_out`, `latency_s` and `cost_usd` of the language model, as
        in `summaries`; a reply that is stored counts as when it was requested.
    """

    text: str
    passages: Sequence[dict]
    explanation: str = ""
    sources: Sequence[Source] = field(default=())
    model: str = ""
    method: str = ""
    lines: Sequence[Line] = field(default=())
    question: str = ""
    understood: str = ""
    usage: Mapping[str, float] = field(default_factory=dict)
    corpus: str = ""
    probability: float | None = None
    is_refusal: bool = False

    @property
    def sentences(self) -> list[Sentence]:
        """The sentences of all lines."""
        return [sentence for line in self.lines for sentence in line.sentences]

    @property
    def numbered_text(self) -> str:
        """The text with the numbers of its sources behind each sentence."""
        return with_numbers(self.lines) if self.lines else self.text

    @property
    def writer(self) -> str:
        """Who wrote the answer, in words."""
        return f"written by {self.model}" if self.model else "no model was called"

    def passage(self, source: Source) -> Mapping[str, Any]:
        """Return the row of `contexts` of a source; an empty one if the model did not read it."""
        return next((row for row in self.passages if row["node_id"] == source.node_id), {})
