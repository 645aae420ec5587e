"""P, R and F1 of re-ranking by clusters on ODSum, at the level of documents.

Run as `python -m benchmarks.gae.retrieval`; GSUM_DATASETS names the folder of datasets.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.gae.corpora import LANGUAGE, corpus, index
from benchmarks.odsum import scores_of
from gsum_assets.gae.rank import Tables, rank
from gsum_assets.gae.settings import (
    ClusterSettings,
    GaeSettings,
    GraphSettings,
    RerankSettings,
    TrainingSettings,
)
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.words import Words

STORIES, MEETINGS = (3, 8, 10), (1, 3, 6)  # cut-offs
DEFAULT = GaeSettings()
PAPER = "paper's settings: 3 layers, DBSCAN 0.5"
CENTRED = "the same, centred"
NEIGHBOURS = "paper's, neighbours alone"
_RAW = ClusterSettings(unit_length=False, dbscan_eps=0.5)
_THREE_LAYERS = TrainingSettings(layers=3, centred=False)
TRAINED = {
    "default": DEFAULT,
    PAPER: GaeSettings(training=_THREE_LAYERS, clusters=_RAW),
    CENTRED: GaeSettings(training=TrainingSettings(layers=3), clusters=_RAW),
    NEIGHBOURS: GaeSettings(
        graph=GraphSettings(n_nearest=0), training=_THREE_LAYERS, clusters=_RAW
    ),
}
NORMALIZED = RerankSettings(scores="normalized")

PUBLISHED = {  # table 2 of the paper: all 635 and 436 questions, a larger embedder
    "story": ["published", "all", "74.0/30.0/42.7", "56.0/52.7/54.3", "48.9/56.7/52.5"],
    "meeting": ["published", "all", "31.2/16.8/21.8", "24.7/35.3/29.1", "18.5/50.8/27.1"],
}


@cache
def _index(name: str, settings: str = "default") -> Tables:
    print(f"{name}, {settings}: trains and clusters", file=sys.stderr, flush=True)
    return index(name, TRAINED[settings])


def stories() -> Measurement:
    """Published settings, each way of clustering, and the default, beside the published row.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    return _measured("story", STORIES)


def meetings() -> Measurement:
    """The same for ODSum-Meeting.

    Raises
    ------
    MissingDataError
        If ODSum-Meeting is not there.
    """
    return _measured("meeting", MEETINGS)


def _measured(name: str, cutoffs: Sequence[int]) -> Measurement:
    here = corpus(name)
    shown = ", ".join(
        f"{row['level']} in {row['scope']} {row['clustering']} (weight {row['weight']:.2f})"
        for row in _index(name).clusterings.to_pylist()
        if row["is_chosen"]
    )
    return Measurement(
        f"gae: retrieval of documents, ODSum-{name.capitalize()}",
        f"{len(here.collection.document_ids):,} documents, {len(here.asked)} questions; percent, "
        "P/R/F1, F1 that of the means as in the paper. Where a row names a clustering, re-ranking "
        "is the published one over `hybrid` (0.6 BM25 + 0.4 cosine), with 10 K candidates for "
        f"each K. Chosen without labels: {shown}.",
        ["method", "split", *(f"at {k}" for k in cutoffs)],
        [PUBLISHED[name], *_rows(name, cutoffs)],
    )


def _rows(name: str, cutoffs: Sequence[int]) -> Iterator[list[str]]:
    here = corpus(name)
    words = Words(LANGUAGE)
    found = rank_questions(
        lambda scope: RETRIEVERS["hybrid"](scope, words), here.questions, here.collection
    )
    yield from _by_split("hybrid", name, [found] * len(cutoffs), cutoffs)
    for title in (PAPER, CENTRED, NEIGHBOURS):
        yield from _published(title, name, _only(_index(name, title), "dbscan"), cutoffs)
    ways = _index(name)
    for clustering in dict.fromkeys(ways.clusterings["clustering"].to_pylist()):
        yield from _published(f"2 layers, {clustering}", name, _only(ways, clustering), cutoffs)
    normalized = _only(ways, "leiden-3")
    yield from _published("2 layers, leiden-3, normalized", name, normalized, cutoffs, NORMALIZED)
    for method in ("gae-no-rerank", "gae"):
        found = rank(
            method,
            here.collection,
            here.questions,
            ways,
            LANGUAGE,
            DEFAULT.contexts.k,
            DEFAULT.rerank,
        )
        yield from _by_split(method, name, [found] * len(cutoffs), cutoffs)


def _only(tables: Tables, clustering: str) -> Tables:
    """Tables in which DBSCAN, which `gae-dbscan` goes by, is another way of clustering."""
    renamed = []
    for rows in tables:
        names = np.array(rows["clustering"].to_pylist())
        rows = rows.filter(pa.array(names == clustering))
        column = rows.schema.get_field_index("clustering")
        renamed.append(rows.set_column(column, "clustering", pa.repeat("dbscan", rows.num_rows)))
    return Tables(*renamed)


def _published(
    title: str,
    name: str,
    tables: Tables,
    cutoffs: Sequence[int],
    settings: RerankSettings = DEFAULT.rerank,
) -> Iterator[list[str]]:
    here = corpus(name)
    rankings = [
        rank("gae-dbscan", here.collection, here.questions, tables, LANGUAGE, k, settings)
        for k in cutoffs
    ]
    yield from _by_split(title, name, rankings, cutoffs)


def _by_split(
    title: str, name: str, rankings: Sequence[pa.Table], cutoffs: Sequence[int]
) -> Iterator[list[str]]:
    """A row for each split; a cut-off's ranking is that for its K."""
    asked = corpus(name).asked
    splits = np.array([query.split for query in asked])
    cells: dict[str, list[str]] = {split: [] for split in dict.fromkeys(splits.tolist())}
    for ranking, k in zip(rankings, cutoffs, strict=True):
        scores = scores_of(ranking, asked, [k])
        values = np.array([[row[f"p@{k}"], row[f"r@{k}"]] for row in scores])
        for split, row in cells.items():
            precision, recall = 100 * values[splits == split].mean(axis=0)
            f1 = 2 * precision * recall / (precision + recall) if precision + recall else 0.0
            row.append(f"{precision:.1f}/{recall:.1f}/{f1:.1f}")
    for split, row in cells.items():
        yield [title, split, *row]


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for measure in (stories, meetings):
        measure().show()


if __name__ == "__main__":
    main()
