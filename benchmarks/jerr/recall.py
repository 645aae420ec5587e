"""How often the nodes found lead to the line chunk that holds the answer, on SQuALITY.

A node leads to the line chunk among its own that matches the question best; so `n` nodes lead to
`n` line chunks at most, and often to fewer. Tree search and the rankings by PageRank (paper, table
4) and by Personalized PageRank are compared with the cheapest control of the same budget: BM25
of the question over the line chunks of its document, as many of them as the nodes lead to.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.jerr.stories import WORDS, Stories, load
from benchmarks.results import COMPARED, compared, interval, p_text
from gsum.statistics import compare, holm, intervals
from gsum_assets.jerr.search import search
from gsum_assets.jerr.settings import SearchSettings
from gsum_assets.jerr.variants import VARIANTS
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings

CUT_OFFS = (1, 3, 5)
SIZES = (600, 2000)
TREE = "jerr"
SEARCHES = (TREE, "jerr-pagerank", "jerr-ppr")


class Beside(NamedTuple):
    """A way to search and its control.

    Attributes
    ----------
    n_chunks : line chunks that the nodes lead to, `(n_questions,)`.
    found, by_bm25 : 1 if one of as many line chunks holds the answer, else 0, `(n_questions,)`.
    """

    n_chunks: np.ndarray
    found: np.ndarray
    by_bm25: np.ndarray


def chunks_of(searches: pa.Table, k: int) -> dict[str, set[str]]:
    """Line chunks that the `k` best nodes lead to, by question."""
    found: dict[str, set[str]] = {}
    for row in searches.select(["query_id", "place", "chunk_ids"]).to_pylist():
        if row["place"] <= k:
            found.setdefault(row["query_id"], set()).add(row["chunk_ids"][0])
    return found


def by_relevance(stories: Stories) -> dict[str, list[str]]:
    """Line chunks of each question's document by BM25 of the question, the best first."""
    by_document: dict[str, list[str]] = {}
    texts = {chunk.chunk_id: chunk.text for chunk in stories.chunks}
    for chunk in stories.chunks:
        by_document.setdefault(chunk.document_id, []).append(chunk.chunk_id)
    indexes = {
        document: Bm25Index([texts[chunk_id] for chunk_id in ids], Bm25Settings())
        for document, ids in by_document.items()
    }
    found = {}
    for query_id, (query, _) in stories.questions.items():
        ids = by_document[query.document_id or ""]
        (scores,) = indexes[query.document_id or ""].scores([query.retrieval_text])
        found[query_id] = [ids[i] for i in np.argsort(-scores, kind="stable")]
    return found


def compared_recall(
    stories: Stories, searches: pa.Table, ranked: Mapping[str, list[str]], k: int
) -> Beside:
    """Count line chunks that the `k` best nodes of a search lead to, and as many by relevance."""
    led = chunks_of(searches, k)
    rows = []
    for query_id, (_, right) in stories.questions.items():
        own = led.get(query_id, set())
        rows.append((len(own), right in own, right in ranked[query_id][: len(own)]))
    return Beside(*np.array(rows, float).T)


def searched(stories: Stories, settings: SearchSettings) -> Mapping[str, pa.Table]:
    """Rows of `jerr.searches` for each way to search."""
    keywords = stories.tables["keywords"]
    return {
        variant: search(
            stories.queries, keywords, stories.space, VARIANTS[variant], settings, WORDS
        )
        for variant in SEARCHES
    }


def measure(split: str = "dev", settings: SearchSettings | None = None) -> list[Measurement]:
    """Recall of each search method compared with its control and with the others."""
    found: dict[tuple[str, int], dict[str, Beside]] = {}
    for size in SIZES:
        stories = load(split, size)
        ranked = by_relevance(stories)
        n_chunks = len(stories.chunks) / len({chunk.document_id for chunk in stories.chunks})
        searches = searched(stories, settings or SearchSettings())
        for k in CUT_OFFS:
            found[f"{size} ({n_chunks:.1f} a story)", k] = {
                name: compared_recall(stories, rows, ranked, k) for name, rows in searches.items()
            }
    return [_bm25_rows(found, split), _tree_search_rows(found, split)]


def _bm25_rows(found: Mapping[tuple[str, int], Mapping[str, Beside]], split: str) -> Measurement:
    cases = [(size, k, name, one) for (size, k), of in found.items() for name, one in of.items()]
    differences = [compare(one.found.tolist(), one.by_bm25.tolist()) for *_, one in cases]
    adjusted = holm([one.p_value for one in differences])
    rows = []
    for (size, k, name, one), more, p in zip(cases, differences, adjusted, strict=True):
        difference = interval(more.difference, more.low, more.high, decimals=1, sign="+")
        cells = [_share(one.found), _share(one.by_bm25), difference, p_text(p)]
        rows.append([size, str(k), name, str(more.n), f"{one.n_chunks.mean():.1f}", *cells])
    return Measurement(
        f"SQuALITY {split}: the line chunk that holds the answer, beside BM25 of the same budget",
        "Extractive model; percent of the questions with 95% intervals, paired differences, p of "
        "sign-flip tests, Holm over the rows. Read: line chunks that the nodes lead to, and as "
        "many for BM25, of each question.",
        [
            *("line chunks", "nodes", "search", "n", "read", "search finds", "BM25 finds"),
            *("difference", "p"),
        ],
        rows,
    )


def _tree_search_rows(
    found: Mapping[tuple[str, int], Mapping[str, Beside]], split: str
) -> Measurement:
    rows: list[Sequence[str]] = []
    for (size, k), of in found.items():
        values = {name: one.found.tolist() for name, one in of.items()}
        rows += [[size, str(k), *row] for row in compared(values, TREE, decimals=1)]
    return Measurement(
        f"SQuALITY {split}: ways to search the graph, beside tree search",
        "As above; the p of the two rows beside tree search are adjusted for two comparisons.",
        ["line chunks", "nodes", "search", *COMPARED],
        rows,
    )


def _share(values: np.ndarray) -> str:
    return interval(float(values.mean()), *intervals(values)[0], decimals=1)
