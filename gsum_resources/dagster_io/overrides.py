"""Models and settings that the configuration of one run replaces.

What a run reads is in the footers of the files that it writes, so that a table of another model is
out of date by the models of `gsum.toml`, and the next refresh computes it again. What would mix
rows of two models in one table, or in the tables that are used together, is refused.
"""

from collections.abc import Callable
from dataclasses import dataclass, field

from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lineage import Reads, Step


class OverrideError(ValueError):
    """A run may not replace a model or setting; the message says why, and where to set it."""


@dataclass(frozen=True)
class Overrides:
    """The inputs that a run replaces, as far as its steps have read them.

    Attributes
    ----------
    reads : where they are noted, beside all inputs of the steps.
    objection : returns why an asset may not be written with another version of an input; None if
        it may.
    """

    reads: Reads = field(default_factory=Reads)
    objection: Callable[[str, InputKey], str | None] = lambda *_: None

    def note(self, step: Step, asset: str, key: InputKey, version: str, usual: str) -> None:
        """Note that a step reads an input of another version than other runs do, if it does.

        Raises
        ------
        OverrideError
            If the asset may not be written with it.
        """
        if version == usual:
            return
        if reason := self.objection(asset, key):
            raise OverrideError(reason)
        self.reads.replaced[step][key] = usual
