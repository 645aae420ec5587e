"""gsum over the same passages and the same server: memo, ledger of calls and provenance on."""

import os
import sys
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

from benchmarks.graphrag.instant import MODEL
from benchmarks.graphrag.measured import Usage, run_measured
from benchmarks.graphrag.passages import MOST_TOKENS
from benchmarks.graphrag.theirs import N_CONCURRENT
from gsum_assets.tables import TABLES
from gsum_resources.home import Home
from gsum_resources.instance import open_instance
from gsum_resources.parquet_store import ParquetStore

CORPUS = "passages"
METHODS = ("graphrag-c0", "graphrag-local")  # together they want all that the package's index has
_TABLES = ("entities", "relationships", "communities", "community_reports")

_CORPUS = f"""\
methods = []

[chunking]
max_tokens = {MOST_TOKENS}
overlap_tokens = 0

[graphrag.extraction]
gleanings = 1
claims = false
"""
_SERVED = """\
[{table}]
backend = "openai_compatible"
model = "{model}"
base_url = "{base_url}"
api_key_env = ""
max_concurrent = {n_concurrent}
"""


def index(home: Path, texts: dict[str, str], base_url: str) -> Usage:
    """Bring a corpus of `texts` (by file name) up to date in the new home `home`."""
    folder = home / "corpora" / CORPUS
    folder.mkdir(parents=True)
    for name, text in texts.items():
        (folder / name).write_text(text)
    (folder / "corpus.toml").write_text(_CORPUS)
    served = {"model": MODEL, "base_url": base_url, "n_concurrent": N_CONCURRENT}
    tables = [_SERVED.format(table=table, **served) for table in ("llm", "embedding")]
    (home / "gsum.toml").write_text("\n".join(tables))
    gsum = Path(sys.executable).with_name("gsum")
    command = [str(gsum), "run", CORPUS, "--methods", ",".join(METHODS)]
    # gsum refuses variables of its prefix that are no settings, and settings would change the run
    environment = {name: "" for name in os.environ if name.startswith("GSUM_")}
    environment |= {"GSUM_HOME": str(home), "DAGSTER_HOME": str(home / "dagster")}
    return run_measured(command, environment, home, home / "output.log")


def n_rows(home: Path) -> dict[str, int]:
    """Rows of the tables that the package has too."""
    store = ParquetStore(_home(home).warehouse)
    counted = {"text_units": TABLES["chunks"]}
    counted |= {name: TABLES[f"graphrag.{name}"] for name in _TABLES}
    return {name: store.count(table, CORPUS) for name, table in counted.items()}


class Spent(NamedTuple):
    """Where the seconds of `gsum run` went, by Dagster's event log.

    Attributes
    ----------
    steps : seconds of each step, over all runs, longest first.
    starting : until the first run began: start of the process, imports.
    within : seconds of the runs outside their steps.
    between : between the runs and after the last: what is due is found out, results are shown.
    """

    steps: dict[str, float]
    starting: float
    within: float
    between: float


def spent(home: Path, usage: Usage) -> Spent:
    """Where the time of one index went; `usage` is what `index` returned for that home."""
    steps: dict[str, float] = defaultdict(float)
    runs: list[tuple[float, float]] = []
    with open_instance(_home(home)) as instance:
        for run in instance.get_run_records():
            runs.append((run.start_time or 0.0, run.end_time or 0.0))
            for step in instance.get_run_step_stats(run.dagster_run.run_id):
                if step.start_time and step.end_time:
                    steps[step.step_key] += step.end_time - step.start_time
    starting = min(began for began, _ in runs) - usage.began
    in_runs = sum(ended - began for began, ended in runs)
    return Spent(
        dict(sorted(steps.items(), key=lambda item: -item[1])),
        starting,
        in_runs - sum(steps.values()),
        usage.wall_s - starting - in_runs,
    )


def _home(root: Path) -> Home:
    return Home(root, str(root / "warehouse"))
