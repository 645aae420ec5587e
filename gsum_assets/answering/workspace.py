"""An opened home: store, models, settings and prompts of its corpora, without Dagster."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from typing import Any

from pydantic import BaseModel

from gsum_assets.pipeline.corpus_settings import (
    CorpusSettings,
    checked_section,
    load_settings,
)
from gsum_assets.pipeline.prompts import PROMPTS_FOLDER, PromptFolder, overrides, prompt_text
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import FAMILIES, PROMPTS
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_resources.endpoint.connection import OnWords
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.store.lazy import Kept, Lazy, lazy_rows
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Table

_SETTINGS = {family.name: family.settings for family in FAMILIES if family.settings}


@dataclass(frozen=True)
class Workspace:
    """Store, models and settings of one home."""

    home: Home
    store: ParquetStore
    models: Models
    kept: Kept = field(default_factory=Kept, init=False, repr=False, compare=False)

    def kept_rows(self, table: Table, partitions: Sequence[Partition]) -> Lazy:
        """Return the rows of some partitions, which stay in memory until they are written again.

        What a process asked before is answered again without reading more of the files than their
        footers; rows that are selected by a value are read.
        """
        rows = lazy_rows(self.store, table, partitions)

        def kept() -> Lazy:
            columns = cache(rows.columns)
            return Lazy(
                cache(rows.get),
                lambda names: columns(tuple(names)),
                rows.parts,
                rows.rows_with,
                lambda: rows.version() or "",
            )

        return self.kept.get((table.name, tuple(partitions)), rows.version(), kept)

    def rows(self, name: str, corpus: str) -> Lazy:
        """Return the rows of a table of a corpus, see `kept_rows`."""
        return self.kept_rows(TABLES[name], self.store.partitions(TABLES[name], corpus))

    def section(self, corpus: str, name: str) -> Any:
        """Return a section of a corpus's settings, see `section_of`, or raise `CorpusError`."""
        return self.sections(corpus)(name)

    def sections(self, corpus: str) -> Callable[[str], Any]:
        """Return `section` for a corpus at this moment: its `corpus.toml` is read once."""
        folder = self.home.corpora / corpus
        prompt_folders = PromptFolder(folder), PromptFolder(self.home.prompts)
        return partial(section_of, load_settings(folder), prompt_folders=prompt_folders)


def section_of(
    settings: CorpusSettings, name: str, prompt_folders: Sequence[PromptFolder] = ()
) -> Any:
    """Return a section of a corpus's settings, "answer" or "gor.training", as JSON.

    "prompts.gor.response" is a prompt, of the first folder that has it or built in.
    """
    table, _, part = name.partition(".")
    if table == PROMPTS_FOLDER:
        family, _, prompt = part.partition(".")
        return prompt_text(PROMPTS, family, prompt, prompt_folders, settings.language)
    value: Any = getattr(settings, table) if table else settings
    if table in _SETTINGS:
        value = checked_section(_SETTINGS[table], table, value)
    if part:
        value = getattr(value, part)
    values = value.model_dump(mode="json") if isinstance(value, BaseModel) else value
    if part and isinstance(values, dict) and values.get("k", 0) is None:
        values["k"] = checked_section(RetrievalSettings, "retrieval", settings.retrieval).k
    if not table and (files := overrides(PROMPTS, prompt_folders)):
        texts = {name: file.read_bytes().decode(errors="replace") for name, file in files.items()}
        values[PROMPTS_FOLDER] = texts
    return values


def open_workspace(
    home: Home,
    models: Models | None = None,
    quick: bool = False,
    store: ParquetStore | None = None,
    on_words: OnWords | None = None,
) -> Workspace:
    """Open `home` with its models and store, or those given; for the others see `Models`."""
    store = store or home.open_store()
    models = models or Models(
        home.settings(), store, TABLES["llm_calls"], quick=quick, on_words=on_words
    )
    return Workspace(home, store, models)
