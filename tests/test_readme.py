"""Commands and settings in README are valid, and none is missing there."""

import re
from pathlib import Path

import duckdb

from gsum_assets.cli import main
from gsum_assets.corpus.importers import BENCHMARKS
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.definitions import METHODS
from gsum_assets.graphrag.compat import VIEWS
from gsum_assets.retrieval.settings import RetrievalSettings
from gsum_assets.tables import TABLES
from gsum_resources.catalogue import define_views
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.settings import Settings

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text()
COMMANDS = re.findall(r"^\$ (.+?)(?: +#.*)?$", README, re.MULTILINE)


def test_two_commands_come_first() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {c.removeprefix("make ") for c in COMMANDS if c.startswith("make ")} <= targets


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert COMMANDS[1] in (ROOT / ".ci" / "run").read_text().splitlines()


def test_every_command_is_documented_and_exists() -> None:
    shown = set(re.findall(r"\bgsum ([a-z]+)\b", "\n".join(COMMANDS) + README.replace("`", " ")))
    assert set(main.commands) <= shown
    typed = {c.split()[1] for line in COMMANDS for c in line.split("&& ") if c.startswith("gsum ")}
    assert typed <= set(main.commands)


def test_every_method_benchmark_and_variable_is_named() -> None:
    for name in (*METHODS.known, *BENCHMARKS):
        assert re.search(rf"\b{re.escape(name)}\b", README), name
    for name in Settings.model_fields:
        assert re.search(rf"^\[{name}[\].]", README, re.MULTILINE)  # also [models.extraction]


def test_settings_shown_are_valid() -> None:
    import tomllib

    shown, of_home = re.findall(r"```toml\n(.*?)```", README, re.DOTALL)
    assert Settings.model_validate(tomllib.loads(of_home)).embedding == Settings().embedding
    settings = CorpusSettings.model_validate(tomllib.loads(shown), strict=True)
    assert set(settings.methods or ()) <= set(METHODS.known)
    assert RetrievalSettings(**settings.retrieval).k == RetrievalSettings().k
    assert settings.chunking == CorpusSettings().chunking
    assert settings.answer == CorpusSettings().answer


def test_sql_shown_runs(tmp_path: Path) -> None:
    documentation = README + "".join(file.read_text() for file in (ROOT / "docs").glob("*.md"))
    queries = re.findall(r'^\$ gsum sql "(.+?)"$', documentation, re.MULTILINE | re.DOTALL)
    assert len(queries) >= 2
    with duckdb.connect() as connection:
        define_views(connection, ParquetStore(str(tmp_path)), TABLES.values(), VIEWS)
        for query in queries:
            connection.sql(query).fetchall()
