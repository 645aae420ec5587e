"""Tables of measurements in the docs equal the result files."""

import json
import re
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import pytest

from benchmarks import Measurement, results
from benchmarks.docs import BLOCK, COMMAND, filled, is_removed, pages
from benchmarks.results import ROOT, command_line, read, store

PUBLISHED: dict[tuple[str, str], str] = {}
"""Tables of figures that a paper reports: page and first cells of the header, and the paper."""

PAGES = pytest.mark.parametrize("page", pages(), ids=lambda page: str(page.relative_to(ROOT)))
STORED = sorted(results.RESULTS.glob("*.json"))

TABLE = Measurement("Speed", "One run.", ["", "s"], [["ours", "1.5"], ["theirs", "2.5"]])


@PAGES
def test_every_block_equals_its_result_file(page: Path) -> None:
    text = page.read_text("utf-8")
    assert text == filled(text), "run `python -m benchmarks.docs`"


@PAGES
def test_no_measured_table_is_outside_a_block(page: Path) -> None:
    name = str(page.relative_to(ROOT))
    found = measured_tables(page.read_text("utf-8"))
    assert [header for header in found if (name, header) not in PUBLISHED] == []


def test_every_result_file_is_shown_with_its_origin() -> None:
    text = "\n".join(page.read_text("utf-8") for page in pages())
    shown = {found["name"] for found in BLOCK.finditer(text)}
    assert {path.stem for path in STORED} == shown
    for path in STORED:
        result = read(path.stem)
        assert "python -m " in result.command, path.name
        assert re.fullmatch(r"[0-9a-f]{7,}", result.commit), path.name
        assert result.is_clean, f"{path.name}: store it from a committed state"
        assert date.fromisoformat(result.date) <= date.today(), path.name
        assert result.tables, path.name


@PAGES
def test_every_command_that_measures_exists_or_names_its_commit(page: Path) -> None:
    assert removed_without_commit(page.read_text("utf-8")) == []


def test_removed_command_without_commit_is_found() -> None:
    assert removed_without_commit("Run `python -m benchmarks.store --rounds 3`.") == []
    assert removed_without_commit("Run `python -m benchmarks.growing change --edits 8`.") == []
    for command in ("gone", "growing shrink", "store --fast", "evidence val"):
        assert removed_without_commit(f"Run `python -m benchmarks.{command}`.") != []
        assert removed_without_commit(f"In commit d4014d8 `python -m\nbenchmarks.{command}`.") == []
    apart = "In commit d4014d8.\n\nRun `python -m\nbenchmarks.gone`."
    assert removed_without_commit(apart) == ["python -m benchmarks.gone"]


def test_hand_written_table_is_found_anywhere() -> None:
    table = "| method | ROUGE-1 |\n|---|---|\n| `jerr` | **50.0** [40.0, 60.0] |\n"
    assert list(measured_tables(f"Text.\n\n{table}\nMore.")) == ["method | ROUGE-1"]
    assert list(measured_tables(table.replace("**50.0** [40.0, 60.0]", "±4,313"))) != []
    assert list(measured_tables(table.replace("**50.0** [40.0, 60.0]", "as in 4.1"))) == []
    assert list(measured_tables(f"<!-- sql -->\n{table}<!-- /sql -->\n")) == []
    assert list(measured_tables(f"```\n{table}```\n")) == ["method | ROUGE-1"]
    settings = "| key | default |\n|---|---|\n| `near` | 0.75 |\n"
    assert list(measured_tables(settings)) == []


def test_block_is_filled_from_its_file(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(results, "RESULTS", tmp_path)
    monkeypatch.setattr(results, "_state", lambda: ("abc1234", True))
    store("speed", "python -m benchmarks.speed", [TABLE, TABLE])
    page = "Before.\n\n<!-- result speed 2 -->\nold\n<!-- /result -->\n\nAfter.\n"
    once = filled(page)
    assert "| theirs | 2.5 |" in once
    assert "`python -m benchmarks.speed`, commit abc1234, 2" in once
    assert once.count("| ours ") == 1
    assert filled(once) == once
    assert once.startswith("Before.\n")
    assert once.endswith("\nAfter.\n")
    with pytest.raises(ValueError, match="2 tables, not 3"):
        filled(page.replace("speed 2", "speed 3"))


def test_stored_result_reads_back_equal(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setattr(results, "ROOT", tmp_path)
    monkeypatch.setattr(results, "RESULTS", tmp_path / "docs")
    monkeypatch.setattr(results, "_state", lambda: ("abc1234", False))
    path = store("speed", "python -m benchmarks.speed", [TABLE])
    found = read("speed")
    assert (found.tables, found.commit, found.is_clean) == ([TABLE], "abc1234", False)
    assert "core" in json.loads(path.read_text())["machine"]
    with pytest.raises(FileNotFoundError, match=r"'slow'.*--store"):
        read("slow")
    with pytest.raises(ValueError, match="'empty' has no table"):
        store("empty", "python -m benchmarks.empty", [])


def test_command_has_no_machine_path_and_no_name_of_its_result() -> None:
    argv = "python -m benchmarks.board --home /tmp/x --store board --corpus qmsum --json=/a/b /c.py"
    environ = {"OMP_NUM_THREADS": "1", "HOME": "/root"}
    assert command_line(argv.split(), environ, "board") == (
        "OMP_NUM_THREADS=1 python -m benchmarks.board --home HOME --corpus qmsum --json=JSON c.py"
    )


def measured_tables(text: str) -> Iterator[str]:
    """Headers of the tables with a measured figure outside of blocks, without an origin.

    The origin is a commit, or a table of a paper, named in the section. Settings are no figures.
    """
    free = re.sub(r"^<!-- (\w+)\b.*?^<!-- /\1 -->$", "", text, flags=re.MULTILINE | re.DOTALL)
    for section in re.split(r"^(?=#)", free, flags=re.MULTILINE):
        if re.search(r"\bcommit\s+[0-9a-f]{7}|\bpaper's table\b", section):
            continue
        for table in re.findall(r"(?:^\|.*\|\n?)+", section, re.MULTILINE):
            header, *rows = [
                [cell.strip() for cell in line.strip("|").split("|")] for line in table.splitlines()
            ]
            is_figure = re.compile(r"\W*\d+(\.\d|,\d{3})").match
            figures = [cell for row in rows for cell in row if is_figure(cell)]
            if figures and {"default", "setting", "`settings.yaml`"}.isdisjoint(header):
                yield " | ".join(header)


def removed_without_commit(text: str) -> list[str]:
    """Commands of removed scripts in paragraphs that name no commit; a fence is a paragraph."""
    commands = []
    for paragraph in re.split(r"\n\s*\n", text):
        if not re.search(r"\bcommit\s+[0-9a-f]{7}", paragraph):
            shown = (
                re.sub(r"(`[^`\n]*)\n", r"\1 ", paragraph) if "```" not in paragraph else paragraph
            )
            commands += [c.group().strip() for c in COMMAND.finditer(shown) if is_removed(c)]
    return commands
