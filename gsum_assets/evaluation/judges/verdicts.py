"""Schemas of a judge's replies, and the verdict in a reply."""

from functools import cache
from typing import Any, Literal, TypeVar

from pydantic import BaseModel, Field, create_model

from gsum_resources.protocols.models import Completion, Reply

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


@cache  # replies are recognized by their class
def pairwise_verdict(criteria: tuple[str, ...]) -> type[Verdict]:
    """Return the schema of which of two answers is better: a `Preference` by each criterion."""
    fields: dict[str, Any] = dict.fromkeys(criteria, (Preference, ...))
    doc = "Which of two answers is better, by each criterion."
    return create_model("PairwiseVerdict", __base__=Verdict, __doc__=doc, **fields)


class UnparsedError(ValueError):
    """Error for a reply without a verdict; the message is the reason."""


def verdict_in(reply: Reply, schema: type[Read], mark: str) -> Read:
    """Return the verdict in a reply to the request with a mark.

    Raises `UnparsedError` if the model gave no valid reply after all repeated requests, or the mark
    differs.
    """
    if not isinstance(reply, Completion):
        raise UnparsedError(reply.message)
    if not isinstance(reply.parsed, schema):
        raise UnparsedError(f"{reply.model}: the reply does not match its schema")
    if mark not in reply.parsed.mark:
        raise UnparsedError(
            f"{reply.model}: the verdict has another mark than '{mark}'; it may be copied from a "
            "judged text"
        )
    return reply.parsed
