"""What a step requests of a model by default, from which `gsum plan` estimates a run."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

Unit = Literal["passage", "document", "question", "generated question", "verdict"]
"""What the number of requests grows with."""


@dataclass(frozen=True)
class Cost:
    """Requests of a step to a model, as measured on the sample corpora.

    Attributes
    ----------
    unit : what the number of requests grows with; of questions for each method.
    model : the model, by the name under which the step reads it.
    requests : requests for one unit; of an embedder texts.
    calls : calls for one request, more than one if replies are often malformed.
    tokens_in, tokens_out : tokens of all prompts and replies of one request.
    length : setting of the length of texts in word pieces, as "jerr.chunking.max_tokens": the
        unit is a text of this length; of a question each text of the corpus.
    text_in, text_out : further tokens of prompt and reply for each word piece of such a text.
    times : setting by which the number of requests is multiplied.
    methods : the methods that send these requests; empty: all that the step runs for.
    repeated : share of the requests of a method that others of its family have sent before.
    reads_all : setting of the longest prompt, if a question shows all texts up to this length.
    edited : how many times as many requests a passage has that is new in a document with others,
        since what other passages say is written again with it.
    whole_documents : whether an edit repeats all requests about a document; otherwise only those
        about passages that are new.
    """

    unit: Unit
    model: str = "language_model"
    requests: float = 1.0
    calls: float = 1.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    length: str = ""
    text_in: float = 0.0
    text_out: float = 0.0
    times: str = ""
    methods: Collection[str] = ()
    repeated: float = 0.0
    reads_all: str = ""
    edited: float = 1.0
    whole_documents: bool = False

    def sends(self, method: str | None) -> bool:
        """Return whether a method sends these requests; None: the step has no methods."""
        return not (method and self.methods) or method in self.methods
