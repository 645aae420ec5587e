"""Alternatives to `evidence` on the stories of SQuALITY train, which it never learnt from."""

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.evidence.found import K
from benchmarks.evidence.meetings import Meetings, only
from benchmarks.evidence.sides import (
    EVIDENCE,
    HEADER,
    Asked,
    asked,
    by_exponents,
    evidence_of,
    rows_of_answers,
)
from benchmarks.evidence.validation import BUDGET, DENSE, LONGER, Side
from gsum_assets.evidence.contexts import adaptive_contexts
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.weights import load_network
from gsum_assets.retrieval.contexts import full_contexts, top_contexts
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions
from gsum_resources.arrow import pc
from gsum_resources.lazy import Lazy

MORE = 18  # passages


def measure(meetings: Meetings) -> Measurement:
    """Return the answers to specific questions by each alternative."""
    specific = meetings.queries.filter(pc.equal(meetings.queries["kind"], "specific"))
    query_ids = specific["query_id"].to_pylist()
    sides = sides_of(meetings, asked(meetings, query_ids))
    return Measurement(
        "Answers by alternatives, SQuALITY train",
        f"{len(query_ids)} specific questions, packaged weights; ROUGE F1 in percent of extractive "
        "answers; differences are paired, 95% bootstrap intervals over stories.",
        HEADER,
        rows_of_answers(meetings, query_ids, sides),
    )


def sides_of(meetings: Meetings, questions: list[Asked]) -> dict[str, Side]:
    """Return the contexts of each alternative, and of controls without training."""
    chunks, chosen = meetings.chunks, only(meetings, [one.query_id for one in questions])
    dense = rank_questions(Dense, chosen.questions, chosen.collection, depth=10**6)

    def read(probabilities: list[np.ndarray], k: int = LONGER) -> pa.Table:
        budget = BUDGET._replace(k_max=k, max_tokens=BUDGET.max_tokens // LONGER * k)
        found = evidence_of(questions, probabilities, dense)
        return adaptive_contexts(chosen.queries, found, Lazy.of(chunks), budget)

    graph, own = (_probabilities(questions, name) for name in ("graph", "own"))
    sides = {
        DENSE: Side(top_contexts(dense, chunks, K)),
        **{f"dense, {k} passages": Side(top_contexts(dense, chunks, k)) for k in (LONGER, MORE)},
        "the whole story": Side(full_contexts(chosen.queries, chunks, 10**9)),
        EVIDENCE: Side(read(own), True),
    }
    sides |= by_exponents(sides[EVIDENCE])
    sides[f"at most {MORE} passages"] = Side(read(own, MORE), True)
    sides["evidence-graph"] = Side(read(graph), True)
    for name, side in by_exponents(sides["evidence-graph"]).items():
        sides[f"evidence-graph, {name}"] = side
    return sides


def _probabilities(questions: list[Asked], name: str) -> list[np.ndarray]:
    network = load_network(name)
    reads_graph = len(network.names) > len(OWN)
    return [
        network.probabilities(
            network.scaled(one.example.features[:, : len(network.names)]),
            one.example.edges if reads_graph else [],
        )
        for one in questions
    ]
