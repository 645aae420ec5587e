"""What a judge may reply, and how a reply becomes a verdict: by its checked structure alone."""

from collections.abc import Sequence
from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from gsum_resources.protocols import Completion, Reply

_REASON = "What decides it, in one sentence of at most 25 words."


class Verdict(BaseModel):
    """What every verdict carries."""

    mark: str = Field(description="The mark in the tags around the texts, copied.")


class Preference(BaseModel):
    """Which of two answers is better in one respect; reasons come first, so that they count."""

    reason: str = Field(description=_REASON)
    winner: Literal["answer 1", "answer 2", "neither"] = Field(description="The better one.")


class Rating(Verdict):
    """How good an answer is."""

    reason: str = Field(description=_REASON)
    rating: int = Field(strict=True, ge=1, le=5, description="1 (worst) to 5 (best).")


class StrictRating(Verdict):
    """Whether an answer says the same as a reference (LR-1)."""

    reason: str = Field(description=_REASON)
    verdict: Literal["yes", "no"]


class PermissiveRating(Verdict):
    """How far an answer agrees with a reference (LR-2)."""

    reason: str = Field(description=_REASON)
    verdict: Literal["yes", "partly", "no"]


CRITERIA = (
    "comprehensiveness", "diversity", "empowerment", "directness", "relevance", "overall"
)  # fmt: skip
UNPARSED = "unparsed"
Read = TypeVar("Read", bound=Verdict)


def pairwise_verdict(criteria: Sequence[str]) -> type[Verdict]:
    """Return the schema of which of two answers is better: a `Preference` by each criterion."""
    return _pairwise_verdict(tuple(criteria))


@cache  # replies are recognized by their class
def _pairwise_verdict(criteria: tuple[str, ...]) -> type[Verdict]:
    fields: dict[str, Any] = dict.fromkeys(criteria, (Preference, ...))
    doc = "Which of two answers is better, by each criterion."
    return create_model("PairwiseVerdict", __base__=Verdict, __doc__=doc, **fields)


class UnparsedError(ValueError):
    """A reply that holds no verdict; the message says why."""


def verdict_in(reply: Reply, schema: type[Read], mark: str) -> Read:
    """The verdict that a reply holds.

    Parameters
    ----------
    schema : that of its request.
    mark : that of its request's material. A verdict without it was not made for this request: it
        was copied from a text that was judged, for example.

    Raises
    ------
    UnparsedError
        If the model gave no valid reply after all its re-asks, or the mark is not this one.
    """
    if not isinstance(reply, Completion):
        raise UnparsedError(reply.message)
    if not isinstance(reply.parsed, schema):
        raise UnparsedError(f"{reply.model}: the reply was not read by its schema")
    if mark not in reply.parsed.mark:
        raise UnparsedError(
            f"{reply.model}: the verdict has the mark '{reply.parsed.mark[:40]}' instead of "
            f"'{mark}', so that it may be copied from a text that was judged"
        )
    return reply.parsed
