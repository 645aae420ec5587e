"""Model, tokens, seconds and cost of replies, and the reason of failed ones."""

from collections.abc import Mapping
from typing import Any

from gsum_resources.protocols.models import CompletionError, Reply


def why(reply: Reply) -> str:
    """Return why a reply cannot be used."""
    return reply.message if isinstance(reply, CompletionError) else "the reply is empty"


def spent(reply: Reply) -> Mapping[str, Any]:
    """Return model, calls, tokens, seconds and cost of a reply, as columns of the tables."""
    return {
        "model": reply.model,
        "calls": reply.calls,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
        "latency_s": reply.latency_s,
        "cost_usd": reply.cost_usd,
    }


def added(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sum of the usage of two replies; the model is that of the second."""
    return {
        name: value if isinstance(value, str) else value + first[name]
        for name, value in second.items()
    }


NO_USAGE: Mapping[str, Any] = {
    "model": "",
    "calls": 0,
    "tokens_in": 0,
    "tokens_out": 0,
    "latency_s": 0.0,
    "cost_usd": 0.0,
}
