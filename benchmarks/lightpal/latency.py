"""Milliseconds of a question, the graph loaded: LightPAL, the passage walk and PromptRank.

Run as `python -m benchmarks.lightpal.latency`; GSUM_DATASETS names the folder of datasets.
"""

import argparse
import time

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks import Measurement
from benchmarks.lightpal.corpora import LANGUAGE, SETTINGS, Indexed, indexed
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import PassageWalk
from gsum_assets.lightpal.promptrank import PromptRank
from gsum_assets.lightpal.published import Published
from gsum_assets.lightpal.seeds import Seeds
from gsum_assets.lightpal.variants import PASSAGE_WALK, PROMPTRANK, VARIANTS
from gsum_assets.retrieval.collection import Questions
from gsum_assets.retrieval.ranking import Retriever
from gsum_assets.retrieval.variants import RETRIEVERS
from gsum_assets.retrieval.words import Words
from gsum_resources.scoring.unigram import UnigramScorer

QUESTIONS = {"lightpal": 100, "lightpal-hybrid": 100, PASSAGE_WALK: 100, PROMPTRANK: 10}


def retrievers(method: str, index: Indexed) -> tuple[Retriever, Retriever]:
    """A method over the whole corpus with its graph loaded, and what finds its first passages."""
    collection, variant = index.collection, VARIANTS[method]
    edges = index.tables.passage_edges
    loaded = PassageGraphs.of(edges, variant.graph, both_ways=method == PASSAGE_WALK)
    graphs = loaded.walked(collection, "corpus")
    if method == PASSAGE_WALK:
        rows = index.tables.walk_trust.to_pylist()
        trust = {row["level"]: row["trust"] for row in rows if row["scope"] == "corpus"}
        first = Seeds(collection, LANGUAGE)
        return PassageWalk(first, graphs, (trust["node"], trust["document"]), SETTINGS.walk), first
    initial = variant.initial or SETTINGS.retrieval.initial
    first = RETRIEVERS[initial](collection, Words(LANGUAGE))
    if method == PROMPTRANK:
        reader = UnigramScorer(background=collection.chunk_texts)
        share, chosen = SETTINGS.retrieval.initial_share, SETTINGS.promptrank
        return PromptRank(collection, first, graphs, reader, share, chosen), first
    return Published(first, graphs, SETTINGS.retrieval), first


def seconds(retriever: Retriever, question: Questions) -> float:
    """To score one question."""
    start = time.perf_counter()
    retriever.scores(question)
    return time.perf_counter() - start


def measure() -> Measurement:
    """Medians over questions of ODSum-Story, asked one at a time.

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
            asked = [index.questions.take([place]) for place in chosen]
            taken = [[seconds(one, question) for one in both] for question in asked]
            whole, first = 1e3 * np.array(taken[1:]).T  # the first one warms them up
            medians = (np.median(part) for part in (whole, first, whole - first))
            rows.append([method, str(n), *(f"{median:.1f}" for median in medians)])
    collection = index.collection
    return Measurement(
        "LightPAL: milliseconds of a question, ODSum-Story",
        f"{len(collection.document_ids):,} sections and {len(collection.chunk_ids):,} chunks, both "
        "ranked; graphs and indexes loaded, the question's embedding given; medians over "
        "questions asked one at a time, 1 thread; PromptRank reads by the unigram scorer.",
        ["method", "questions", "whole, ms", "first passages alone", "difference"],
        rows,
    )


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    measure().show()
