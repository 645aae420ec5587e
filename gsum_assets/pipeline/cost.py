"""What a step requests of a model by default, from which `gsum plan` estimates a run."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

Unit = Literal["passage", "document", "question", "generated question", "verdict"]
"""What the number of requests grows with."""


@dataclass(frozen=True)
class Cost:
    """Requests of a step to a model, as measured on the sample corpora.

    Attributes
    ----------
    unit : what the number of requests grows with; of questions for each method.
    requests : requests for one unit; of an embedder texts, of a scorer pairs.
    tokens_in, tokens_out : tokens of the prompt and of the reply of one request.
    lengths : settings with lengths of texts in word pieces, as "jerr.chunking.max_tokens": the
        unit is a text of each of these lengths instead of a passage.
    times : setting by which the number of requests is multiplied; of a list its length.
    methods : the methods that send these requests; empty: all that the step runs for.
    tokens_of : tokens of the prompt of methods that differ much from the others.
    whole_documents : whether an edit repeats all requests about a document; otherwise only those
        about passages that are new.
    """

    unit: Unit
    requests: float = 1.0
    tokens_in: float = 0.0
    tokens_out: float = 0.0
    lengths: Sequence[str] = ()
    times: str = ""
    methods: Collection[str] = ()
    tokens_of: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    whole_documents: bool = False

    def sends(self, method: str | None) -> bool:
        """Return whether a method sends these requests; None: the step has no methods."""
        return not (method and self.methods) or method in self.methods

    def tokens(self, method: str | None) -> float:
        """Return the tokens of the prompt of a method."""
        return self.tokens_of.get(method or "", self.tokens_in)
