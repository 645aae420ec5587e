"""Methods of the family by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Literal

from gsum_assets.lightpal.settings import Initial


@dataclass(frozen=True)
class Method:
    """The graph and the initial retriever of a method.

    Attributes
    ----------
    graph : name of the graph (see `passage_edges.py`).
    initial : baseline that retrieves the initial passages; None: the one in the settings.
    follows : how context passages are found, by random walks or by paths that predict the question.
    """

    graph: str = "context"
    initial: Initial | None = None
    follows: Literal["walks", "paths"] = "walks"


PASSAGE_WALK = "passage_walk"

METHODS: Mapping[str, Method] = MappingProxyType(
    {
        "lightpal": Method(),
        "lightpal-hybrid": Method(initial="hybrid"),
        "lightpal-embedding": Method(graph="embedding"),
        "promptrank": Method(follows="paths"),
        "promptrank-embedding": Method(graph="embedding", follows="paths"),
        PASSAGE_WALK: Method(graph="walk"),
    }
)
