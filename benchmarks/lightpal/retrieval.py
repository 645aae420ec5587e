"""Retrieval quality of LightPAL, PromptRank and the passage walk, and of their seeds.

Run as `python -m benchmarks.lightpal TABLE`; GSUM_DATASETS names the folder of datasets. Every
comparison is paired by question, with a baseline that finds as many passages.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.lightpal.corpora import (
    LANGUAGE,
    SETTINGS,
    Indexed,
    indexed,
    meetings_with_evidence,
)
from benchmarks.lightpal.titles import n_content_words, without_titles
from benchmarks.odsum import query_vectors
from benchmarks.results import COMPARED, compared
from gsum_assets.evaluation.retrieval_metrics import retrieval_metrics
from gsum_assets.lightpal.rank import rank
from gsum_assets.lightpal.variants import PASSAGE_WALK, PROMPTRANK, VARIANTS
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.seeds import Seeds
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc
from gsum_resources.scoring.unigram import UnigramScorer

SEEDS = "passage_walk's seeds"
STARTS_FROM = {  # each method, and what it starts from, which costs no graph
    "dense": ("lightpal", "lightpal-embedding", PROMPTRANK),
    "hybrid": ("lightpal-hybrid",),
    SEEDS: (PASSAGE_WALK,),
}
METHODS = ("bm25", *(name for first, then in STARTS_FROM.items() for name in (first, *then)))
WITHOUT_TITLES = ("bm25", "hybrid", SEEDS, PASSAGE_WALK)
STORIES, MEETINGS = (3, 10, 50), (1, 3, 6)  # cut-offs
_20_SEEDS = 34  # the least K of which 60% are 20

PUBLISHED = (  # table 4 of the paper; recall counts empty sections
    ("published: dense", "260 others", "", "29.6/36.6", "/51.3"),
    ("published: lightpal", "260 others", "", "43.2/50.5", "/67.4"),
    ("published: promptrank", "260 others", "", "48.9/56.5", "/82.0"),
)
Values = dict[str, np.ndarray]  # of each question, by method


def ranked(
    method: str, index: Indexed, questions: Questions, cutoffs: Sequence[int], level: str
) -> Iterator[list[list[str]]]:
    """Return the items that a method finds for each K and question, best first."""
    print(f"{method} ranks for {len(questions)} questions", file=sys.stderr, flush=True)
    depends_on_k = method in VARIANTS and method != PASSAGE_WALK
    rows = None
    for k in cutoffs:
        if rows is None or depends_on_k:
            rows = _rankings(method, index, questions, k)
        yield _items(rows, questions, level)


def _rankings(method: str, index: Indexed, questions: Questions, k: int) -> pa.Table:
    """Rows of `rankings` by a baseline or a method of the family."""
    collection, tables = index.collection, index.tables
    if method in VARIANTS:
        return rank(method, collection, questions, tables, LANGUAGE, SETTINGS, UnigramScorer, k)
    if method == SEEDS:
        return rank_questions(lambda scope: Seeds(scope, LANGUAGE), questions, collection)
    words, build = Words(LANGUAGE), RETRIEVERS[method]
    return rank_questions(lambda scope: build(scope, words), questions, collection)


def _items(rows: pa.Table, questions: Questions, level: str) -> list[list[str]]:
    """The ranked items of each question, best first."""
    rows = rows.filter(pc.equal(rows["level"], level)).sort_by("rank")
    found: dict[str, list[str]] = {query_id: [] for query_id in questions.ids}
    for query_id, item in zip(
        rows["query_id"].to_pylist(), rows["item_id"].to_pylist(), strict=True
    ):
        found[query_id].append(item)
    return list(found.values())


def precision_and_recall(
    method: str,
    index: Indexed,
    questions: Questions,
    relevant: Sequence[Sequence[str]],
    cutoffs: Sequence[int],
    level: str = "document",
) -> np.ndarray:
    """P and R at each cut-off of each question, its ranking computed for that K.

    Returns
    -------
    0 to 1, `(n_questions, n_cutoffs, 2)`.
    """
    found = []
    for k, items in zip(cutoffs, ranked(method, index, questions, cutoffs, level), strict=True):
        scores = [
            retrieval_metrics(one, wanted, [k]) or {}
            for one, wanted in zip(items, relevant, strict=True)
        ]
        found.append([[row[f"p@{k}"], row[f"r@{k}"]] for row in scores])
    return np.array(found).swapaxes(0, 1)


def _means(values: np.ndarray) -> list[str]:
    """Means at each cut-off, 'P/R' in percent."""
    return [f"{100 * p:.1f}/{100 * r:.1f}" for p, r in values.mean(axis=0)]


def _paired(values: Mapping[str, np.ndarray]) -> list[list[str]]:
    """Rows of every method and of its seeds."""
    rows = []
    for first, then in STARTS_FROM.items():
        group = {name: values[name].tolist() for name in (first, *then)}
        rows += [[name, *cells] for name, *cells in compared(group, first)]
    return rows


def _relevant(index: Indexed) -> list[Sequence[str]]:
    return [query.relevant_document_ids for query in index.queries]


def stories() -> Iterator[Measurement]:
    """Every method at the level of sections, each compared with its seeds.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    index = indexed("story")
    found = {
        method: precision_and_recall(method, index, index.questions, _relevant(index), STORIES)
        for method in METHODS
    }
    splits = np.array([query.split for query in index.queries])
    rows = [
        [method, f"{split}, {(splits == split).sum()}", *_means(values[splits == split])]
        for split in ("train", "dev")
        for method, values in found.items()
    ]
    yield Measurement(
        "LightPAL: retrieval of sections, ODSum-Story",
        f"{len(index.collection.document_ids):,} sections, {len(index.queries)} questions; "
        "percent, P/R, each ranking made for its K; the 52 empty sections count only in the "
        f"published rows (table 4 of the paper, larger models). Trust in the walk: {index.trust}.",
        ["method", "questions", *(f"at {k}" for k in STORIES)],
        [*rows, *PUBLISHED],
    )
    at = STORIES.index(10)
    for split in ("train", "dev"):
        recall = {name: values[splits == split, at, 1] for name, values in found.items()}
        yield Measurement(
            f"LightPAL: recall of sections at 10, ODSum-Story {split}",
            "Percent; differences are paired with the row without one above, which is what the "
            "method starts from and finds as many sections without a graph; p adjusted among "
            "the rows of one baseline (Holm).",
            ["method", *COMPARED],
            _paired(recall),
        )


def evidence() -> Iterator[Measurement]:
    """Measure the share of marked evidence in six passages of a meeting, QMSum val.

    Raises
    ------
    MissingDataError
        If QMSum is not there.
    """
    whole = meetings_with_evidence()
    marked = [i for i, chunks in enumerate(whole.evidence) if chunks]
    index = whole._replace(queries=[whole.queries[i] for i in marked])
    questions = whole.questions.take(marked)
    wanted = [whole.evidence[i] for i in marked]
    found = {
        method: precision_and_recall(method, index, questions, wanted, [DEFAULT_K], "node")[:, 0]
        for method in METHODS
    }
    for column, name in enumerate(("precision", "recall")):
        yield Measurement(
            f"LightPAL: {name} of the evidence in {DEFAULT_K} passages, QMSum val",
            f"{len(marked)} questions about one meeting each whose turns of evidence are marked; "
            "percent of passages; differences as above.",
            ["method", *COMPARED],
            _paired({method: values[:, column] for method, values in found.items()}),
        )


def entries() -> Measurement:
    """How often passages that the initial retriever ranks beyond K are among the first K.

    Raises
    ------
    MissingDataError
        If ODSum-Story or QMSum is not there.
    """
    train = indexed("story")
    of_train = [i for i, query in enumerate(train.queries) if query.split == "train"]
    meetings = meetings_with_evidence()
    corpora = (
        ("ODSum-Story train, sections", train, train.questions.take(of_train), "document"),
        ("QMSum val, chunks", meetings, meetings.questions, "node"),
    )
    rows = []
    for title, index, questions, level in corpora:
        (first,) = ranked("dense", index, questions, [1], level)
        for k in (6, 10, 20):
            (now,) = ranked("lightpal", index, questions, [k], level)
            (before,) = ranked("lightpal", index, questions, [_20_SEEDS], level)
            cells = []
            for items in (before, now):
                pairs = list(zip(items, first, strict=True))
                for depth in (k, 20):
                    n = [len({*one[:k]} - {*best[:depth]}) for one, best in pairs]
                    cells.append(f"{sum(n):,} in {np.count_nonzero(n)}")
            rows.append([title, str(len(questions)), str(k), f"{k * len(questions):,}", *cells])
    return Measurement(
        "LightPAL: passages that dense has not among its best",
        "Passages among the first K of `lightpal`, 'n in m': n of all that are read, in m "
        "questions. Before: walks from 20 initial passages whatever K is; now: from 60% of K.",
        [
            "questions",
            "n",
            "K",
            "read",
            "before: beyond K",
            "before: beyond 20",
            "now: beyond K",
            "now: beyond 20",
        ],
        rows,
    )


def stories_without_titles() -> Iterator[Measurement]:
    """Sections found by questions that name no title, general and specific ones apart.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    index = indexed("story")
    texts = [query.retrieval_text for query in index.queries]
    masked = without_titles(index.queries, index.texts)
    changed = np.array([before != after for before, after in zip(texts, masked, strict=True)])
    words = np.array([n_content_words(text) for text in masked])
    without = replace(index.questions, texts=masked, embeddings=query_vectors(masked))
    found = {
        (method, form): precision_and_recall(method, index, questions, _relevant(index), [10])[
            :, 0, 1
        ]
        for form, questions in (("as asked", index.questions), ("masked", without))
        for method in WITHOUT_TITLES
    }
    splits = np.array([query.split for query in index.queries])
    kinds = np.array([query.kind for query in index.queries])
    for split in ("train", "dev"):
        for kind in ("general", "specific"):
            chosen = (splits == split) & (kinds == kind)
            rows = []
            for form in ("as asked", "masked"):
                values = {m: found[m, form][chosen].tolist() for m in WITHOUT_TITLES}
                rows += [[form, *cells] for cells in compared(values, SEEDS)]
            yield Measurement(
                f"LightPAL: recall of sections at 10 without titles, ODSum-Story {split}, {kind}",
                f"{(chosen & changed).sum()} of {chosen.sum()} questions name their story's "
                "title, which is left out where masked; of content words a masked question keeps "
                f"{np.median(words[chosen]):.0f} (median), {(words[chosen] < 2).sum()} keep at "
                f"most one. Percent; differences are paired with {SEEDS}.",
                ["titles", "method", *COMPARED],
                rows,
            )


def meetings() -> Measurement:
    """Every method at the level of transcripts.

    Raises
    ------
    MissingDataError
        If ODSum-Meeting is not there.
    """
    index = indexed("meeting")
    rows = [
        [
            method,
            *_means(
                precision_and_recall(method, index, index.questions, _relevant(index), MEETINGS)
            ),
        ]
        for method in METHODS
    ]
    return Measurement(
        "LightPAL: retrieval of transcripts, ODSum-Meeting",
        f"{len(index.collection.document_ids)} transcripts, {len(index.queries)} questions; "
        f"percent, P/R. Trust in the walk: {index.trust}.",
        ["method", *(f"at {k}" for k in MEETINGS)],
        rows,
    )
