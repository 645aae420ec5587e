"""Dagster IO manager of `corpus.toml`: lineage records only the sections that an asset reads."""

from collections.abc import Callable
from typing import Any

import dagster as dg

from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.warehouse_io import step_of
from gsum_resources.store.input_key import InputKey, section_version
from gsum_resources.store.lineage import Reads, Step

SectionReader = Callable[[str, str], Any]
"""Returns the JSON-serializable value of a section of a corpus; section "" is all of them."""


class SettingsReader:
    """Reads sections of `corpus.toml` for one step."""

    def __init__(self, read: SectionReader, reads: Reads, step: Step) -> None:
        self._read = read
        self._reads = reads
        self._step = step

    def section(self, corpus: str, name: str) -> Any:
        """Return the section as plain values and record it as an input."""
        value = self._read(corpus, name)
        self._reads.other(self._step, InputKey("settings", name, corpus), section_version(value))
        return value


class SettingsIO(dg.IOManager):
    """Gives the observed asset `corpus_settings` to the assets that use it."""

    def __init__(self, read: SectionReader, reads: Reads) -> None:
        self._read = read
        self._reads = reads

    def version(self, corpus: str) -> str:
        """Return the version of all settings of a corpus together."""
        return section_version(self._read(corpus, ""))

    @explained()
    def load_input(self, context: dg.InputContext) -> SettingsReader:
        """Return a reader for the running step."""
        return SettingsReader(self._read, self._reads, step_of(context))

    @explained()
    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Raise an error: settings are observed, never written."""
        raise NotImplementedError(f"{context.asset_key}: settings are observed")
