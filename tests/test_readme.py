"""The README is short, and the commands that it shows exist."""

import re
from pathlib import Path

from gsum_assets.cli.main import main

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text("utf-8")
COMMANDS = re.findall(r"^\$ (.+?)(?: +#.*)?$", README, re.MULTILINE)


def test_the_readme_is_short_and_begins_with_a_picture_and_an_answer() -> None:
    lines = README.splitlines()
    assert len(lines) <= 200
    first = "\n".join(lines[:60])
    assert re.search(r'<img src="docs/[\w-]+\.png" alt="', first)
    assert "$ gsum init " in first
    assert "$ gsum ask sample-meetings " in first
    assert "\nsources:\n" in first


def test_the_two_commands_come_first() -> None:
    assert COMMANDS[:2] == ["make demo", "make test"]
    targets = set(re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    assert {c.removeprefix("make ") for c in COMMANDS if c.startswith("make ")} <= targets


def test_ci_runs_the_test_command_of_the_readme_the_linters_and_the_docs() -> None:
    lines = (ROOT / ".ci" / "run").read_text().splitlines()
    commands = [line for line in lines if line.startswith("make ")]
    assert commands == [COMMANDS[1], "make test-slow", "make lint", "make docs"]


def test_every_command_is_named() -> None:
    named = set(re.findall(r"`gsum ([a-z]+)\b", README))
    assert set(main.commands) <= named
