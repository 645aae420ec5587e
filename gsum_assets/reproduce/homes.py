"""The homes of a reproduction: one for each embedder, below the folder `reproduce` of a home."""

import tomllib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import tomlkit

from gsum_assets.corpus.importers import BENCHMARKS, read_benchmark
from gsum_assets.corpus.importers.benchmark import ImportReport, write_corpus
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.reproduce.preset import Preset, merged
from gsum_assets.reproduce.sample import sampled
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import read_if_exists, replace_content

_HEADER = "# Written by `gsum reproduce`, from the preset and {source}; change those.\n"


@dataclass(frozen=True)
class Part:
    """The methods of a reproduction that have one embedder, and their home.

    Attributes
    ----------
    rows : by method of this home the methods of the preset that it is: "dense": ["dense@sbert"].
    embedder : the embedder's model; None: as `gsum.toml` of the user's home says.
    """

    home: Home
    corpus: str
    rows: Mapping[str, Sequence[str]]
    embedder: str | None


def parts_of(
    preset: Preset, name: str, home: Home, models: Mapping[str, str], wanted: Collection[str]
) -> tuple[list[Part], list[str]]:
    """Return the parts that can run, and a line for each embedder that is missing.

    Raise `CorpusError` if the preset has no such embedder or method.

    Parameters
    ----------
    name : of the reproduction, and of its corpus.
    home : the user's, whose `gsum.toml` names the models.
    models : path or hub id of embedders by the preset's names.
    wanted : rows' methods to run; empty: all.
    """
    for kind, given, known in (
        ("embedder", models, preset.embedders),
        ("method", wanted, preset.methods),
    ):
        if strangers := sorted(set(given) - set(known)):
            near = did_you_mean(strangers[0], known)
            raise CorpusError(
                f"{name}: no {kind} '{strangers[0]}'{near}; known: {', '.join(known)}"
            )
    packaged = {key: value for key, value in preset.embedders.items() if value == "packaged"}
    models = {**packaged, **models}
    main = models.get(preset.embedder)
    fallback = main or home.settings().embedding.model
    rows: dict[str, dict[str, list[str]]] = {}
    notes: list[str] = []
    for method in preset.methods:
        own, _, embedder = method.partition("@")
        if wanted and method not in wanted:
            continue
        if embedder and embedder not in models:
            notes.append(
                f"{method}: not run; its model is not given: --embedder {embedder}=PATH, "
                f"of {preset.embedders[embedder]}"
            )
            continue
        part = "" if not embedder or models[embedder] == fallback else embedder
        rows.setdefault(part, {}).setdefault(own, []).append(method)
    if preset.embedder and not main:
        notes.append(
            f"embedder of all other methods: {fallback}; the paper's: --embedder "
            f"{preset.embedder}=PATH, of {preset.embedders[preset.embedder]}"
        )
    parts = []
    for part, methods in rows.items():
        corpus = f"{name}-{part}" if part else name
        root = home.root / "reproduce" / corpus
        own_home = replace(
            home, root=root, warehouse=str(root / "warehouse"), corpora_url="", settings_url=""
        )
        parts.append(Part(own_home, corpus, methods, models[part] if part else main))
    return parts, notes


def write(parts: Sequence[Part], preset: Preset, source: Path, home: Home) -> ImportReport:
    """Write the settings and the corpus of each part; return what was imported.

    What an earlier command wrote is replaced; what is unchanged stays up to date. Raise
    `CorpusError` if the files are not in the official format, or no question of them is in the
    sample.
    """
    benchmark = BENCHMARKS[preset.benchmark]
    contents = sampled(read_benchmark(preset.benchmark, source), preset.sample)
    settings = merged(tomllib.loads(benchmark.settings), preset.corpus)
    report = None
    for part in parts:
        own = tomlkit.dumps({"methods": [*part.rows], **settings})
        named = replace(benchmark, title=preset.title, settings=own)
        report = write_corpus(named, contents, part.home.corpora / part.corpus)
        _write_models(part, preset, home)
    if report is None:
        raise CorpusError(f"{preset.title}: no method is left to run; name others")
    return report


def _write_models(part: Part, preset: Preset, home: Home) -> None:
    """Write `gsum.toml` of a part: that of the user's home, with the preset's keys over it."""
    values = tomllib.loads((read_if_exists(home.settings_file) or b"").decode("utf-8-sig"))
    values.pop("state", None)  # each home has a database of its own
    values = merged(values, preset.home)
    if part.embedder:
        values["embedding"] = {"backend": "local", "model": part.embedder}
    file = part.home.settings_file
    header = _HEADER.format(source=home.settings_file)
    file.parent.mkdir(parents=True, exist_ok=True)
    replace_content(file, (header + tomlkit.dumps(values)).encode())
    if part.embedder and (used := part.home.settings().embedding.model) != part.embedder:
        raise CorpusError(
            f"{part.corpus}: the embedder is {part.embedder}, but a variable sets it to {used}; "
            "unset GSUM_EMBEDDING_MODEL"
        )
