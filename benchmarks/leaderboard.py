"""How long a corpus's scores and leaderboard take, from the answers that a home has stored.

    GSUM_HOME=HOME gsum import qmsum ../shared/datasets/qmsum/val.jsonl.gz --corpus qmsum-val
    GSUM_HOME=HOME gsum run qmsum-val
    python -m benchmarks.leaderboard --home HOME --corpus qmsum-val

A copy of the home without scores, leaderboard and any memo is brought up to date four times:
everything again (no BERTScore is stored), again after scores and leaderboard were removed
(BERTScore is remembered), after the leaderboard alone was removed, and when nothing changed. Each
time is that of `gsum run` as a process of its own, start included.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks import Measurement
from benchmarks.results import parser_of, publish
from gsum_assets.automation.staleness import Requests
from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import ParquetStore

BOARD = ("leaderboard", "comparisons", "costs")
CASES = {
    "all anew": ("scores", *BOARD, "_memo"),
    "BERTScore remembered": ("scores", *BOARD),
    "leaderboard alone": BOARD,
    "nothing changed": (),
}


def copy_of(home: Path, corpus: str, target: Path) -> None:
    """The corpus with its tables, without memos and Dagster's log."""
    for part in (f"corpora/{corpus}", *_tables(home, corpus)):
        shutil.copytree(home / part, target / part)
    given, copied = (ParquetStore(str(root / "warehouse")) for root in (home, target))
    Requests(copied).add(corpus, Requests(given).of(corpus) or ())


def _tables(home: Path, corpus: str) -> list[str]:
    found = (home / "warehouse").glob(f"*/corpus={corpus}")
    return sorted(str(path.relative_to(home)) for path in found)


def seconds_of_run(home: Path, corpus: str) -> float:
    """Wall time of `gsum run`; its output is shown if it fails."""
    command = [str(Path(sys.executable).with_name("gsum")), "run", corpus]
    environment = {**os.environ, "GSUM_HOME": str(home)}
    started = time.perf_counter()
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - started
    if done.returncode:
        sys.exit(done.stdout + done.stderr)
    return taken


def measure(home: Path, corpus: str) -> Measurement:
    """Run each case once, in order: every one depends on the state that the previous one left."""
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "home"
        copy_of(home, corpus, copy)
        seconds_of_run(copy, corpus)  # the home's code may be that of another day
        for case, removed in CASES.items():
            for name in removed:
                inside = "" if name == "_memo" else f"corpus={corpus}"
                shutil.rmtree(copy / "warehouse" / name / inside, ignore_errors=True)
            rows.append([case, f"{seconds_of_run(copy, corpus):.1f}"])
        methods = len(list((copy / f"warehouse/scores/corpus={corpus}").iterdir()))
        n_questions = ParquetStore(str(copy / "warehouse")).count(TABLES["queries"], corpus)
    return Measurement(
        "Scores and leaderboard from stored answers",
        f"{corpus}: {methods} methods, {n_questions} questions; `gsum run`, process start "
        "included.",
        ["case", "seconds"],
        rows,
    )


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--corpus", required=True)
    chosen = parser.parse_args()
    publish("leaderboard", measure(chosen.home, chosen.corpus), chosen.store)


if __name__ == "__main__":
    main()
