"""Dagster's door to `corpus.toml`: an asset's lineage names just the sections it read."""

import json
from collections.abc import Callable
from typing import Any

import dagster as dg

from gsum_resources.content_hash import hash_texts
from gsum_resources.lineage import Reads, Step
from gsum_resources.warehouse_io import step_of

SectionReader = Callable[[str, str], Any]
"""Corpus and section to its value, JSON-serializable; section "" is all of them."""


def section_version(value: object) -> str:
    """Return the version of one section's value."""
    return hash_texts([json.dumps(value, sort_keys=True, default=str)])


class SettingsReader:
    """Reads sections of `corpus.toml` on behalf of one step."""

    def __init__(self, read: SectionReader, reads: Reads, step: Step) -> None:
        self._read = read
        self._reads = reads
        self._step = step

    def section(self, corpus: str, name: str) -> Any:
        """Return the section as plain values; counts as an input from now on."""
        value = self._read(corpus, name)
        self._reads.other(self._step, f"settings:{name}/corpus={corpus}", section_version(value))
        return value


class SettingsIO(dg.IOManager):
    """Hands the observed asset `corpus_settings` to the assets that use it."""

    def __init__(self, read: SectionReader, reads: Reads) -> None:
        self._read = read
        self._reads = reads

    def version(self, corpus: str) -> str:
        """Return the version of all settings of a corpus together."""
        return section_version(self._read(corpus, ""))

    def load_input(self, context: dg.InputContext) -> SettingsReader:
        """Return a reader bound to the running step."""
        return SettingsReader(self._read, self._reads, step_of(context))

    def handle_output(self, context: dg.OutputContext, obj: object) -> None:
        """Settings are observed, never written."""
        raise NotImplementedError(f"{context.asset_key}: settings are observed")
