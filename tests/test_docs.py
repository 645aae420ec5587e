"""The pages of `docs/`: what they show exists and runs; the generated references are complete."""

import importlib.util
import re
import tomllib
from pathlib import Path
from types import ModuleType
from typing import Any

import duckdb
import pytest

from gsum_assets.cli.main import main
from gsum_assets.corpus.folder import READ_TYPES
from gsum_assets.corpus.importers import BENCHMARKS
from gsum_assets.definitions import defs
from gsum_assets.pipeline.corpus_settings import CorpusSettings, checked_section
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import FAMILIES, METHODS, views
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.serve.access import read_tokens
from gsum_resources.settings.schema import Settings
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import ParquetStore

ROOT = Path(__file__).parents[1]
ROOT_PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "README.md"]
PACKAGES = ("gsum_assets", "gsum_resources")
PAGES = [*ROOT_PAGES, *sorted((ROOT / "docs").glob("*.md"))]
TEXT = {page: page.read_text("utf-8") for page in PAGES}
ALL = "\n".join(TEXT.values())

EACH_PAGE = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))


def _module(name: str) -> ModuleType:
    """A module of `docs/`, which is no package."""
    spec = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(ROOT / "docs")
        spec.loader.exec_module(module)
    return module


reference = _module("reference")
diagrams = _module("diagrams")
pages = _module("pages")
docstrings = _module("docstrings")


def test_the_ways_through_the_code_name_files_that_exist() -> None:
    """A name without a folder is in the folder of the one before."""
    text = TEXT[ROOT / "docs" / "architecture.md"]
    ways = re.split(r"^The way of ", text, flags=re.MULTILINE)[1:]
    assert len(ways) == 3
    for way in ways:
        folder = ""
        for name in re.findall(r"`([\w/]+\.py)`", way):
            folder, file = name.rsplit("/", 1) if "/" in name else (folder, name)
            assert any((ROOT / package / folder / file).is_file() for package in PACKAGES), name


def _fences(language: str, text: str = ALL) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


# --- what the pages show --------------------------------------------------------------------------


@EACH_PAGE
def test_every_command_shown_exists_with_its_options(page: Path) -> None:
    targets = set(re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    shown = re.findall(r"^\$ (.+?)(?: +#.*)?$", TEXT[page], re.MULTILINE)
    for command in (one for line in shown for one in line.split(" && ")):
        program, _, rest = command.partition(" ")
        if program == "make":
            assert rest in targets, command
        if program == "gsum":
            name, _, arguments = rest.partition(" ")
            assert name in main.commands, command
            unquoted = re.sub(r'"[^"]*"', "", f" {arguments}")
            options = set(re.findall(r"(?<=\s)--[a-z][a-z-]*", unquoted))
            known = {o for p in main.commands[name].params for o in p.opts}
            assert options <= known, command


def test_every_method_benchmark_and_table_of_settings_is_named() -> None:
    for name in (*METHODS.known, *BENCHMARKS):
        assert re.search(rf"`{re.escape(name)}`|\b{re.escape(name)}\b", ALL), name
    methods = TEXT[ROOT / "docs" / "methods.md"]
    assert [name for name in METHODS.known if f"`{name}`" not in methods] == []
    settings = TEXT[ROOT / "docs" / "settings.md"]
    for name in Settings.model_fields:
        assert re.search(rf"^\[{name}[\].]", settings, re.MULTILINE)  # also [models.extraction]


def test_every_type_of_file_that_is_read_is_named() -> None:
    sources = TEXT[ROOT / "docs" / "documents.md"].split("\n## What gsum reads\n")[1]
    named = re.findall(r"`([\w.]+)`", sources.split("\n\n")[0])
    assert sorted(named) == sorted(READ_TYPES)


def test_every_job_sensor_and_schedule_is_named() -> None:
    automation = TEXT[ROOT / "docs" / "running.md"].split("\n## Automation\n")[1].split("\n## ")[0]
    named = set(re.findall(r"^\| `(\w+)` \|", automation, re.MULTILINE))
    jobs = {job.name for job in defs.resolve_all_job_defs() if not job.name.startswith("__")}
    running = {one.name for one in (*(defs.sensors or ()), *(defs.schedules or ()))}
    assert named == jobs | running


def test_the_settings_shown_are_valid() -> None:
    [shown] = _fences("toml", TEXT[ROOT / "docs" / "documents.md"])
    [of_home] = _fences("toml", TEXT[ROOT / "docs" / "settings.md"])
    assert Settings.model_validate(tomllib.loads(of_home)).embedding == Settings().embedding
    settings = CorpusSettings.model_validate(tomllib.loads(shown), strict=True)
    assert set(settings.methods or ()) <= set(METHODS.known)
    shown_k = RetrievalSettings.model_validate(settings.retrieval).k
    assert shown_k == RetrievalSettings.model_validate({}).k
    assert settings.chunking == CorpusSettings().chunking
    assert settings.answer == CorpusSettings().answer


@pytest.mark.parametrize("text", _fences("toml"), ids=lambda text: text.split("\n")[0])
def test_every_toml_shown_is_valid(text: str, tmp_path: Path) -> None:
    values = tomllib.loads(text)
    if set(values) == {"tokens"}:  # the file of `gsum serve --tokens`
        (tmp_path / "tokens.toml").write_text(text)
        assert read_tokens(tmp_path / "tokens.toml")
        return
    if set(values) <= set(Settings.model_fields):
        Settings.model_validate(values)
        return
    settings = CorpusSettings.model_validate(values, strict=True)
    for family in FAMILIES:
        if family.settings and hasattr(settings, family.name):
            checked_section(family.settings, family.name, getattr(settings, family.name))


def test_the_sql_shown_runs(tmp_path: Path) -> None:
    queries = re.findall(r'^\$ gsum sql "(.+?)"$', ALL, re.MULTILINE | re.DOTALL)
    assert len(queries) >= 20
    with duckdb.connect() as connection:
        define_views(connection, ParquetStore(str(tmp_path)), TABLES.values(), views())
        for query in [*queries, *_fences("sql")]:
            connection.sql(query).fetchall()


def test_the_python_shown_that_reads_the_catalogue_runs(tmp_path: Path, monkeypatch) -> None:
    snippets = [text for text in _fences("python") if "gsum.duckdb" in text]
    assert len(snippets) >= 2
    (tmp_path / "data").mkdir()
    monkeypatch.chdir(tmp_path)
    with duckdb.connect("data/gsum.duckdb") as connection:
        define_views(connection, ParquetStore(str(tmp_path)), TABLES.values(), views())
    for snippet in snippets:
        namespace: dict[str, Any] = {}
        exec(compile(snippet, "docs", "exec"), namespace)
        namespace["catalogue"].close()


def test_every_diagram_is_drawn_from_its_source() -> None:
    wanted = dict(one for page in PAGES for one in diagrams.diagrams(page))
    assert len(wanted) >= 7
    stale = [file.name for file, text in wanted.items() if not diagrams.is_current(file, text)]
    assert stale == [], "run docs/diagrams.py"


def test_a_page_of_the_root_has_the_links_of_the_site(tmp_path: Path) -> None:
    text = "[a](docs/models.md#x) [b](CONTRIBUTING.md) [c](benchmarks/README.md) "
    (tmp_path / "README.md").write_text(text + '<img src="docs/a.png"> [d](../docs/jerr.md)')
    assert pages.rooted(tmp_path / "README.md") == (
        '[a](models.md#x) [b](contributing.md) [c](benchmarks.md) <img src="a.png"> [d](jerr.md)'
    )


def test_a_page_shows_its_diagram_as_a_picture_and_reports_a_stale_one() -> None:
    text = TEXT[ROOT / "docs" / "jerr.md"]
    warnings: list[str] = []
    shown = pages.shown(text, "jerr", "JERR", warnings.append)
    assert "![Diagram of JERR](diagrams/jerr.svg)" in shown
    assert "```mermaid" not in shown
    assert warnings == []
    pages.shown(
        text.replace("flowchart TB\n", "flowchart TB\n    new --> chunks\n"),
        "jerr",
        "",
        warnings.append,
    )
    assert len(warnings) == 1
    assert "](contributing.md)" in pages.shown("[x](../CONTRIBUTING.md)", "p", "", warnings.append)


def test_a_figure_and_its_interval_stay_on_one_line() -> None:
    assert pages.unbroken("| 1.5 [-0.1, +3.0] |") == "| 1.5&nbsp;[-0.1,&nbsp;+3.0] |"
    assert pages.unbroken("text 1.5 [-0.1, +3.0]") == "text 1.5 [-0.1, +3.0]"


def test_a_meaning_behind_a_name_becomes_numpys_form() -> None:
    plain = """Do it.

    Parameters
    ----------
    rows : one per document, in reading order; its text is what the source holds and
        nothing else.
    k : how many.
    size : int
        The number of rows.
    names : list[str], optional

    Returns
    -------
    list : of ids.
    """.replace("\n    ", "\n")
    assert (
        docstrings.numpy_form(plain)
        == """Do it.

    Parameters
    ----------
    rows
        one per document, in reading order; its text is what the source holds and
        nothing else.
    k
        how many.
    size : int
        The number of rows.
    names : list[str], optional

    Returns
    -------
    list : of ids.
    """.replace("\n    ", "\n")
    )


# --- the generated references ---------------------------------------------------------------------
