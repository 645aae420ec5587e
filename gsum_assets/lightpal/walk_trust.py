"""Trust in a passage graph, estimated without labels (`retrieval/held_out.py`).

Trust is the probability that the results of walks are at least as good as those of the seeds.
"""

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.pagerank import WalkGraph
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.passage_walk import walk_from
from gsum_assets.lightpal.settings import WalkSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.held_out import (
    Evidence,
    Method,
    held_out,
    held_out_within,
    joined,
    trust,
)


def walk_trust(
    collection: Collection, graphs: PassageGraphs, language: str, settings: WalkSettings
) -> pa.Table:
    """Return the rows of `lightpal.walk_trust`: documents, all chunks, chunks of one document."""
    walked = graphs.walked(collection, "corpus")
    documents, nodes = [], []
    for probes in held_out(collection, language, settings.n_probes):
        documents.append(probes.of_documents(_walks(walked.documents, settings)))
        nodes.append(probes.of_nodes(_walks(walked.nodes, settings)))
    within = [
        probes.of_nodes(_walks(graphs.walked(document, "document").nodes, settings))
        for document, _, probes in held_out_within(collection, language, settings.n_probes)
    ]
    rows = [
        _row("document", "corpus", joined(documents)),
        _row("node", "corpus", joined(nodes)),
        _row("node", "document", joined(within)),
    ]
    return pa.Table.from_pylist(rows, TABLES["lightpal.walk_trust"].schema)


def _walks(graph: WalkGraph, settings: WalkSettings) -> Method:
    return lambda rows: np.array([walk_from(graph, row, settings) for row in rows])


def _row(level: str, scope: str, evidence: Evidence) -> dict:
    n = len(evidence.method)
    return {
        "level": level,
        "scope": scope,
        "n_probes": n,
        "walk_evidence": float(evidence.method.mean()) if n else 0.0,
        "seed_evidence": float(evidence.seeds.mean()) if n else 0.0,
        "trust": trust(evidence),
    }
