"""Declaration of a check."""

from collections.abc import Callable
from dataclasses import dataclass

from gsum_assets.pipeline.check_inputs import CheckInputs
from gsum_assets.pipeline.finding import Finding


@dataclass(frozen=True)
class Check:
    """One property of a table.

    Attributes
    ----------
    name : name in the UI.
    meaning : the property in one sentence.
    run : checks one corpus (and method).
    warns : whether a failure is a warning, and does not mean that the data are broken.
    """

    name: str
    meaning: str
    run: Callable[[CheckInputs], Finding]
    warns: bool = False
