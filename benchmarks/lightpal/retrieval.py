"""P and R of LightPAL, PromptRank and the passage walk on ODSum.

Run as `python -m benchmarks.lightpal.retrieval`; GSUM_DATASETS names the folder of datasets.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks import Measurement, required
from benchmarks.lightpal.corpora import LANGUAGE, SETTINGS, Indexed, indexed
from benchmarks.lightpal.titles import without_titles
from benchmarks.odsum import query_vectors, scores_of
from gsum_assets.corpus.importers.source import read_rows, split_files
from gsum_assets.corpus.queries import Query
from gsum_assets.lightpal.rank import rank
from gsum_assets.lightpal.variants import PASSAGE_WALK, VARIANTS
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.words import Words
from gsum_resources.scoring.unigram import UnigramScorer

METHODS = ("bm25", "dense", "hybrid", *VARIANTS)
WITHOUT_TITLES = ("bm25", "hybrid", PASSAGE_WALK)
STORIES, MEETINGS = (3, 8, 10, 50), (1, 3, 6)  # cut-offs

PUBLISHED = (  # table 4; recall counts empty sections
    ("dense, published", "260 others", "", "", "29.6/", "8.7/", "//36.6/51.3"),
    ("lightpal, published", "260 others", "", "", "43.2/", "11.9/", "//50.5/67.4"),
    ("promptrank, published", "260 others", "", "", "48.9/", "15.0/", "//56.5/82.0"),
)


class Found(NamedTuple):
    """What a method found for the questions of a split.

    `precision` and `recall` are 0 to 1, `(n_questions, n_cutoffs)`.
    """

    split: str
    asked: list[Query]
    precision: np.ndarray
    recall: np.ndarray

    @property
    def percent(self) -> list[str]:
        """Means at each cut-off, 'P/R'."""
        means = zip(self.precision.mean(axis=0), self.recall.mean(axis=0), strict=True)
        return [f"{100 * p:.1f}/{100 * r:.1f}" for p, r in means]


def by_split(
    method: str, index: Indexed, questions: Questions, cutoffs: Sequence[int]
) -> Iterator[Found]:
    """What a method finds at the level of documents."""
    print(f"{method} ranks for {len(questions)} questions", file=sys.stderr, flush=True)
    scores = scores_of(_ranked(method, index, questions), index.asked, cutoffs)
    precision, recall = (
        np.array([[row[f"{letter}@{k}"] for k in cutoffs] for row in scores]) for letter in "pr"
    )
    splits = np.array([query.split for query in index.asked])
    for split in dict.fromkeys(splits.tolist()):
        members = np.flatnonzero(splits == split)
        asked = [index.asked[member] for member in members]
        yield Found(split, asked, precision[members], recall[members])


def _ranked(method: str, index: Indexed, questions: Questions) -> pa.Table:
    """Rows of `rankings` by a baseline or a method of the family."""
    collection, tables = index.collection, index.tables
    if method in VARIANTS:
        return rank(method, collection, questions, tables, LANGUAGE, SETTINGS, UnigramScorer)
    words, build = Words(LANGUAGE), RETRIEVERS[method]
    return rank_questions(lambda scope: build(scope, words), questions, collection)


def stories() -> Measurement:
    """Every method at the level of sections, beside the published figures.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    index = indexed("story")
    n_empty = _empty_sections()
    rows = []
    for method in METHODS:
        for found in by_split(method, index, index.questions, STORIES):
            first = [index.texts[query.relevant_document_ids[0]].strip() for query in found.asked]
            with_empty = _with_empty(found, [n_empty[text] for text in first])
            rows.append([method, found.split, *found.percent, with_empty])
    return Measurement(
        "LightPAL: retrieval of sections, ODSum-Story",
        f"{len(index.collection.document_ids):,} sections, {len(index.asked)} questions; percent, "
        "P/R; empty sections count nowhere but in the last column, R at each cut-off. Trust in "
        f"the walk: {index.trust}. Published: table 4 of the paper, by larger models.",
        ["method", "stories", *(f"at {k}" for k in STORIES), "R, empty sections counted"],
        [*rows, *PUBLISHED],
    )


def _empty_sections() -> dict[str, int]:
    """How many empty sections a story has, by its first section that is not."""
    folder = required("odsum", "story") / "documents"
    stories = [
        [text.strip() for text in story["divided_document"]]
        for _, file in split_files(folder, ["*.jsonl"])
        for _, story in read_rows(file, ("divided_document",))
    ]
    return {next(filter(None, sections)): sections.count("") for sections in stories}


def _with_empty(found: Found, n_empty: Sequence[int]) -> str:
    """Mean recall at each cut-off if `n_empty` sections more are relevant to each question."""
    n = np.array([len(query.relevant_document_ids) for query in found.asked])
    recall = found.recall * (n / (n + n_empty))[:, None]
    return "/".join(f"{100 * mean:.1f}" for mean in recall.mean(axis=0))


def stories_without_titles() -> Measurement:
    """Sections found by questions as they are, and by questions that name no title.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    index = indexed("story")
    asked = [query.retrieval_text for query in index.asked]
    masked = without_titles(index.asked, index.texts)
    changed = sum(before != after for before, after in zip(asked, masked, strict=True))
    without = replace(index.questions, texts=masked, embeddings=query_vectors(masked))
    rows = [
        [method, title, found.split, *found.percent]
        for method in WITHOUT_TITLES
        for title, questions in {"as asked": index.questions, "left out": without}.items()
        for found in by_split(method, index, questions, STORIES)
    ]
    return Measurement(
        "LightPAL: ODSum-Story without titles in the questions",
        f"{changed} of {len(asked)} questions name their story's title, which is left out; "
        "percent, P/R at the level of sections.",
        ["method", "titles", "stories", *(f"at {k}" for k in STORIES)],
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
    return Measurement(
        "LightPAL: retrieval of transcripts, ODSum-Meeting",
        f"{len(index.collection.document_ids)} transcripts, {len(index.asked)} questions; percent, "
        f"P/R. Trust in the walk: {index.trust}.",
        ["method", *(f"at {k}" for k in MEETINGS)],
        [
            [method, *found.percent]
            for method in METHODS
            for found in by_split(method, index, index.questions, MEETINGS)
        ],
    )


def main() -> None:
    """Print the tables."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    for measure in (stories_without_titles, stories, meetings):
        measure().show()


if __name__ == "__main__":
    main()
