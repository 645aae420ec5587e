"""The methods of the family by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from gsum_assets.lightpal.settings import Initial


@dataclass(frozen=True)
class Variant:
    """What a method takes of the tables.

    Attributes
    ----------
    graph : see `passage_edges.py`.
    initial : baseline that retrieves first; None as the settings say.
    """

    graph: str = "context"
    initial: Initial | None = None


PASSAGE_WALK, PROMPTRANK = "passage_walk", "promptrank"

VARIANTS: Mapping[str, Variant] = MappingProxyType(
    {
        "lightpal": Variant(),
        "lightpal-hybrid": Variant(initial="hybrid"),
        "lightpal-embedding": Variant(graph="embedding"),
        PROMPTRANK: Variant(),
        PASSAGE_WALK: Variant(graph="walk"),
    }
)
