"""Result files: what a benchmark measured, with command, commit, date and machine.

`python -m benchmarks.NAME` prints its tables; with `--store` it also writes
`docs/results/NAME.json`, from which `python -m benchmarks.docs` fills the tables of the docs. Store
from a committed state, so that the commit named is the code that was measured:

    git commit ... && python -m benchmarks.store --store && python -m benchmarks.docs

A benchmark's main is one line, `main(name, doc, measure)`; one with options of its own adds them to
`parser_of(doc)` and ends with `publish(name, tables, chosen.store)`.
"""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import Measurement
from gsum.statistics import compare, holm, intervals

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "docs" / "results"
Measured = Measurement | Iterable[Measurement]
Scores = Sequence[float] | Mapping[str, float]
"""Scores of a method's questions, in order or by question."""

_FEATURES = ("avx2", "avx512f", "avx512_bf16", "amx_bf16", "asimd", "sve", "bf16")
_NAMED = ("OMP_NUM_THREADS",)  # environment variables that change what is measured
COMPARED = ("n", "mean [95% interval]", "difference [95% interval]", "p")
"""Header of the cells of `compared`."""


@dataclass(frozen=True)
class Result:
    """Contents of one result file.

    Attributes
    ----------
    command : as a user types it.
    commit : short hash of the code that was measured.
    is_clean : whether everything but the docs was committed.
    date : of the end of the measurement, ISO, UTC.
    machine : cores, features of the processor that choose the kernels, and how busy it was.
    """

    command: str
    commit: str
    is_clean: bool
    date: str
    machine: str
    tables: Sequence[Measurement]


def main(name: str, doc: str | None, measure: Callable[[], Measured]) -> None:
    """Print the tables of a benchmark without options, and store them if `--store` is given."""
    chosen = parser_of(doc).parse_args()
    publish(name, measure(), chosen.store)


def parser_of(
    doc: str | None, prog: str | None = None, is_named: bool = False
) -> argparse.ArgumentParser:
    """Return a parser with the option `--store`, which takes the result's name if so chosen."""
    parser = argparse.ArgumentParser(
        prog=prog, description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    how: dict[str, Any] = {"metavar": "NAME"} if is_named else {"action": "store_true"}
    parser.add_argument("--store", help="write docs/results/NAME.json", **how)
    return parser


def publish(name: str, tables: Measured, is_stored: bool) -> None:
    """Print tables as they come, and store them all if so chosen."""
    kept = []
    for table in [tables] if isinstance(tables, Measurement) else tables:
        table.show()
        kept.append(table)
    if is_stored:
        command = command_line(sys.orig_argv, os.environ, name)
        print(f"\nwrote {store(name, command, kept)}")


def store(name: str, command: str, tables: Sequence[Measurement]) -> Path:
    """Write `docs/results/NAME.json`; return its path.

    Raises
    ------
    ValueError
        If there is no table.
    """
    if not tables:
        raise ValueError(f"result {name!r} has no table; store what was measured")
    commit, is_clean = _state()
    date = datetime.now(UTC).date().isoformat()
    result = Result(command, commit, is_clean, date, _machine(), tables)
    path = RESULTS / f"{name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", "utf-8")
    return path


def read(name: str) -> Result:
    """Return the stored result.

    Raises
    ------
    FileNotFoundError
        If there is none; names the file and the remedy.
    """
    path = RESULTS / f"{name}.json"
    if not path.exists():
        raise FileNotFoundError(
            f"result {name!r}: no {path.relative_to(ROOT)}; run its benchmark with --store"
        )
    fields = json.loads(path.read_text("utf-8"))
    tables = [Measurement(**table) for table in fields.pop("tables")]
    return Result(**fields, tables=tables)


def compared(
    values: Mapping[str, Scores],
    baseline: str,
    scale: float = 100,
    decimals: int = 2,
    controls: Mapping[str, Scores] | None = None,
) -> list[list[str]]:
    """Return a row a method, with the cells of `COMPARED`: each against the baseline, paired.

    p-values are those of sign-flip permutation tests, adjusted for the number of rows (Holm), so
    that with 95% no row of the table is falsely below 0.05.

    Parameters
    ----------
    values : scores by method: of the same questions in the same order, or by question; then a
        method is compared over the questions that both have.
    baseline : the method that the others are compared with; its row has no difference.
    scale : what a score is multiplied by when printed.
    controls : scores that stand for the baseline's in the comparison with a method.
    """
    by_question = {name: _by_question(scores) for name, scores in values.items()}
    pairs = {}
    for name, scores in by_question.items():
        control = _by_question((controls or {}).get(name, by_question[baseline]))
        common = [question for question in scores if question in control]
        pairs[name] = [scores[q] for q in common], [control[q] for q in common]
    differences = {name: compare(*pair) for name, pair in pairs.items() if name != baseline}
    adjusted = holm([difference.p_value for difference in differences.values()])
    p_values = dict(zip(differences, adjusted, strict=True))
    rows = []
    for name, (scores, _) in pairs.items():
        low, high = intervals(np.asarray(scores))[0]
        cells = [str(len(scores)), interval(float(np.mean(scores)), low, high, scale, decimals)]
        if name == baseline:
            cells += ["", ""]
        else:
            cells.append(interval(*differences[name][:3], scale, decimals, sign="+"))
            cells.append(p_text(p_values[name]))
        rows.append([name, *cells])
    return rows


def _by_question(scores: Scores) -> Mapping[Any, float]:
    return scores if isinstance(scores, Mapping) else dict(enumerate(scores))


def interval(
    mean: float, low: float, high: float, scale: float = 100, decimals: int = 2, sign: str = ""
) -> str:
    """Return a mean and its interval as a cell: 12.34 [11.00, 13.70]."""
    cells = [f"{scale * value:{sign}.{decimals}f}" for value in (mean, low, high)]
    return f"{cells[0]} [{cells[1]}, {cells[2]}]"


def p_text(p: float) -> str:
    """Return a p-value as a cell, with as many digits as 10,000 resamples give."""
    return "<0.001" if p < 0.001 else f"{p:.3f}"


def command_line(argv: Sequence[str], environ: Mapping[str, str], name: str = "") -> str:
    """Return the command as a user types it.

    `--store` is left out with the name after it, and an absolute path stands as the name of its
    option in capitals, since it would mean nothing on another machine.

    Parameters
    ----------
    argv : of the whole process, the interpreter first (`sys.orig_argv`).
    name : of the result.
    """
    pairs = zip(["", *argv[1:]], argv[1:], strict=False)
    words = [word for before, word in pairs if "--store" not in (word, word == name and before)]
    typed = []
    for before, word in zip(["", *words], words, strict=False):
        option, equals, value = word.rpartition("=")
        if not Path(value).is_absolute():
            typed.append(word)
        else:
            named = re.fullmatch(r"--([\w-]+)", option or before)
            kept = named[1].replace("-", "_").upper() if named else Path(value).name
            typed.append(f"{option}{equals}{kept}")
    named = [f"{name}={environ[name]}" for name in _NAMED if name in environ]
    return shlex.join([*named, "python", *typed])


def _state() -> tuple[str, bool]:
    """Short hash of the commit, and whether all but the docs is as committed."""

    def git(*arguments: str) -> str:
        done = subprocess.run(
            ["git", *arguments], cwd=ROOT, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise RuntimeError(
                f"git {' '.join(arguments)}: {done.stderr.strip()}; store results in a git checkout"
            )
        return done.stdout.strip()

    # docs change between two results, and nothing that is measured reads them
    return git("rev-parse", "--short", "HEAD"), not git("status", "--porcelain", "--", ":!docs")


def _machine() -> str:
    from gsum_resources.embedding.processor import physical_cores

    information = Path("/proc/cpuinfo")
    words = set(information.read_text().split()) if information.exists() else set()
    features = [feature for feature in _FEATURES if feature in words]
    n_cores = physical_cores()
    return (
        f"{n_cores} core{'s' * (n_cores != 1)}, {' '.join(features) or 'features unknown'}, "
        f"{os.getloadavg()[0]:.1f} processes running"
    )
