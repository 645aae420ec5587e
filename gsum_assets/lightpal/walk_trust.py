"""How far a passage graph leads to what belongs together, judged without labels (`held_out.py`).

The trust is the probability that what walks find is worth no less than what the seeds find.
"""

import math

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import walk_from
from gsum_assets.lightpal.seeds import lexical_and_dense
from gsum_assets.lightpal.settings import WalkSettings
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.held_out import (
    LEAST_PASSAGES,
    Evidence,
    Method,
    evidence,
    joined,
    probes,
    steady_choice,
    trust,
)
from gsum_assets.tables import TABLES


def walk_trust(
    collection: Collection, graphs: PassageGraphs, language: str, settings: WalkSettings
) -> pa.Table:
    """Rows of `lightpal.walk_trust`: of the documents, of all chunks, of a document's chunks."""
    n_documents = len(collection.document_ids)
    documents, nodes = _judged(collection, graphs, "corpus", language, settings, settings.n_probes)
    within, n = [], math.ceil(settings.n_probes / max(1, n_documents))
    for index in steady_choice(collection.document_ids, settings.n_probes):
        document = collection.document(index)
        if len(document.chunk_ids) >= LEAST_PASSAGES:
            within.append(_judged(document, graphs, "document", language, settings, n)[1])
    rows = [
        _row("document", "corpus", documents),
        _row("node", "corpus", nodes),
        _row("node", "document", joined(within)),
    ]
    return pa.Table.from_pylist(rows, TABLES["lightpal.walk_trust"].schema)


def _judged(
    collection: Collection,
    graphs: PassageGraphs,
    scope: str,
    language: str,
    settings: WalkSettings,
    n_probes: int,
) -> tuple[Evidence, Evidence]:
    """Of the graph of the documents and of that of the chunks."""
    asked = probes(collection, n_probes)
    first, second = (one.scores(asked.questions) for one in lexical_and_dense(collection, language))
    walked = graphs.walked(collection, scope)
    return (
        evidence(
            first.documents, second.documents, asked.documents, _walks(walked.documents, settings)
        ),
        evidence(first.nodes, second.nodes, asked.chunks, _walks(walked.nodes, settings)),
    )


def _walks(graph: WalkGraph, settings: WalkSettings) -> Method:
    return lambda found: np.array([walk_from(graph, row, settings) for row in found])


def _row(level: str, scope: str, found: Evidence) -> dict:
    n = len(found.method)
    return {
        "level": level,
        "scope": scope,
        "n_probes": n,
        "walk_evidence": float(found.method.mean()) if n else 0.0,
        "seed_evidence": float(found.seeds.mean()) if n else 0.0,
        "trust": trust(found),
    }
