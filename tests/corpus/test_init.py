"""`gsum init`: a commented corpus.toml that is right, and a folder that is a corpus."""

import errno
import os
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.corpus.find import corpus_name, find_corpus, init_corpus
from gsum_assets.corpus.folder import stamp_of
from gsum_assets.corpus.settings_file import commented_toml, keep_methods
from gsum_assets.pipeline.corpus_settings import (
    CorpusError,
    CorpusSettings,
    load_settings,
    settings_file,
)
from gsum_assets.registry.families import SETTINGS_TABLES
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import folders_in
from gsum_resources.settings.schema import Settings


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home(tmp_path / "home", str(tmp_path / "home" / "warehouse"))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    created = tmp_path / "My papers, 2026"
    (created / "deep").mkdir(parents=True)
    for name in ("a.pdf", "deep/b.PDF", "c.txt", "d.jpg", ".hidden.txt", "queries.jsonl"):
        (created / name).touch()
    return created


def test_every_key_is_listed_with_its_default() -> None:
    text = commented_toml(SETTINGS_TABLES)
    keys = [line[2:] for line in text.splitlines() if re.match(r"# (\[|\w+ = (?!…))", line)]
    found = tomllib.loads("\n".join(keys))
    assert CorpusSettings.model_validate(found, strict=True).model_dump(
        exclude=set(SETTINGS_TABLES)
    ) == CorpusSettings().model_dump(exclude=set(SETTINGS_TABLES))
    for name, model in SETTINGS_TABLES.items():
        assert model.model_validate(found[name], strict=True) == model()
    assert {"chunking", "documents", "answer", *SETTINGS_TABLES} <= found.keys()
    for model in (CorpusSettings, *SETTINGS_TABLES.values()):  # also keys without a default
        for key in model.model_fields:
            assert re.search(rf"^# (\[.*\b{key}\]|{key} = )", text, re.MULTILINE), key


def test_external_folder_becomes_a_link(home: Home, folder: Path) -> None:
    corpus, lines = init_corpus(folder, home, None, SETTINGS_TABLES)
    assert corpus == "My-papers-2026"
    assert (home.corpora / corpus).resolve() == folder
    assert load_settings(home.corpora / corpus) == CorpusSettings()
    assert lines[-1].startswith("found 2 .pdf, 1 .txt; not read: 1 .jpg (gsum reads ")
    (folder / "corpus.toml").write_text('title = "Mine"')
    _, lines = init_corpus(folder, home, None, SETTINGS_TABLES)
    assert "unchanged" in lines[0]
    assert load_settings(folder).title == "Mine"


def test_folder_inside_the_home_needs_no_link(home: Home) -> None:
    (home.corpora / "tales").mkdir(parents=True)
    corpus, _ = init_corpus(home.corpora / "tales", home, None, SETTINGS_TABLES)
    assert corpus == "tales"
    assert [path.name for path in home.corpora.iterdir()] == ["tales"]
    with pytest.raises(CorpusError, match="is already the corpus 'tales'"):
        init_corpus(home.corpora / "tales", home, "other", SETTINGS_TABLES)


def test_invalid_names_and_folders_raise(home: Home, folder: Path) -> None:
    (home.corpora / "taken").mkdir(parents=True)
    with pytest.raises(CorpusError, match=r"'taken' already exists in another folder.*--corpus"):
        init_corpus(folder, home, "taken", SETTINGS_TABLES)
    with pytest.raises(CorpusError, match="use letters"):
        init_corpus(folder, home, "a b", SETTINGS_TABLES)
    with pytest.raises(CorpusError, match="contains the home"):
        init_corpus(home.root.parent, home, None, SETTINGS_TABLES)
    assert not (folder / "corpus.toml").exists()


@pytest.mark.parametrize(
    ("folder", "name"), [("Übersicht (2)", "bersicht-2"), ("a.b", "a.b"), ("…", "corpus")]
)
def test_name_is_derived_from_the_folder(folder: str, name: str) -> None:
    assert corpus_name(folder) == name


def test_printed_commands_lead_from_folder_to_run(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSUM_HOME", str(home.root))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    refused = CliRunner().invoke(main, ["run", str(folder)])
    assert refused.exit_code == 1
    assert f"run `gsum init '{folder}'` first" in refused.output
    settings = home.root / "gsum.toml"
    settings.unlink()  # written by the run
    said = CliRunner().invoke(main, ["init", str(folder)])
    assert said.exit_code == 0, said.output
    assert said.output.endswith("next: gsum run My-papers-2026\n")
    assert f"{settings}: written; every key is commented out\n" in said.output
    assert home.settings() == Settings()
    settings.write_text("# mine")
    assert "gsum.toml" not in CliRunner().invoke(main, ["init", str(folder)]).output
    assert settings.read_text() == "# mine"


def test_settings_of_a_folder_that_cannot_be_written_are_in_the_home(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write = Path.write_text

    def refuse(path: Path, *how: str) -> int:
        if path.resolve().parent == folder.resolve():
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return write(path, *how)

    monkeypatch.setattr(Path, "write_text", refuse)
    _, lines = init_corpus(folder, home, "mine", {})
    beside = home.corpora / "mine.toml"
    assert lines[0] == f"{beside}: written; every key is commented out"
    assert settings_file(home.corpora / "mine") == beside
    assert folders_in(home.corpora) == ["mine"]
    stamp = stamp_of(home.corpora / "mine")
    keep_methods(home.corpora / "mine", ["bm25"])
    assert load_settings(home.corpora / "mine").methods == ["bm25"]
    assert stamp_of(home.corpora / "mine").digest != stamp.digest
    assert "unchanged" in init_corpus(folder, home, "mine", {})[1][0]


@pytest.mark.parametrize("command", [["run"], ["plan"], ["ask", "Who?"]])
def test_link_to_a_moved_folder_names_link_target_and_remedy(
    home: Home, folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setenv("GSUM_HOME", str(home.root))
    monkeypatch.delenv("DAGSTER_HOME", raising=False)
    init_corpus(folder, home, "papers", SETTINGS_TABLES)
    moved = folder.rename(folder.with_name("moved"))
    result = CliRunner().invoke(main, [command[0], "papers", *command[1:]])
    assert result.exit_code == 1
    said = " ".join(result.output.split())
    link = home.corpora / "papers"
    assert f"{link} is a link to {folder}, which does not exist" in said
    assert f"`ln -sfn NEW_PATH {link}`" in said
    link.unlink()
    link.symlink_to(moved)
    assert find_corpus(home.corpora, "papers") == link


def test_pipes_and_loops_of_links_are_named(home: Home, folder: Path) -> None:
    os.mkfifo(folder / "pipe")
    with pytest.raises(CorpusError, match=r"'.*/pipe' is no folder"):
        init_corpus(folder / "pipe", home, None, SETTINGS_TABLES)
    home.corpora.mkdir(parents=True)
    (home.corpora / "loop").symlink_to("loop")
    with pytest.raises(CorpusError, match="corpus 'loop' already exists in another folder"):
        init_corpus(folder, home, "loop", SETTINGS_TABLES)
    (folder / "corpus.toml").symlink_to("corpus.toml")
    _, lines = init_corpus(folder, home, "papers", SETTINGS_TABLES)
    assert lines[0].endswith("already exists, unchanged")
