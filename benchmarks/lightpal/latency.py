"""Milliseconds of a question, the graph loaded: LightPAL, the passage walk and PromptRank.

Run as `python -m benchmarks.lightpal.latency`; GSUM_DATASETS names the folder of datasets.
"""

import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Measurement
from benchmarks.lightpal.corpora import LANGUAGE, SETTINGS, Indexed, indexed
from benchmarks.results import main
from gsum_assets.lightpal.rank import PassageSearch
from gsum_assets.lightpal.variants import PASSAGE_WALK, PROMPTRANK
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.ranking import Retriever
from gsum_assets.retrieval.settings import DEFAULT_K
from gsum_resources.scoring.unigram import UnigramScorer

K = DEFAULT_K
QUESTIONS = {"lightpal": 100, "lightpal-hybrid": 100, PASSAGE_WALK: 100, PROMPTRANK: 10}


def retrievers(method: str, index: Indexed) -> tuple[Retriever, Retriever]:
    """A method over the whole corpus with its graph loaded, and what finds its first passages."""
    search = PassageSearch(
        method, index.collection, index.tables, LANGUAGE, SETTINGS, UnigramScorer, K
    )
    return search.retriever(index.collection), search.first(index.collection)


def seconds(retriever: Retriever, question: Questions) -> float:
    """To score one question."""
    start = time.perf_counter()
    retriever.scores(question)
    return time.perf_counter() - start


def measure() -> Measurement:
    """Medians over questions of ODSum-Story, one at a time.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    index, rows = indexed("story"), []
    with threadpool_limits(1):
        for method, n in QUESTIONS.items():
            both = retrievers(method, index)
            chosen = np.linspace(0, len(index.questions) - 1, n + 1).astype(int)
            single_questions = [index.questions.take([i]) for i in chosen]
            taken = [[seconds(one, question) for one in both] for question in single_questions]
            whole, first = 1e3 * np.array(taken[1:]).T  # the first one warms them up
            medians = (np.median(part) for part in (whole, first, whole - first))
            rows.append([method, str(n), *(f"{median:.1f}" for median in medians)])
    collection = index.collection
    return Measurement(
        "LightPAL: milliseconds of a question, ODSum-Story",
        f"{len(collection.document_ids):,} sections and {len(collection.chunk_ids):,} chunks, both "
        "ranked; graphs and indexes loaded, the question's embedding given; medians over questions "
        f"asked one at a time, K = {K}, 1 thread; PromptRank reads by the unigram scorer.",
        ["method", "questions", "whole, ms", "first passages alone", "difference"],
        rows,
    )


if __name__ == "__main__":
    main("lightpal-latency", __doc__, measure)
