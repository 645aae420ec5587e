"""Dagster IO manager of `corpus.toml`: lineage records only the sections that an asset reads."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.overrides import Overrides
from gsum_resources.dagster_io.warehouse_io import step_of
from gsum_resources.store.input_key import InputKey, section_version
from gsum_resources.store.lineage import Reads, Step

SectionReader = Callable[[str, str], Any]
"""Returns the JSON-serializable value of a section of a corpus; section "" is all of them."""


class SettingsReader:
    """Reads sections of `corpus.toml` for one step.

    Parameters
    ----------
    asset : name of the step.
    usual : returns the sections that other runs read.
    """

    def __init__(
        self,
        read: SectionReader,
        reads: Reads,
        step: Step,
        asset: str = "",
        usual: SectionReader | None = None,
        overrides: Overrides | None = None,
    ) -> None:
        self._read, self._reads, self._step, self._asset = read, reads, step, asset
        self._usual, self._overrides = usual or read, overrides or Overrides(reads)

    def section(self, corpus: str, name: str) -> Any:
        """Return the section as plain values and record it as an input.

        Raises
        ------
        OverrideError
            If the run may not replace its values for this asset.
        """
        value, key = self._read(corpus, name), InputKey("settings", name, corpus)
        version = section_version(value)
        if self._usual is not self._read:
            usual = section_version(self._usual(corpus, name))
            self._overrides.note(self._step, self._asset, key, version, usual)
        self._reads.other(self._step, key, version)
        return value


class SettingsIO(dg.IOManager):
    """Gives the observed asset `corpus_settings` to the assets that use it.

    Parameters
    ----------
    usual : returns the sections as in `corpus.toml`; None: `read` does.
    """

    def __init__(
        self,
        read: SectionReader,
        reads: Reads,
        usual: SectionReader | None = None,
        overrides: Overrides | None = None,
    ) -> None:
        self._read, self._reads = read, reads
        self._usual, self._overrides = usual or read, overrides

    @property
    def is_replaced(self) -> bool:
        """Whether the run's configuration replaces settings."""
        return self._usual is not self._read

    def version(self, corpus: str) -> str:
        """Return the version of all settings in a corpus's `corpus.toml` together."""
        return section_version(self._usual(corpus, ""))

    @explained()
    def load_input(self, context: dg.InputContext) -> SettingsReader:
        """Return a reader for the running step."""
        asset = context.step_context.step.key.replace("__", "/")
        return SettingsReader(
            *(self._read, self._reads, step_of(context), asset, self._usual, self._overrides)
        )

    @explained()
    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Raise an error: settings are observed, never written."""
        raise NotImplementedError(f"{context.asset_key}: settings are observed")
