"""Run `gsum run` next to a busy daemon many times: nothing missing, all current, right status.

    python -m tests.daemon_trials --times 50

Starts `gsum ui` on a home of its own with a server of models, and takes turns: a new folder, an
edit, a new document, each followed by `gsum run` of one method, while the daemon writes the other
methods that `corpus.toml` names. Prints a line for each run, and ends with status 1 where
one of them ended wrongly.
"""

import argparse
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.refresh.staleness import Staleness
from tests.conftest import House, document_in, keep_no_step_logs, text_of
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.servers.scripted import scripted_process
from tests.ui.served import served

MODELS = "backend = 'openai_compatible'\nmodel = 'scripted'\napi_key_env = ''\nbase_url = '{}'\n"
DAEMONS = ["tfidf", "random", "hybrid"]  # what the daemon starts by itself in a new folder
METHODS = ("bm25", "dense")
TABLES = ("documents", "chunks", "chunk_embeddings", "summaries", "scores", "leaderboard")
INTERVAL_S = 5
NEW_FOLDER_EVERY = 5
LONGEST_PAUSE_S = 12.0


@dataclass(frozen=True)
class Trial:
    """One `gsum run` and what its tables said afterwards.

    Attributes
    ----------
    problems : what was wrong, a line each.
    """

    corpus: str
    method: str
    seconds: float
    status: int
    said: str
    failures: list[str]


@contextmanager
def busy_home(root: Path) -> Iterator[House]:
    """A home without corpora that a daemon watches."""
    with scripted_process(root / "asked.jsonl") as server, house_at(root) as house:
        models = MODELS.format(server.base_url)
        (root / "gsum.toml").write_text(f"[llm]\n{models}[embedding]\n{models}")
        keep_no_step_logs(house.home)
        house.folder.rmdir()
        with served(root, INTERVAL_S):
            yield house


def trials(house: House, n: int, longest_pause_s: float = LONGEST_PAUSE_S) -> Iterator[Trial]:
    """Change something, run, and check the tables, n times."""
    workspace = open_workspace(house.home)
    pauses = random.Random(0)
    corpus = ""
    for number in range(n):
        if number % NEW_FOLDER_EVERY == 0:
            corpus = f"tales-{number}"
            _furnish(house.home.corpora / corpus)
        else:
            document = document_in(number % 8)
            text = text_of(f"{document} of turn {number}")
            (house.home.corpora / corpus / f"{document}.txt").write_text(text)
        time.sleep(pauses.uniform(0, longest_pause_s))  # the daemon may have begun by then
        yield _trial(house, workspace, corpus, METHODS[number % 2])


def _furnish(folder: Path) -> None:
    folder.mkdir()
    documents = [document_in(bucket) for bucket in range(0, 8, 2)]
    for document in documents:
        (folder / f"{document}.txt").write_text(text_of(document))
    question = {"text": "Who met the clerk?", "references": ["The winter met the clerk."]}
    lines: list[dict | str] = [{**question, "query_id": d, "document_id": d} for d in documents[:2]]
    write_lines(folder / "queries.jsonl", lines)
    (folder / "corpus.toml").write_text(f"methods = {DAEMONS}\n{WITHOUT_BERTSCORE}")


def _trial(house: House, workspace: Workspace, corpus: str, method: str) -> Trial:
    gsum = str(Path(sys.executable).with_name("gsum"))
    began = time.monotonic()
    done = subprocess.run(
        [gsum, "run", corpus, "--methods", method],
        env={**os.environ, "GSUM_HOME": str(house.home.root), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    seconds = time.monotonic() - began
    failures = list(_failures(house, workspace, corpus, method))
    if done.returncode:
        failures.append(f"status {done.returncode}")
    return Trial(corpus, method, seconds, done.returncode, done.stdout + done.stderr, failures)


def _failures(house: House, workspace: Workspace, corpus: str, method: str) -> Iterator[str]:
    """Yield the missing and stale assets that a method needs."""
    for step in Staleness(workspace, corpus, frozenset([method])).due():
        yield f"{step.name} is missing or out of date"
    rows = {name: house.table(name, corpus) for name in TABLES}
    for name in ("summaries", "scores", "leaderboard"):
        if method not in rows[name]["method"].to_pylist():
            yield f"{name} has no row of {method}"
    if rows["chunks"].num_rows != rows["chunk_embeddings"].num_rows:
        yield f"{rows['chunk_embeddings'].num_rows} embeddings of {rows['chunks'].num_rows} chunks"
    texts = {f.stem: f.read_text() for f in (house.home.corpora / corpus).glob("*.txt")}
    stored = (rows["documents"][name].to_pylist() for name in ("document_id", "text"))
    if dict(zip(*stored, strict=True)) != texts:
        yield "documents are not those of the folder"


def main(times: int) -> int:
    """Print each trial and a summary; the exit status."""
    found, seconds = 0, []
    with TemporaryDirectory(prefix="gsum-beside-") as folder, busy_home(Path(folder)) as house:
        for number, trial in enumerate(trials(house, times), start=1):
            said = "; ".join(trial.failures) or "all current"
            waited = trial.said.count("waiting for")
            print(
                f"{number:3d} {trial.corpus} {trial.method:5} {trial.seconds:6.1f} s, "
                f"{waited} waits: {said}",
                flush=True,
            )
            seconds.append(trial.seconds)
            if trial.failures:
                found += 1
                print(trial.said, flush=True)
        with house.instance() as instance:
            of_daemon = sum("dagster/sensor_name" in run.tags for run in instance.get_runs())
    seconds.sort()
    print(
        f"{times} runs, {found} wrong; median {seconds[len(seconds) // 2]:.1f} s, longest "
        f"{seconds[-1]:.1f} s; the daemon started {of_daemon} runs beside them"
    )
    return 1 if found else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--times", type=int, default=50)
    sys.exit(main(parser.parse_args().times))
