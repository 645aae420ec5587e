"""BM25 on the 375 questions of ODSum-Story: our index and ranking beside bm25s' own.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.bm25

Both sides split the same texts with the same `Words`, and return the 100 best sections of each
question, sorted. Ours breaks ties by id besides.
"""

import statistics

import bm25s
import numpy as np

from benchmarks import Measurement, median_ratio, required, take_turns
from benchmarks.results import main
from gsum_assets.corpus.importers.odsum import read_odsum_story
from gsum_assets.retrieval import postings
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.ranking import DEPTH, top

ROUNDS = 15
SETTINGS = Bm25Settings()


def plain_index(texts: list[str]) -> bm25s.BM25:
    """bm25s as its documentation uses it."""
    index = bm25s.BM25(k1=SETTINGS.k1, b=SETTINGS.b)
    index.index([SETTINGS.words.split(text) for text in texts], show_progress=False)
    return index


def fresh_index(texts: list[str]) -> Bm25Index:
    """Ours, without what was kept of the same texts."""
    postings._kept.clear()  # else only the first round would read them
    return Bm25Index(texts, SETTINGS)


def score_difference(plain: bm25s.BM25, ours: Bm25Index, asked: list[str], ids: list[str]) -> float:
    """The largest difference between the two sides' scores, rank by rank."""
    _, found = plain.retrieve(
        [SETTINGS.words.split(query) for query in asked], k=DEPTH, show_progress=False
    )
    scores = ours.scores(asked)
    best = np.take_along_axis(scores, top(scores, ids, DEPTH), axis=1)
    return float(np.abs(np.asarray(found) - best).max())


def measure(rounds: int = ROUNDS) -> Measurement:
    """Seconds to index the sections, and to rank the 100 best of each question.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    contents = read_odsum_story(required("odsum", "story"))
    ids = [document.document_id for document in contents.documents]
    texts = [document.text for document in contents.documents]
    asked = [query.retrieval_text for query in contents.queries]
    split = SETTINGS.words.split
    ours, plain = Bm25Index(texts, SETTINGS), plain_index(texts)
    difference = score_difference(plain, ours, asked, ids)
    rows = []
    for name, sides in {
        "split and index": {
            "bm25s": lambda: plain_index(texts),
            "gsum": lambda: fresh_index(texts),
        },
        "split, score and rank": {
            "bm25s": lambda: plain.retrieve(list(map(split, asked)), k=DEPTH, show_progress=False),
            "gsum": lambda: top(ours.scores(asked), ids, DEPTH),
        },
    }.items():
        seconds = take_turns(sides, rounds)
        cells = [f"{statistics.median(seconds[side]):.4f}" for side in ("bm25s", "gsum")]
        ratio = median_ratio(seconds["bm25s"], seconds["gsum"])
        rows.append([name, *cells, f"{ratio:.2f}"])
    return Measurement(
        "BM25: gsum beside bm25s' own index and retrieve, ODSum-Story",
        f"{len(texts)} texts, {len(asked)} questions, the {DEPTH} best of each; medians of "
        f"{rounds} rounds in turn, 1 thread. Ratio: bm25s' time over gsum's. Largest difference "
        f"between their scores, rank by rank: {difference:.1e}.",
        ["", "bm25s, s", "gsum, s", "ratio"],
        rows,
    )


if __name__ == "__main__":
    main("bm25", __doc__, measure)
