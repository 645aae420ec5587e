"""What training on a corpus of its own gives a network that was trained on other meetings.

QMSum train has meetings of three kinds. The packaged weights have seen all of them, so a network
is trained here on two kinds, as packaged weights are, and further on half of the meetings of the
third kind, whose other half is judged; then the halves change sides.
"""

import sys
from collections.abc import Callable, Mapping, Sequence

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.evidence.found import K, metrics_of, over_groups
from benchmarks.evidence.meetings import Meetings
from benchmarks.evidence.training import examples
from gsum_assets.evidence.finetuning import fine_tune
from gsum_assets.evidence.learn import MARKED, SIMULATED, examples_of, learnt, simulated_questions
from gsum_assets.evidence.network import Network
from gsum_assets.evidence.rank import NAMES
from gsum_assets.evidence.settings import CandidateSettings, TrainingSettings
from gsum_assets.evidence.training import Example, Recipe, folds_of, train
from gsum_assets.gor.simulate import simulate_queries
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc
from gsum_resources.llm.extractive import ExtractiveModel

KINDS = {"academic": ("PhD", "Professor", "Grad"), "product": ("Marketing", "Project Manager")}
"""Parts of speakers' names by kind of meeting; the others are of parliaments."""
FEW = 20  # questions
Learn = Callable[[Sequence[Example]], Network]
SETTINGS = TrainingSettings()


def kinds_of(meetings: Meetings) -> dict[str, str]:
    """Return the kind of each meeting."""
    names: dict[str, str] = {}
    for row in meetings.sentences.select(["document_id", "speaker"]).to_pylist():
        names[row["document_id"]] = names.get(row["document_id"], "") + row["speaker"] + "\n"
    return {
        document_id: next(
            (k for k, words in KINDS.items() if any(w in own for w in words)), "parliament"
        )
        for document_id, own in names.items()
    }


def simulated_examples(meetings: Meetings, document_ids: Sequence[str]) -> list[Example]:
    """Return simulated questions about meetings with their source passages, as `gor` has them."""
    chunks = meetings.chunks.filter(
        pc.is_in(meetings.chunks["document_id"], value_set=pa.array(document_ids))
    )
    rows = simulate_queries(chunks, ExtractiveModel(meetings.embedder)).rows
    none = meetings.queries.slice(0, 0)
    lessons = simulated_questions(rows, none, chunks, None, meetings.embedder)
    n = CandidateSettings().n
    lessons = lessons.at_most(2 * SETTINGS.most_questions)  # half of them are learnt from
    return examples_of(lessons, meetings.collection, meetings.sentences, Words(), n)


def judged_by_halves(
    learn: Learn, pool: Sequence[Example], marked: Sequence[Example]
) -> Mapping[str, Sequence[float]]:
    """Return the metrics of marked questions, by networks that learnt from the other half."""
    half = folds_of([example.group for example in marked], 2, seed=1)
    networks = [learn([e for e in pool if half.get(e.group, own) != own]) for own in (0, 1)]
    return metrics_of([hits(networks[half[e.group]], e) for e in marked])


def hits(network: Network, example: Example) -> np.ndarray:
    """Return whether each passage holds evidence, most probable first."""
    found = network.probabilities(network.scaled(example.features), example.edges)
    return example.is_evidence[np.argsort(-found, kind="stable")]


def measure(meetings: Meetings) -> Measurement:
    """Return evidence found in each kind of meetings with and without training on that kind."""
    kinds, (marked, _) = kinds_of(meetings), examples(meetings)
    rows: list[list[str]] = []
    for kind in sorted(set(kinds.values())):
        own = [e for e in marked if kinds[e.group] == kind]
        start = train([e for e in marked if kinds[e.group] != kind], NAMES[True], Recipe())
        simulated = simulated_examples(meetings, sorted(d for d in kinds if kinds[d] == kind))
        arms: dict[str, Callable[[], Mapping[str, Sequence[float]]]] = {
            "other kinds": lambda own=own, start=start: metrics_of([hits(start, e) for e in own]),
            "from zero": _arm(lambda part: train(part, NAMES[True], Recipe()), own, own),
            "marked": _arm(_learner(start, MARKED), own, own),
            f"{FEW} marked": _arm(_of_few(_learner(start, MARKED)), own, own),
            "simulated": _arm(_learner(start, SIMULATED), simulated, own),
            "simulated, sources alone": _arm(
                lambda part, start=start: fine_tune(part, start, SETTINGS)[0], simulated, own
            ),
        }
        before: Mapping[str, Sequence[float]] = {}
        groups = [e.group for e in own]
        for name, arm in arms.items():
            found = arm()
            before = before or found
            print(f"{kind}: {name}", file=sys.stderr)
            rows.append(
                [kind if name == "other kinds" else "", name, *_cells(found, before, groups)]
            )
    return Measurement(
        "Evidence found after training on a kind of meetings of its own, QMSum train",
        f"{len(marked)} questions with marked evidence about {len(set(kinds.values()))} kinds of "
        f"meetings; percent; differences from the network that learnt from the other kinds are "
        f"paired, 95% bootstrap intervals over meetings.",
        ("meetings", "learnt from", "n", "MRR", f"R@{K}", "less", "AP", "less"),
        rows,
    )


def _learner(start: Network, data: str) -> Learn:
    return lambda part: learnt(part, start, SETTINGS, data).network


def _arm(learn: Learn, pool: Sequence[Example], own: Sequence[Example]):
    return lambda: judged_by_halves(learn, pool, own)


def _of_few(learn: Learn) -> Learn:
    def learn_from_few(part: Sequence[Example]) -> Network:
        order = np.random.default_rng(0).permutation(len(part))
        return learn([part[i] for i in order[:FEW]])

    return learn_from_few


def _cells(
    found: Mapping[str, Sequence[float]],
    before: Mapping[str, Sequence[float]],
    groups: Sequence[str],
) -> list[str]:
    cells = [str(len(groups)), f"{100 * np.mean(found['mrr']):.1f}"]
    for metric in ("r", "ap"):
        cells.append(f"{100 * np.mean(found[metric]):.1f}")
        differences = np.asarray(found[metric]) - np.asarray(before[metric])
        cells.append(over_groups(differences, groups) if found is not before else "")
    return cells
