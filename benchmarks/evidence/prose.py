"""Other calibrations of `evidence` on the stories of SQuALITY train, which it never learnt from."""

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.evidence.found import K
from benchmarks.evidence.meetings import Meetings, only
from benchmarks.evidence.sides import EVIDENCE, HEADER, Asked, asked, evidence_of, rows_of_answers
from benchmarks.evidence.validation import BUDGET, DENSE, LONGER, Side
from gsum_assets.evidence.contexts import adaptive_contexts
from gsum_assets.evidence.features import OWN
from gsum_assets.evidence.weights import load_network
from gsum_assets.retrieval.contexts import full_contexts, top_contexts
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.ranking import rank_questions
from gsum_resources.arrow import pc
from gsum_resources.lazy import Lazy

EXPECTED = (2, 4, 8)  # passages with evidence
POWERS = (0, 1, 2)  # of a probability as the weight of a sentence
POWER = 3  # of `extractive`
MORE = 18  # passages


def measure(meetings: Meetings) -> Measurement:
    """Return the answers to specific questions by each calibration."""
    specific = meetings.queries.filter(pc.equal(meetings.queries["kind"], "specific"))
    query_ids = specific["query_id"].to_pylist()
    sides = sides_of(meetings, asked(meetings, query_ids))
    return Measurement(
        "Answers by other calibrations, SQuALITY train",
        f"{len(query_ids)} specific questions, packaged weights; ROUGE F1 in percent of extractive "
        "answers; differences are paired, 95% bootstrap intervals over stories.",
        HEADER,
        rows_of_answers(meetings, query_ids, sides),
    )


def sides_of(meetings: Meetings, questions: list[Asked]) -> dict[str, Side]:
    """Return the contexts of each calibration, and of controls without training."""
    chunks, chosen = meetings.chunks, only(meetings, [one.query_id for one in questions])
    dense = rank_questions(Dense, chosen.questions, chosen.collection, depth=10**6)

    def read(probabilities: list[np.ndarray], k: int = LONGER) -> pa.Table:
        budget = BUDGET._replace(k_max=k, max_tokens=BUDGET.max_tokens // LONGER * k)
        found = evidence_of(questions, probabilities, dense)
        return adaptive_contexts(chosen.queries, found, Lazy.of(chunks), budget)

    graph, own = (_probabilities(questions, name) for name in ("graph", "own"))
    present = read(graph)
    sides = {
        DENSE: Side(top_contexts(dense, chunks, K)),
        **{f"dense, {k} passages": Side(top_contexts(dense, chunks, k)) for k in (LONGER, MORE)},
        "the whole story": Side(full_contexts(chosen.queries, chunks, 10**9)),
        EVIDENCE: Side(present, True),
        **{f"sentences by p^{n}": Side(raised(present, n / POWER), True) for n in POWERS},
    }
    for n in EXPECTED:
        contexts = read([shifted(p, n) for p in graph])
        sides[f"{n} passages expected"] = Side(contexts, True)
        sides[f"{n} passages expected, by p^1"] = Side(raised(contexts, 1 / POWER), True)
    more = read(graph, MORE)
    sides[f"at most {MORE} passages, by p^1"] = Side(raised(more, 1 / POWER), True)
    no_graph = read(own)
    sides["evidence-no-graph"] = Side(no_graph, True)
    sides["evidence-no-graph, by p^1"] = Side(raised(no_graph, 1 / POWER), True)
    more = read(own, MORE)
    sides[f"evidence-no-graph, at most {MORE}, by p^1"] = Side(raised(more, 1 / POWER), True)
    return sides


def shifted(probabilities: np.ndarray, expected: float) -> np.ndarray:
    """Return probabilities with their odds multiplied by one factor, so that they have this sum.

    Parameters
    ----------
    expected : sum of the probabilities; at most 0.9 of their number.
    """
    clipped = np.clip(probabilities, 1e-6, 1 - 1e-6)
    odds = clipped / (1 - clipped)
    low, high = 1e-9, 1e9
    for _ in range(100):
        factor = np.sqrt(low * high)
        too_many = (factor * odds / (1 + factor * odds)).sum() > min(expected, 0.9 * len(odds))
        low, high = (low, factor) if too_many else (factor, high)
    return low * odds / (1 + low * odds)


def raised(contexts: pa.Table, power: float) -> pa.Table:
    """Return contexts with their scores raised to a power."""
    index = contexts.schema.get_field_index("score")
    field = contexts.schema.field(index)
    return contexts.set_column(
        index, field, pa.array(contexts["score"].to_numpy() ** power, field.type)
    )


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
