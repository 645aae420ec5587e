"""Whatever a folder holds, one file costs its own row, and no time."""

import os
import socket
import subprocess
from pathlib import Path

import pytest

from gsum_assets.corpus.find import found_in
from gsum_assets.corpus.folder import stamp_of
from gsum_assets.corpus.listing import list_files, open_regular
from gsum_assets.corpus.load import load, load_folder, scan
from gsum_assets.corpus.queries import load_queries
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings, load_settings

SETTINGS = CorpusSettings()


def never(_: object) -> None:
    raise AssertionError("nothing here is converted")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "corpus"
    folder.mkdir()
    (folder / "good.txt").write_text("good")
    return folder


def reasons(folder: Path) -> dict[str, str]:
    """Reasons by file, after checking that the good file is a document."""
    documents, rejected = load(folder, SETTINGS)
    assert [document.document_id for document in documents] == ["good"]
    listing = scan(folder, SETTINGS)
    assert len(listing) == 1 + len(rejected)
    listed = load_folder(folder, SETTINGS, never, {one.document_id for one in listing})  # type: ignore[arg-type]
    assert listed.rejected == rejected
    assert listed.listing == listing
    assert stamp_of(folder) == stamp_of(folder)
    return {one.file: one.reason for one in rejected}


def test_a_link_to_itself_or_to_nothing_is_a_row(folder: Path) -> None:
    (folder / "a.md").symlink_to("b.md")
    (folder / "b.md").symlink_to("a.md")
    (folder / "documents.csv").symlink_to("documents.csv")
    (folder / "gone.txt").symlink_to("nowhere")
    found = reasons(folder)
    assert "a link to what does not exist" in found.pop("gone.txt")
    assert sorted(found) == ["a.md", "b.md", "documents.csv"]
    assert all("leads back to itself" in reason for reason in found.values())


def test_pipes_sockets_and_devices_are_rows_and_never_opened(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    os.mkfifo(folder / "documents.jsonl")
    (folder / "link.pdf").symlink_to(folder / "pipe.txt")
    (folder / "zero.txt").symlink_to("/dev/zero")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(os.path.relpath(folder / "socket.txt"))
        found = reasons(folder)
    assert found_in(folder) == "found 1 .txt"
    assert set(found) == {"documents.jsonl", "link.pdf", "pipe.txt", "socket.txt", "zero.txt"}
    assert {reason.split(";")[0] for reason in found.values()} == {
        "is a pipe, socket or device and no file"
    }


def test_a_file_that_becomes_a_pipe_before_it_is_read_does_not_wait(folder: Path) -> None:
    os.mkfifo(folder / "pipe.txt")
    with pytest.raises(OSError, match="no longer a regular file"):
        open_regular(folder / "pipe.txt")


def test_links_to_folders_end(folder: Path) -> None:
    """Twelve levels of two links each would be 4,096 ways to the same file."""
    below = folder.parent / "elsewhere"
    for level in range(12):
        (below / str(level)).mkdir(parents=True)
    for level in range(11):
        for name in "ab":
            (below / str(level) / name).symlink_to(below / str(level + 1))
    (below / "11" / "a.txt").write_text("the same")
    (below / "11" / "up").symlink_to(folder)
    (folder / "down").symlink_to(below / "0")
    listed = list(list_files(folder))
    assert len(listed) < 30
    files = [file.name for file in listed if not file.problem]
    assert files == ["good.txt", "down/" + "a/" * 11 + "a.txt"]


def test_a_folder_is_listed_once_by_its_own_path_or_its_first_link(folder: Path) -> None:
    elsewhere = folder.parent / "elsewhere"
    for path in (elsewhere, folder / "own"):
        path.mkdir()
        (path / "a.txt").write_text(path.name)
    for name in ("one", "two"):
        (folder / name).symlink_to(elsewhere)
    (folder / "first").symlink_to(folder / "own")
    listed = list(list_files(folder))
    assert [f.name for f in listed if not f.is_skipped] == ["good.txt", "own/a.txt", "one/a.txt"]
    assert {f.name: f.problem for f in listed if f.is_skipped}.keys() == {"first/", "two/"}


def test_a_ring_of_links_has_each_file_once(folder: Path) -> None:
    for name, following in ("ab", "bc", "ca"):
        (folder / name).mkdir()
        (folder / name / f"{name}.txt").write_text(f"The text of {name}.")
        (folder / name / "next").symlink_to(folder / following)
    documents, rejected = load(folder, SETTINGS)
    assert {one.document_id for one in documents} == {"good", "a--a", "b--b", "c--c"}
    assert all(one.is_other_type and one.file.endswith("/next/") for one in rejected)


@pytest.mark.parametrize(
    ("rules", "of_settings", "skipped"),
    [
        ("", [], {"node_modules/", "web/node_modules/", "poetry.lock", "web/package-lock.json"}),
        ("!node_modules/\n!*lock*\n", [], set()),
        ("# old\n\n/web\n*.md\n!keep.md\n", [], {"node_modules/", "poetry.lock", "web/", "x.md"}),
        ("!*lock*\n!node_modules/\n", ["web/**", "!*.json"], {"web/node_modules/c.md"}),
        ("\ufeff!*\nx.md\n", ["!x.md", "good.*/", "keep.md "], {"keep.md"}),
    ],
)
def test_rules_skip_files_and_folders(
    folder: Path, rules: str, of_settings: list[str], skipped: set[str]
) -> None:
    for name in (
        "node_modules/a/b.md",
        "web/node_modules/c.md",
        "web/package-lock.json",
        "poetry.lock",
        "x.md",
        "keep.md",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f'[{{"text": "A text of {name}."}}]')
    (folder / ".gsumignore").write_text(rules)
    (folder / "corpus.toml").write_text(f"ignore = {of_settings}\n")
    before = stamp_of(folder)
    assert {file.name for file in list_files(folder) if file.is_skipped} == skipped
    rejected = load(folder, SETTINGS)[1]
    assert {
        one.file
        for one in rejected
        if one.reason.startswith(("skipped: rule '", "skipped: default rule '"))
    } == skipped
    assert all(one.is_other_type for one in rejected)
    (folder / ".gsumignore").write_text("keep.md\ngood.txt\n")
    assert stamp_of(folder) != before


def test_a_rule_that_is_none_is_named(folder: Path) -> None:
    (folder / ".gsumignore").write_text("!\n")
    with pytest.raises(CorpusError, match=r"pattern: '!'; correct this rule of \.gsumignore"):
        load(folder, SETTINGS)
    assert stamp_of(folder) == stamp_of(folder)


def test_of_equal_files_the_one_with_the_shortest_name_is_read(folder: Path) -> None:
    for name in ("report (1).md", "report.md", "report.txt", "old/report.md", "good (2).txt"):
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text("good" if "good" in name else "The report.")
    (folder / "same size.txt").write_text("Their reply")
    for name in ("faq.csv", "faq copy.csv"):
        (folder / name).write_text("question,text\nWho?,The lamp met the boat at night.\n" * 2)

    def copies() -> dict[str, str]:
        return {one.file: one.reason for one in load(folder, SETTINGS)[1]}

    assert copies() == {
        "faq copy.csv": "skipped: copy of faq.csv",
        "good (2).txt": "skipped: copy of good.txt",
        "old/report.md": "skipped: copy of report.md",
        "report (1).md": "skipped: copy of report.md",
        "report.txt": "skipped: copy of report.md",
    }
    whole = load_folder(folder, SETTINGS, never)  # type: ignore[arg-type]
    for one in whole.listing:  # each loaded alone, as after an edit
        alone = load_folder(folder, SETTINGS, never, {one.document_id})  # type: ignore[arg-type]
        assert one in alone.listing
        assert all(document in whole.documents for document in alone.documents)
    (folder / "report.md").unlink()
    assert copies()["old/report.md"] == "skipped: copy of report.txt"
    assert "report" in {document.document_id for document in load(folder, SETTINGS)[0]}


def test_a_file_that_was_made_readable_is_noticed(folder: Path) -> None:
    (folder / "good.txt").chmod(0)
    before = stamp_of(folder)
    (folder / "good.txt").chmod(0o644)
    assert stamp_of(folder).digest != before.digest


@pytest.mark.slow
def test_a_deep_folder_is_listed_as_far_as_its_paths_can_be_opened(folder: Path) -> None:
    here = os.getcwd()  # noqa: PTH109
    try:
        os.chdir(folder)
        for _ in range(2_100):
            os.mkdir("d")  # noqa: PTH102
            os.chdir("d")
        (problem,) = reasons(folder).values()
        assert "cannot be read (file name too long)" in problem
    finally:
        os.chdir(here)
        subprocess.run(["rm", "-rf", folder], check=True)  # too deep for the cleanup of pytest


def test_names_that_are_not_utf8_can_be_stored(folder: Path) -> None:
    (folder / os.fsdecode(b"pr\xe9sent\xe9 l'\xe9t\xe9.txt")).write_text("in French")
    (folder / os.fsdecode(b"bad\xff\x81.jpg")).write_text("x")
    documents, rejected = load(folder, SETTINGS)
    (french,) = [document for document in documents if document.document_id != "good"]
    assert french.title == "présenté l'été"
    assert french.document_id.startswith("présenté l'été-")
    assert [one.file for one in rejected] == ["bad\\udcff\\x81.jpg".replace("\\x81", "\\udc81")]
    for one in (*scan(folder, SETTINGS), *rejected):
        assert f"{one.document_id}{one.file}".encode()


@pytest.mark.skipif(os.geteuid() == 0, reason="permissions do not bind root")
def test_unreadable_files_and_folders_are_rows(folder: Path) -> None:
    (folder / "locked.txt").write_text("x")
    (folder / "locked.txt").chmod(0)
    (folder / "closed").mkdir(mode=0)
    found = reasons(folder)
    assert sorted(found) == ["closed/", "locked.txt"]
    assert all("no permission" in reason for reason in found.values())


@pytest.mark.parametrize("error", [PermissionError(13, "x"), OSError(5, "Input/output error")])
def test_a_file_that_cannot_be_read_keeps_its_id(
    folder: Path, monkeypatch: pytest.MonkeyPatch, error: OSError
) -> None:
    (folder / "locked.txt").write_text("x")

    def refuse(path: Path):
        if path.name == "locked.txt":
            raise error
        return path.open("rb")

    monkeypatch.setattr("gsum_assets.corpus.folder.open_regular", refuse)
    (rejected,) = load(folder, SETTINGS)[1]
    assert rejected.document_id == "locked"
    assert rejected.reason.startswith(("no permission", "cannot be read (input/output error)"))
    assert list(reasons(folder)) == ["locked.txt"]


def test_a_file_that_vanishes_after_the_listing_leaves_no_row(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "brief.txt").write_text("x")
    monkeypatch.setattr(
        "gsum_assets.corpus.folder.open_regular",
        lambda path: ((folder / "brief.txt").unlink(missing_ok=True), open_regular(path))[1],
    )
    documents, rejected = load(folder, SETTINGS)
    assert [document.document_id for document in documents] == ["good"]
    assert rejected == []


def test_own_files_that_are_no_files_count_as_missing(folder: Path) -> None:
    (folder / "corpus.toml").symlink_to("corpus.toml")
    os.mkfifo(folder / "queries.jsonl")
    assert load_settings(folder) == SETTINGS
    assert load_queries(folder, {"good"}) == ([], [])
    assert reasons(folder) == {}


def test_own_files_that_cannot_be_read_are_named(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: Path) -> bytes:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("gsum_assets.pipeline.corpus_settings.read_if_exists", refuse)
    monkeypatch.setattr("gsum_assets.corpus.queries.read_if_exists", refuse)
    with pytest.raises(CorpusError, match=r"corpus\.toml: no permission to read it"):
        load_settings(folder)
    with pytest.raises(CorpusError, match=r"queries\.jsonl: no permission to read it"):
        load_queries(folder, set())
