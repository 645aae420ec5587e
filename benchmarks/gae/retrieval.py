"""P and R of re-ranking by clusters on ODSum, at the level of documents, compared with `hybrid`.

Run as `python -m benchmarks.gae TABLE`; GSUM_DATASETS names the folder of datasets. `hybrid` is
what the published re-ranking starts from, and finds as many documents without a graph; `gae` starts
from `gae-no-rerank`.
"""

import sys
from collections.abc import Iterator, Sequence
from functools import cache

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.gae.corpora import LANGUAGE, corpus, index, published_index
from benchmarks.results import COMPARED, compared
from gsum_assets.evaluation.retrieval_metrics import retrieval_metrics
from gsum_assets.gae.clusters import by_size
from gsum_assets.gae.rank import Tables, rank
from gsum_assets.gae.settings import (
    GaeSettings,
    GraphSettings,
    TrainingSettings,
)
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc

STORIES, MEETINGS = (3, 8, 10), (1, 3, 6)  # cut-offs
DEFAULT = GaeSettings()
_THREE_LAYERS = TrainingSettings(layers=3, centred=False)
PUBLISHED_FORMS = {
    "paper's settings, nearest added": GaeSettings(training=_THREE_LAYERS),
    "paper's settings, neighbours alone": GaeSettings(
        graph=GraphSettings(n_nearest=0), training=_THREE_LAYERS
    ),
}
BY_CHUNKS = "hybrid, by chunks"

PUBLISHED = {  # table 2 of the paper: all 635 and 436 questions, a larger embedder
    "story": ["published", "all, 635", "74.0/30.0", "56.0/52.7", "48.9/56.7"],
    "meeting": ["published", "all, 436", "31.2/16.8", "24.7/35.3", "18.5/50.8"],
}


@cache
def _index(name: str, settings: str) -> Tables:
    print(f"{name}, {settings}: trains and clusters", file=sys.stderr, flush=True)
    if settings == "default":
        return index(name, DEFAULT)
    return published_index(name, PUBLISHED_FORMS[settings])


def stories() -> Iterator[Measurement]:
    """Published settings, each way of clustering, and the default, next to the published row.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    return _measured("story", STORIES)


def meetings() -> Iterator[Measurement]:
    """The same for ODSum-Meeting.

    Raises
    ------
    MissingDataError
        If ODSum-Meeting is not there.
    """
    return _measured("meeting", MEETINGS)


def _measured(name: str, cutoffs: Sequence[int]) -> Iterator[Measurement]:
    here, title = corpus(name), f"ODSum-{name.capitalize()}"
    found = dict(_found(name, cutoffs))
    shown = ", ".join(
        f"{row['level']} in {row['scope']} {row['clustering']} (weight {row['weight']:.2f})"
        for row in _index(name, "default").clusterings.to_pylist()
        if row["is_chosen"]
    )
    splits = np.array([query.split for query in here.queries])
    chosen = {split: splits == split for split in dict.fromkeys(splits.tolist())}
    rows = [
        [method, f"{split}, {among.sum()}", *_means(values[among])]
        for split, among in chosen.items()
        for method, values in found.items()
    ]
    yield Measurement(
        f"gae: retrieval of documents, {title}",
        f"{len(here.collection.document_ids):,} documents, {len(here.queries)} questions; percent, "
        "P/R. Where a row names a clustering, re-ranking is the published one over `hybrid` (0.6 "
        "BM25 + 0.4 cosine), with 10 K candidates for each K. By chunks: chunks are re-ranked, and "
        "a document stands where its best chunk does; neighbours join chunks alone. Chosen without "
        f"labels: {shown}.",
        ["method", "questions", *(f"at {k}" for k in cutoffs)],
        [PUBLISHED[name], *rows],
    )
    controls = {"gae": "gae-no-rerank"}
    for split, among in chosen.items():
        recall = {method: values[among, -1, 1] for method, values in found.items()}
        of = {method: controls.get(method, _control(method)) for method in recall}
        rows = []
        for control in dict.fromkeys(of.values()):
            group = {m: recall[m].tolist() for m in recall if control in (of[m], m)}
            rows += compared(group, control)
        yield Measurement(
            f"gae: recall of documents at {cutoffs[-1]}, {title} {split}",
            "Percent; differences are paired with the row without one above, which finds as many "
            "documents without clusters; p adjusted among the rows of one baseline (Holm).",
            ["method", *COMPARED],
            rows,
        )
    yield _dbscan_clusters(name, title)


def _control(method: str) -> str:
    if method == "gae-no-rerank":
        return method
    return BY_CHUNKS if "by chunks" in method else "hybrid"


def _dbscan_clusters(name: str, title: str) -> Measurement:
    rows = []
    for settings in ("default", *PUBLISHED_FORMS):
        clusters = _index(name, settings).clusters
        for level in ("document", "node"):
            found = clusters.filter(
                pc.and_(
                    pc.equal(clusters["level"], level), pc.equal(clusters["clustering"], "dbscan")
                )
            )["cluster"].to_numpy()
            labels = by_size(found)
            sizes = np.bincount(labels)
            counts = (len(labels), len(sizes), int((sizes == 1).sum()))
            share = f"{100 * sizes.max() / len(labels):.1f}"
            rows.append([settings, level, *(f"{n:,}" for n in counts), share])
    return Measurement(
        f"gae: clusters of DBSCAN, {title}",
        "eps 0.5 and min_samples 2 on the embeddings as they are; default: those of `gae-dbscan`. "
        "Sections have no neighbours, so that with neighbours alone their graph has no edge and "
        "their features are clustered.",
        ["settings", "level", "passages", "clusters", "of one passage", "largest, %"],
        rows,
    )


def _found(name: str, cutoffs: Sequence[int]) -> Iterator[tuple[str, np.ndarray]]:
    here = corpus(name)
    words = Words(LANGUAGE)
    found = rank_questions(
        lambda scope: RETRIEVERS["hybrid"](scope, words), here.questions, here.collection
    )
    yield "hybrid", _scores(name, [found] * len(cutoffs), cutoffs)
    by_chunks = [_by_best_chunk(found, name)] * len(cutoffs)
    yield BY_CHUNKS, _scores(name, by_chunks, cutoffs)
    for title in PUBLISHED_FORMS:
        rankings = _published(name, _index(name, title), cutoffs)
        by_chunks = [_by_best_chunk(ranking, name) for ranking in rankings]
        yield f"{title}, by chunks", _scores(name, by_chunks, cutoffs)
        if "nearest" in title:
            yield title, _scores(name, rankings, cutoffs)
    ways = _index(name, "default")
    for clustering in dict.fromkeys(ways.clusterings["clustering"].to_pylist()):
        title = "gae-dbscan" if clustering == "dbscan" else f"2 layers, {clustering}"
        rankings = _published(name, _only(ways, clustering), cutoffs)
        yield title, _scores(name, rankings, cutoffs)
    for method in ("gae-no-rerank", "gae"):
        found = _ranked(method, name, ways, DEFAULT.contexts.k)
        yield method, _scores(name, [found] * len(cutoffs), cutoffs)


def _only(tables: Tables, clustering: str) -> Tables:
    """Tables in which DBSCAN, which `gae-dbscan` goes by, is another way of clustering."""
    renamed = []
    for rows in tables:
        names = np.array(rows["clustering"].to_pylist())
        rows = rows.filter(pa.array(names == clustering))
        column = rows.schema.get_field_index("clustering")
        renamed.append(rows.set_column(column, "clustering", pa.repeat("dbscan", rows.num_rows)))
    return Tables(*renamed)


def _published(name: str, tables: Tables, cutoffs: Sequence[int]) -> list[pa.Table]:
    return [_ranked("gae-dbscan", name, tables, k) for k in cutoffs]


def _ranked(method: str, name: str, tables: Tables, k: int) -> pa.Table:
    here = corpus(name)
    return rank(method, here.collection, here.questions, tables, LANGUAGE, k, DEFAULT.rerank)


def _by_best_chunk(rankings: pa.Table, name: str) -> pa.Table:
    """Rank documents by their best chunk."""
    here = corpus(name).collection
    names = np.repeat(np.array(here.document_ids, object), np.diff(here.starts))
    owner = dict(zip(here.chunk_ids, names, strict=True))
    chunks = rankings.filter(pc.equal(rankings["level"], "node")).sort_by("rank")
    pairs = zip(chunks["query_id"].to_pylist(), chunks["item_id"].to_pylist(), strict=True)
    best = dict.fromkeys((query_id, owner[chunk_id]) for query_id, chunk_id in pairs)
    queries, documents = zip(*best, strict=True)
    ranks = np.arange(1, len(best) + 1)  # ascending within each question
    columns = {"query_id": queries, "item_id": documents, "rank": ranks}
    return pa.table({**columns, "level": pa.repeat("document", len(best))})


def _scores(name: str, rankings: Sequence[pa.Table], cutoffs: Sequence[int]) -> np.ndarray:
    """P and R of each question, `(n_questions, n_cutoffs, 2)`; a cut-off's ranking is its own."""
    found = []
    for ranking, k in zip(rankings, cutoffs, strict=True):
        rows = ranking.filter(pc.equal(ranking["level"], "document")).sort_by("rank")
        items: dict[str, list[str]] = {query.query_id: [] for query in corpus(name).queries}
        pairs = zip(rows["query_id"].to_pylist(), rows["item_id"].to_pylist(), strict=True)
        for query_id, document_id in pairs:
            items[query_id].append(document_id)
        scores = [
            retrieval_metrics(items[query.query_id], query.relevant_document_ids, [k]) or {}
            for query in corpus(name).queries
        ]
        found.append([[row[f"p@{k}"], row[f"r@{k}"]] for row in scores])
    return np.array(found).swapaxes(0, 1)


def _means(values: np.ndarray) -> list[str]:
    """Means at each cut-off, 'P/R' in percent."""
    return [f"{100 * p:.1f}/{100 * r:.1f}" for p, r in values.mean(axis=0)]
