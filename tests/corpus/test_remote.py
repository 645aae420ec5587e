"""Corpora and settings at a URL: the same documents, changes and deletions as in a folder."""

import json
import shutil
import time
import uuid
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.corpus.buckets import size_of
from gsum_assets.corpus.find import find_corpus, init_corpus
from gsum_assets.corpus.folder import is_removed, read_records, stamp_of
from gsum_assets.corpus.importers.benchmark import Benchmark, Contents, write_corpus
from gsum_assets.corpus.load import Document, load, scan
from gsum_assets.forgetting.folder import take_out
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings, load_settings
from gsum_assets.pipeline.prompts import PromptFolder, overrides, prompt_text
from gsum_assets.registry.families import PROMPTS
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import folders_in, path_at
from gsum_resources.settings.schema import SettingsError

SETTINGS = CorpusSettings()


@pytest.fixture
def local(tmp_path: Path) -> Path:
    """A corpus folder with files of several kinds."""
    folder = tmp_path / "corpora" / "tales"
    (folder / "deep").mkdir(parents=True)
    for name, content in {
        "a.txt": b"A boat met a clerk.",
        "deep/b.md": b"# Title\n\nThe lamp met the river.",
        "empty.txt": b"",
        "long.txt": b"x" * 200_000,
        "picture.jpg": b"not read",
        ".hidden": b"no",
        "deep/~temporary.txt": b"no",
        "page.html": b"<html><body><p>A page on the bridge.</p></body></html>",
        "documents.jsonl": b'{"id": "one", "text": "A line."}\n{"id": "two", "text": "Another."}\n',
        "queries.jsonl": b'{"text": "Who met the boat?"}\n',
        "corpus.toml": b"[documents]\nmax_bytes = 100000\n",
    }.items():
        (folder / name).write_bytes(content)
    return folder


@pytest.fixture
def root(local: Path) -> Iterator[Path]:
    """The folder of the corpora at a URL, with a copy of that corpus."""
    root = path_at(f"memory://{uuid.uuid4().hex}/corpora")
    for file in sorted(local.rglob("*")):
        if file.is_file():
            target = root / "tales" / file.relative_to(local).as_posix()
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(file.read_bytes())
    yield root
    root.fs.rm(root.path, recursive=True)  # type: ignore[attr-defined] - of a URL


def test_records_are_those_of_the_folder(local: Path, root: Path) -> None:
    remote, settings = root / "tales", load_settings(local)
    assert load_settings(remote) == settings
    assert size_of(remote) == size_of(local)
    assert scan(remote, settings) == scan(local, settings)
    assert load(remote, settings) == load(local, settings)
    chosen = {"a", "one"}
    assert list(read_records(remote, 10**6, chosen)) == list(read_records(local, 10**6, chosen))


def test_rules_and_copies_are_those_of_the_folder(root: Path, local: Path) -> None:
    for folder in (root / "tales", local):
        (folder / "old" / "in").mkdir(parents=True)
        for name in ("old/x.md", "old/in/y.md", "z.md", "z copy.md"):
            (folder / name).write_bytes(b"A text that is the same.")
        (folder / ".gsumignore").write_bytes(b"old/*/*\nx.md")
    assert scan(root / "tales", SETTINGS) == scan(local, SETTINGS)
    reasons = {one.file: one.reason for one in load(root / "tales", SETTINGS)[1]}
    assert reasons["old/in/y.md"] == "skipped: rule 'old/*/*'"
    assert reasons["z copy.md"] == "skipped: copy of z.md"


def test_missing_folder_is_named(root: Path) -> None:
    with pytest.raises(CorpusError, match=r"memory://.*/nowhere does not exist"):
        scan(root / "nowhere", SETTINGS)
    with pytest.raises(CorpusError, match="did you mean 'tales'"):
        find_corpus(root, "tale")
    assert folders_in(root) == ["tales"]
    assert folders_in(root / "nowhere") == []


def test_changes_are_noticed_by_listing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fs = root.fs  # type: ignore[attr-defined] - of a URL
    cat_file = fs.cat_file

    def without_documents(path: str, **limits: int) -> bytes:
        assert path.endswith("/corpus.toml")  # it may have rules of what is skipped
        return cat_file(path, **limits)

    monkeypatch.setattr(fs, "cat_file", without_documents)
    tales = root / "tales"
    first = stamp_of(tales)
    assert stamp_of(tales) == first
    (tales / "a.txt").write_bytes(b"A boat met a clark.")  # of the same size
    second = stamp_of(tales)
    assert second.digest != first.digest
    (tales / "deep" / "b.md").unlink()
    assert stamp_of(tales).digest != second.digest
    assert not stamp_of(tales).is_quiet(time.time())
    fs.rm(tales.path, recursive=True)  # type: ignore[attr-defined] - of a URL
    assert is_removed(tales)


def test_documents_are_taken_out(root: Path) -> None:
    folder = root / "tales"
    records = [r for r in read_records(folder, 10**6) if r.document_id in ("a", "one")]
    take_out(folder, SETTINGS, records)
    left = {record.document_id for record in read_records(folder, 10**6)}
    assert {"two", "deep--b"} <= left
    assert not {"a", "one"} & left
    assert b"A line" not in (folder / "documents.jsonl").read_bytes()


def test_prompts_are_found_by_one_listing(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "tales" / "prompts" / "gor").mkdir(parents=True)
    (root / "tales" / "prompts" / "gor" / "response.md").write_bytes(b"In {max_words} words.")
    (root / "tales" / "prompts" / ".hidden").write_bytes(b"an editor's")
    fs, listings = root.fs, []  # type: ignore[attr-defined] - of a URL
    find = fs.find
    monkeypatch.setattr(fs, "find", lambda *given, **how: listings.append(1) or find(*given, **how))
    folder = PromptFolder(root / "tales")
    files = overrides(PROMPTS, [folder])
    assert {name: file.name for name, file in files.items()} == {"gor.response": "response.md"}
    text = prompt_text(PROMPTS, "gor", "response", [folder], "en")
    assert text == "In {max_words} words."
    assert prompt_text(PROMPTS, "gor", "question", [folder], "en")
    assert len(listings) == 1
    (root / "tales" / "prompts" / "gor" / "respones.md").write_bytes(b"")
    with pytest.raises(CorpusError, match="no prompt of gor has this name"):
        prompt_text(PROMPTS, "gor", "response", [PromptFolder(root / "tales")], "en")


def test_benchmark_is_imported(root: Path) -> None:
    benchmark = Benchmark("Title", "story", "a folder", lambda _: Contents())
    contents = Contents([Document("d", "D", "A text of words.")])
    graph = {"graph/entities.parquet": pa.table({"title": ["Lin"]})}
    for tables in (graph, {}):  # the second import replaces the first
        contents.tables = tables
        assert write_corpus(benchmark, contents, root / "fresh").n_documents == 1
        assert (root / "fresh" / "graph/entities.parquet").exists() == bool(tables)
    assert load_settings(root / "fresh").title == "Title"
    assert json.loads((root / "fresh" / "documents.jsonl").read_bytes())["document_id"] == "d"
    with pytest.raises(CorpusError, match="which no import wrote"):
        write_corpus(benchmark, contents, root / "tales")


def test_settings_are_read_from_a_url(root: Path, tmp_path: Path) -> None:
    file = root.parent / "shared" / "gsum.toml"
    home = Home(tmp_path, str(tmp_path / "warehouse"), str(root), str(file))
    with pytest.raises(SettingsError, match="where no file is"):
        home.settings()
    file.parent.mkdir()
    file.write_bytes(b"[embedding]\nmax_tokens = 77\n")
    assert home.settings().embedding.max_tokens == 77
    assert home.prompts == file.parent
    assert folders_in(home.corpora) == ["tales"]


def test_a_folder_elsewhere_cannot_be_linked(root: Path, tmp_path: Path) -> None:
    home = Home(tmp_path, str(tmp_path / "warehouse"), str(root))
    (tmp_path / "mine").mkdir()
    with pytest.raises(CorpusError, match="copy the folder"):
        init_corpus(tmp_path / "mine", home, None, {})
    shutil.rmtree(tmp_path / "mine")


def test_a_store_that_cannot_be_reached_rejects_no_file(
    root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object, **__: object) -> bytes:
        raise OSError("connection reset")

    monkeypatch.setattr(root.fs, "cat_file", fail)  # type: ignore[attr-defined] - of a URL
    with pytest.raises(OSError, match="connection reset"):
        scan(root / "tales", SETTINGS)
