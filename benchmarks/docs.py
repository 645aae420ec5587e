"""Fill the tables of the docs from the result files.

    python -m benchmarks.docs [--sql HOME]

A block `<!-- result NAME N -->` … `<!-- /result -->` holds the N-th table of
`docs/results/NAME.json`, without N all of them, and a line with command, commit and date. Edit
neither: store the result again (`benchmarks/results.py`) and run this. A command whose script was
removed says so; it runs at its commit.

`--sql` also repeats every `$ gsum sql "…"` of docs/sql.md on a home and shows what it prints.
"""

import argparse
import os
import re
import subprocess
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from benchmarks import Measurement
from benchmarks.growing.__main__ import MEASUREMENTS
from benchmarks.results import ROOT, Result, read

BLOCK = re.compile(
    r"^<!-- result (?P<name>[\w.-]+)(?: (?P<number>\d+))? -->\n.*?^<!-- /result -->$",
    re.MULTILINE | re.DOTALL,
)
SQL = re.compile(r'^\$ gsum sql "(?P<query>[^"]+)"\n.*?^```', re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"python -m (?P<module>benchmarks[\w.]*)(?P<arguments>[^`\n#]*)")
SUBCOMMANDS = {"benchmarks.evidence": ("train",), "benchmarks.growing": MEASUREMENTS}
_WIDTH = 100


def pages() -> list[Path]:
    """Return the files that may hold blocks."""
    return [
        ROOT / "README.md",
        ROOT / "benchmarks" / "README.md",
        *sorted((ROOT / "docs").glob("*.md")),
    ]


def filled(text: str) -> str:
    """Return a page with every block as its result file has it."""
    return BLOCK.sub(lambda found: _block(found["name"], found["number"]), text)


def is_removed(command: re.Match[str]) -> bool:
    """Return whether a match of `COMMAND` names a script, a subcommand or an option of the past."""
    module, arguments = command["module"], command["arguments"].split()
    path = ROOT.joinpath(*module.split("."))
    files = list(path.glob("*.py")) if path.is_dir() else [path.with_suffix(".py")]
    if not all(file.exists() for file in files) or not files:
        return True
    known = SUBCOMMANDS.get(module)
    if known and arguments and arguments[0] not in known and not arguments[0].isupper():
        return True
    source = "".join(file.read_text("utf-8") for file in (*files, ROOT / "benchmarks/results.py"))
    options = {word.partition("=")[0] for word in arguments if word.startswith("--")}
    return any(f'"{option}"' not in source for option in options)


def _block(name: str, number: str | None) -> str:
    result = read(name)
    tables: Sequence[Measurement] = result.tables
    if number:
        if not 1 <= int(number) <= len(tables):
            raise ValueError(
                f"result {name!r} has {len(tables)} tables, not {number}; mend the block"
            )
        tables = [tables[int(number) - 1]]
    opening = f"<!-- result {name}{f' {number}' if number else ''} -->"
    shown = [_shown(table) for table in tables]
    return "\n\n".join([f"{opening}", *shown, _origin(result)]) + "\n<!-- /result -->"


def _shown(table: Measurement) -> str:
    about = f"**{table.title}.** {table.notes}".strip()
    return f"{_wrapped(about)}\n\n{table.markdown()}"


def _origin(result: Result) -> str:
    state = "" if result.is_clean else " with changes that are not committed"
    command = COMMAND.search(result.command)
    past = " Removed since: benchmarks/README.md says how to run it."
    return _wrapped(
        f"`{result.command}`, commit {result.commit}{state}, {result.date}; {result.machine}."
        f"{past if command and is_removed(command) else ''}"
    )


def _wrapped(text: str) -> str:
    return textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False)


def with_output(text: str, home: str) -> str:
    """Return a page with the output of each query that it shows, on a home."""

    def shown(console: re.Match[str]) -> str:
        done = subprocess.run(
            [sys.executable, "-m", "gsum_assets.cli.main", "sql", console["query"]],
            env={**os.environ, "GSUM_HOME": home, "COLUMNS": "110"},
            capture_output=True,
            text=True,
            check=True,
        )
        output = "\n".join(line.rstrip() for line in done.stdout.strip("\n").splitlines())
        return f'$ gsum sql "{console["query"]}"\n{output}\n```'

    return SQL.sub(shown, text)


def main() -> None:
    """Fill every page; print those that changed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sql", metavar="HOME")
    home = parser.parse_args().sql
    for page in pages():
        before = page.read_text("utf-8")
        after = filled(before)
        if home and page.name == "sql.md":
            after = with_output(after, home)
        if after != before:
            page.write_text(after, "utf-8")
            print(f"filled {page.relative_to(ROOT)}")


if __name__ == "__main__":
    main()
