"""What a check is."""

from collections.abc import Callable
from dataclasses import dataclass

from gsum_assets.checks.finding import Finding
from gsum_assets.checks.part import Part


@dataclass(frozen=True)
class Check:
    """One property of a table.

    Attributes
    ----------
    name : as the UI shows it.
    meaning : what holds when it passes, one sentence.
    look : looks at one corpus (and method).
    warns : failing means that a person should look at it, not that the data are broken.
    """

    name: str
    meaning: str
    run: Callable[[Part], Finding]
    warns: bool = False
