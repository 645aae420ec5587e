"""BM25 on the 375 questions of ODSum-Story: our index and ranking beside bm25s' own.

    GSUM_DATASETS=../shared/datasets python benchmarks/bm25.py

Both sides split the same texts with the same `Words`, and return the 100 best sections of each
question, sorted. Ours breaks ties by id besides. Times are medians of several rounds taken in
turn; a ratio above 1 means that ours is faster.
"""

import os
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import bm25s

from gsum_assets.corpus.importers.odsum import read_odsum_story
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.ranking import DEPTH, top

STORIES = Path(os.environ.get("GSUM_DATASETS", "../shared/datasets")) / "odsum" / "story"
ROUNDS = 15
SETTINGS = Bm25Settings()


def plain_index(texts: list[str]) -> bm25s.BM25:
    """bm25s as its documentation uses it."""
    index = bm25s.BM25(k1=SETTINGS.k1, b=SETTINGS.b)
    index.index([SETTINGS.words.split(text) for text in texts], show_progress=False)
    return index


def medians(*sides: Callable[[], Any]) -> list[float]:
    """Median seconds of each side, the sides taking turns."""
    seconds: list[list[float]] = [[] for _ in sides]
    for _ in range(ROUNDS):
        for taken, side in zip(seconds, sides, strict=True):
            start = time.perf_counter()
            side()
            taken.append(time.perf_counter() - start)
    return [statistics.median(taken) for taken in seconds]


def main() -> None:
    """Print the table."""
    contents = read_odsum_story(STORIES)
    ids = [document.document_id for document in contents.documents]
    texts = [document.text for document in contents.documents]
    asked = [query.retrieval_text for query in contents.queries]
    split = SETTINGS.words.split
    ours, plain = Bm25Index(texts, SETTINGS), plain_index(texts)

    print(f"{len(texts)} texts, {len(asked)} questions, depth {DEPTH}, median of {ROUNDS} rounds")
    print(f"{'':<24}{'bm25s, s':>10}{'ours, s':>10}{'ratio':>8}")
    for name, sides in {
        "split and index": (lambda: plain_index(texts), lambda: Bm25Index(texts, SETTINGS)),
        "split, score and rank": (
            lambda: plain.retrieve(list(map(split, asked)), k=DEPTH, show_progress=False),
            lambda: top(ours.scores(asked), ids, DEPTH),
        ),
    }.items():
        theirs, own = medians(*sides)
        print(f"{name:<24}{theirs:>10.4f}{own:>10.4f}{theirs / own:>8.2f}")


if __name__ == "__main__":
    main()
