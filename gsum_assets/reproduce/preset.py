"""Presets: what a paper's table needs, as TOML files that people can read and change.

The methods of a reproduction are those that the rows of its tables name. `dense@dpr` is the method
`dense` with the embedder `dpr`, in a home of its own, since a home has one embedder.
"""

import tomllib
from collections.abc import Mapping, Sequence
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from gsum_assets.corpus.importers import BENCHMARKS
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_settings
from gsum_assets.registry.families import METHODS
from gsum_assets.reproduce.sample import Sample
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.table import SettingsTable

_PRESETS = files("gsum_assets.reproduce") / "presets"


class PublishedTable(SettingsTable):
    """A table `[[tables]]`: published figures in percent, and the methods that are run for them."""

    name: str = Field(description="where the paper has it")
    metrics: list[str] = Field(
        min_length=1,
        description="columns, as in the table scores; 'F1@3': F1 of the means of p@3 and r@3; "
        "'win:overall': win rate of the headline's method against that of the row; "
        "'seconds:query', 'seconds:index': time to rank a question, and of embeddings and calls of "
        "the index",
    )
    rows: dict[str, list[str | float]] = Field(
        description="by the paper's name of a row: the method here, '' for none, then the figures "
        "of the columns: '' for one that is missing, none at all if the paper has no such row"
    )

    @property
    def methods(self) -> Mapping[str, str]:
        """The method of each row, `dense` or `dense@dpr`; '' for none."""
        return {name: str(row[0]) for name, row in self.rows.items()}

    def published(self, row: str) -> Sequence[float | None]:
        """Return the figure of each column, None where the paper has none."""
        values = [None if value == "" else float(value) for value in self.rows[row][1:]]
        return values or [None] * len(self.metrics)


class Preset(SettingsTable):
    """A reproduction: what is imported, set, run and compared."""

    title: str = Field(description="what is reproduced")
    paper: str = Field(description="where the figures are from")
    benchmark: str = Field(description="as `gsum import` names it")
    headline: str = Field(description="the paper's method, which the other rows are compared with")
    embedder: str = Field(
        default="", description="of methods without '@', if given; else that of gsum.toml"
    )
    embedders: dict[str, str] = Field(
        default={}, description="the paper's embedders: name and hub id; 'packaged' needs no option"
    )
    sample: Sample = Sample()
    corpus: dict[str, Any] = Field(default={}, description="tables of corpus.toml, with its keys")
    home: dict[str, Any] = Field(default={}, description="tables of gsum.toml, with its keys")
    tables: list[PublishedTable] = Field(min_length=1)
    departures: list[str] = Field(
        default=[], description="what differs from the paper, a sentence each"
    )

    @cached_property
    def methods(self) -> Sequence[str]:
        """The methods of all rows, `dense` or `dense@dpr`."""
        named = (method for table in self.tables for method in table.methods.values())
        return list(dict.fromkeys(method for method in named if method))


def names() -> list[str]:
    """Return the presets, as `gor-qmsum`; a file `_gor.toml` is the base of others."""
    found = (Path(str(file)).stem for file in _PRESETS.iterdir())
    return sorted(name for name in found if name[0] != "_")


def values_of(name: str) -> dict[str, Any]:
    """Return the keys of a shipped preset, with those of its base, or raise `CorpusError`."""
    file = _PRESETS / f"{name}.toml"
    if not file.is_file():
        near = did_you_mean(name, names())
        raise CorpusError(f"no preset '{name}'{near}; `gsum reproduce` lists all")
    return _with_base(file.read_text("utf-8"))


def load(name: str, file: Path | None = None) -> Preset:
    """Return a preset, or that of a file; raise `CorpusError` if there is none, or a bad value."""
    source = str(file or f"preset {name}")
    try:
        values = _with_base(file.read_text("utf-8")) if file else values_of(name)
        preset = Preset.model_validate(values)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CorpusError(f"{source}: {error}; correct the file") from error
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(map(str, first["loc"]))
        raise CorpusError(
            f"{source}: '{key}' has value {first['input']!r:.80}: {first['msg']}; correct it"
        ) from error
    if preset.benchmark not in BENCHMARKS:
        near = did_you_mean(preset.benchmark, BENCHMARKS)
        raise CorpusError(f"{source}: no benchmark '{preset.benchmark}'{near}")
    checked_settings(preset.corpus, f"{source}, [corpus]")
    for table in preset.tables:
        for row, values in table.rows.items():
            if len(values) not in (1, 1 + len(table.metrics)):
                raise CorpusError(
                    f"{source}: row '{row}' of {table.name} has {len(values) - 1} figures; give "
                    f"a method and {len(table.metrics)} figures, or the method alone"
                )
    for method in preset.methods:
        METHODS.family_of(method.partition("@")[0])
        if (embedder := method.partition("@")[2]) and embedder not in preset.embedders:
            near = did_you_mean(embedder, preset.embedders)
            raise CorpusError(f"{source}: '{method}': no embedder '{embedder}' in embedders{near}")
    if preset.headline not in preset.methods:
        raise CorpusError(f"{source}: headline = '{preset.headline}' is the method of no row")
    return preset


def _with_base(text: str) -> dict[str, Any]:
    """Return the values of a preset over those of the preset that its key `base` names."""
    values = tomllib.loads(text)
    base = values.pop("base", None)
    return merged(values_of(base), values) if base else values


def merged(before: Mapping[str, Any], after: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables with the keys of others over them, at every depth."""
    inner = {
        key: merged(before[key], value)
        for key, value in after.items()
        if isinstance(value, dict) and isinstance(before.get(key), dict)
    }
    return {**before, **after, **inner}
