"""Tables to draw: of any size, with names that a careless plot would stumble over."""

from functools import cache

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.comparisons import comparisons, groups
from gsum_assets.evaluation.leaderboard import leaderboard, ranked_by_kind
from gsum_assets.pipeline.tables import TABLES
from tests.rows import question_rows

ODD_NAMES = ["_hidden", "a$b$_{c", "会议记录", "two\nlines\x07", "x" * 300, "\\frac", "&<b>", " "]


def with_names(names: list[str], n: int) -> list[str]:
    """`n` names, in turn."""
    return [names[i % len(names)] for i in range(n)]


def scores(n: int, names: list[str]) -> pa.Table:
    """`n` questions; the names are those of metrics."""
    values = np.random.default_rng(n).random(n)
    rows = [
        {"query_id": f"q{i:05d}", "metric": metric, "value": values[i], "latency_s": 0.1}
        for i in range(n)
        for metric in names
    ]
    return pa.Table.from_pylist(rows, TABLES["scores"].schema)


def ranked(n: int, names: list[str]) -> dict:
    """A leaderboard by kind; the names are those of methods, in two kinds of question."""
    return _ranked(n, tuple(names))


@cache
def _ranked(n: int, names: tuple[str, ...]) -> dict:
    rows = ({"query_id": f"q{i:05d}", "kind": ("general", "specific")[i % 2]} for i in range(n))
    by_method = [
        scores(n, ["rouge1", "mrr"]).append_column("method", pa.array([name] * 2 * n, pa.string()))
        for name in names
    ]
    grouped = groups(question_rows(*rows), pa.concat_tables(by_method))
    return ranked_by_kind(leaderboard(grouped, comparisons(grouped), {}))


def costs(names: list[str]) -> list[dict]:
    """Return the costs of each method for ten questions and two documents, in all units."""
    used = {"calls": 10, "tokens_out": 1_000}
    return [
        {"method": name, "stage": stage, "n": n, "tokens_in": 900 * (i + 1) * n, **used}
        | {"latency_s": 0.01 * (i + 1) ** 2, "cost_usd": 0.001 * i}
        for i, name in enumerate(names)
        for stage, n in (("index", 2), ("query", 10))
    ]


def training_log(n: int) -> pa.Table:
    """`n` epochs whose losses fall; nothing is minimized by ranking."""
    epochs = np.arange(1, n + 1)
    columns = dict.fromkeys(("loss", "loss_cl", "entropy", "learning_rate"), 5 / epochs)
    return pa.table({"epoch": epochs, **columns, "loss_rank": np.zeros(n)})
