"""Answers from probabilities, beside those from `dense` and `evidence`, paired by question."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from benchmarks.evidence.found import over_groups
from benchmarks.evidence.meetings import Meetings, only
from benchmarks.evidence.validation import DENSE, ROUGE, Side, scores_of
from gsum_assets.evidence.network import edges_of
from gsum_assets.evidence.rank import Evidence, judge
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.evidence.settings import CandidateSettings
from gsum_assets.evidence.training import Example
from gsum_assets.retrieval.words import Words
from gsum_resources.llm.classical.selection import SelectionSettings
from gsum_resources.llm.classical.summarize import SummarySettings
from gsum_resources.llm.extractive import ExtractiveModel

EVIDENCE = "evidence"
HEADER = (
    "contexts of",
    "passages",
    *(cell for metric in ROUGE for cell in (metric, "less dense", "less evidence")),
)


EXPONENTS = ((1.5, 3), (1.5, 1.5), (1.5, 1), (1.5, 0.5), (1, 1), (0.5, 1), (0.5, 1.5), (0.5, 2))
"""Exponents on relevance and probability that were tried."""


class Asked(NamedTuple):
    """A question with the passages of its scope."""

    query_id: str
    chunk_ids: Sequence[str]
    example: Example


def asked(meetings: Meetings, query_ids: Sequence[str]) -> list[Asked]:
    """Return questions about one document each, with all features and edges."""
    chosen = only(meetings, query_ids)
    ids, marked = chosen.questions.ids, meetings.marked
    judged = judge(
        chosen.collection,
        SentenceIndex.of_rows(chosen.sentences),
        chosen.questions,
        chosen.queries["text"].to_pylist(),
        Words(),
        CandidateSettings().n,
    )
    found = []
    for one in judged:
        evidence = marked.get(ids[one.number], frozenset())
        marks = np.array([chunk_id in evidence for chunk_id in one.scope.ids])
        example = Example(one.documents[0], one.features, edges_of(one.scope), marks)
        found.append(Asked(ids[one.number], one.scope.ids, example))
    return found


def evidence_of(
    questions: Sequence[Asked], probabilities: Sequence[np.ndarray], rankings: pa.Table
) -> Evidence:
    """Return probabilities as `rank` does, with these rankings for questions about everything."""
    blocks = []
    for one, own in zip(questions, probabilities, strict=True):
        order = np.argsort(-own, kind="stable")
        columns = {
            "query_id": [one.query_id] * len(order),
            "chunk_id": [one.chunk_ids[i] for i in order],
            "rank": np.arange(1, len(order) + 1, dtype=np.int32),
            "probability": own[order].round(6),
        }
        blocks.append(pa.table(columns))
    return Evidence(rankings, pa.concat_tables(blocks))


def by_exponents(side: Side) -> dict[str, Side]:
    """Return a side for each of `EXPONENTS`."""
    found = {}
    for relevance, probability in EXPONENTS:
        chosen = replace(
            SelectionSettings(),
            relevance=relevance,
            relevance_beside=relevance,
            probability=probability,
            probability_in_prose=probability,
        )
        name = f"sentences by relevance^{relevance:g} p^{probability:g}"
        found[name] = side._replace(selection=chosen)
    return found


def rows_of_answers(
    meetings: Meetings, query_ids: Sequence[str], sides: Mapping[str, Side]
) -> list[list[str]]:
    """Return a row of `HEADER` for each side; differences with intervals over documents."""
    queries = only(meetings, query_ids).queries
    groups = queries["document_id"].to_pylist()
    scores: dict[str, Mapping[str, Sequence[float]]] = {}
    for name, side in sides.items():
        model = ExtractiveModel(meetings.embedder, SummarySettings(selection=side.selection))
        scores[name], _ = scores_of(queries, side, model)
        print(f"answers of {name}", file=sys.stderr)
    rows = []
    for name, own in scores.items():
        row = [name, f"{sides[name].contexts.num_rows / len(groups):.1f}"]
        for metric in ROUGE:
            row.append(f"{100 * np.mean(own[metric]):.2f}")
            for other in (DENSE, EVIDENCE):
                less = np.asarray(own[metric]) - np.asarray(scores[other][metric])
                row.append("" if name == other else over_groups(less, groups, 2))
        rows.append(row)
    return rows
