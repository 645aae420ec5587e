"""Comparisons of speed and grades of answers in one run, as Markdown tables; about six minutes.

    python -m benchmarks

Embedding, the store, BERTScore, Graph of Records, and the answers to the questions of
`tests/answers/` without a language model.
"""

import argparse
import importlib.metadata
import os
import platform
import time
from collections.abc import Callable

from benchmarks import (
    DATASETS,
    MissingDataError,
    answers,
    bertscore,
    embedding,
    gor_training,
    store,
)
from benchmarks.results import Measured, publish

PARTS: dict[str, Callable[[], Measured]] = {
    "embedding": embedding.measure,
    "store": store.measure,
    "bertscore": bertscore.measure,
    "gor_training": gor_training.measure,
    "answers": answers.measure,
}
COMPARED = "gsum", "sentence-transformers", "torch", "pyarrow", "bert-score"


def load() -> str:
    """How busy the machine is; a quiet one shows well under 1 before a run."""
    return f"{os.getloadavg()[0]:.1f} processes running on {os.cpu_count()} processors"


def main() -> None:
    """Print the tables, and in one line each what could not run."""
    argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__).parse_args()
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in COMPARED)
    print(f"# Benchmarks\n\nPython {platform.python_version()}, {versions}.")
    print(f"Before the run: {load()}. Datasets: {DATASETS}.")
    start = time.perf_counter()
    for name, measure in PARTS.items():
        try:
            publish(name, measure(), is_stored=False)
        except MissingDataError as error:
            print(f"\n{name}: not measured, {error}", flush=True)
    print(f"\nTook {time.perf_counter() - start:.0f} s. After the run: {load()}.")


if __name__ == "__main__":
    main()
