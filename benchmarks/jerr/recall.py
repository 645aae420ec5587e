"""How often the nodes found lead to the line chunk that holds the answer, on SQuALITY.

Tree search beside the ablation by PageRank (paper, table 4), and beside Personalized PageRank from
the nodes that match the question. A node leads to the line chunk among its own that matches the
question best; so `n` nodes lead to `n` line chunks at most, and often to fewer.
"""

from collections.abc import Mapping

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.jerr.stories import WORDS, Stories, load
from gsum.statistics import compare, intervals
from gsum_assets.jerr.search import search
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.jerr.variants import VARIANTS

CUT_OFFS = (1, 3, 5)
SIZES = (600, 2000)
TREE = "jerr"


def recall(stories: Stories, searches: pa.Table, k: int) -> np.ndarray:
    """1 for each question whose answer lies in the best line chunk of one of `k` nodes, else 0."""
    found: dict[str, set[str]] = {query_id: set() for query_id in stories.questions}
    for row in searches.select(["query_id", "place", "chunk_ids"]).to_pylist():
        if row["place"] <= k:
            found[row["query_id"]].add(row["chunk_ids"][0])
    return np.array([right in found[q] for q, (_, right) in stories.questions.items()], float)


def searched(stories: Stories, settings: SearchSettings) -> Mapping[str, pa.Table]:
    """Rows of `jerr.searches` for each way to search."""
    keywords = stories.tables["keywords"]
    return {
        variant: search(
            stories.queries, keywords, stories.space, VARIANTS[variant], settings, WORDS
        )
        for variant in (TREE, "jerr-pagerank", "jerr-ppr")
    }


def measure(split: str = "dev", settings: SearchSettings | None = None) -> Measurement:
    """Recall with 95% intervals."""
    rows, n = [], 0
    for size in SIZES:
        stories = load(split, size)
        n = len(stories.questions)
        found = searched(stories, settings or SearchSettings())
        values = {
            name: [recall(stories, rows, k) for k in CUT_OFFS] for name, rows in found.items()
        }
        n_chunks = len(stories.chunks) / len({chunk.document_id for chunk in stories.chunks})
        for name, columns in values.items():
            cells = [
                _cell(own, None if name == TREE else tree)
                for own, tree in zip(columns, values[TREE], strict=True)
            ]
            rows.append((f"{size} ({n_chunks:.1f} a story)", name, *cells))
    return Measurement(
        f"SQuALITY {split}: recall of the line chunk that holds the answer",
        f"{n} questions, extractive model; percent with 95% intervals, and what tree "
        "search has more than that (paired).",
        ("line chunks", "search", *(f"{k} node{'s' * (k > 1)}" for k in CUT_OFFS)),
        rows,
    )


def _cell(values: np.ndarray, tree: np.ndarray | None) -> str:
    low, high = intervals(values)[0]
    text = f"{100 * values.mean():.1f} [{100 * low:.1f}, {100 * high:.1f}]"
    if tree is None:
        return text
    more = compare(tree, values)
    return f"{text}; {100 * more.difference:+.1f} [{100 * more.low:+.1f}, {100 * more.high:+.1f}]"
