"""Deduplication of core elements: how its time grows, compared with a scan of all pairs.

    python -m benchmarks.jerr.near_duplicates

Half a minute on one quiet core.
"""

import math
import random
import re
import time
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from benchmarks import Measurement
from benchmarks.results import main
from gsum_assets.jerr.elements import element_key
from gsum_assets.jerr.merge import merge_elements
from gsum_assets.jerr.simhash import Pairs, hamming, near_pairs, simhashes

SIZES = (1_000, 10_000, 100_000)
N_BITS = 3
_SCANNED_ROWS = 2_000
_BLOCK = 50  # rows of a scan compared at once
_CORPORA = Path(__file__).parents[2] / "data/corpora"
_LETTERS = "abcdefghijklmnopqrstuvwxyz"


def phrases() -> list[str]:
    """All runs of one to four words in the sample corpora, each once."""
    found: dict[str, None] = {}
    for path in sorted([*_CORPORA.glob("*/*.md"), *_CORPORA.glob("*/*.txt")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = re.findall(r"[\w’'-]+", line)
            for n_words in range(1, 5):
                starts = range(len(words) - n_words + 1)
                found.update({" ".join(words[at : at + n_words]): None for at in starts})
    return list(found)


def misspelled(text: str, draw: random.Random) -> str:
    """A copy with one letter more, less or another, an ending, or another mark between words."""
    at = draw.randrange(len(text))
    ways = (
        text[:at] + draw.choice(_LETTERS) + text[at:],
        text[:at] + text[at + 1 :],
        text[:at] + draw.choice(_LETTERS) + text[at + 1 :],
        text + "s",
        text.replace(" ", "-", 1),
    )
    return draw.choice(ways)


def keys_of_elements(n: int, seed: int = 0) -> list[str]:
    """Different keys of elements, half of them phrases and half misspelled copies of these."""
    draw = random.Random(seed)
    known = [key for phrase in phrases() if (key := element_key(phrase))]
    draw.shuffle(known)
    keys = dict.fromkeys(known[: n // 2])
    originals = list(keys)
    while len(keys) < n:
        if key := element_key(misspelled(draw.choice(originals), draw)):
            keys[key] = None
    return list(keys)


def scan(hashes: np.ndarray, n_bits: int, n_rows: int | None = None) -> Pairs:
    """Return `near_pairs` by brute force, for `n_rows` of the hashes against all later ones."""
    found = [np.zeros((0, 3), np.int64)]
    for start in range(0, len(hashes) if n_rows is None else n_rows, _BLOCK):
        bits = hamming(hashes[start : start + _BLOCK, None], hashes[None, start:])
        left, right = np.nonzero(bits <= n_bits)
        is_pair = left < right
        left, right = left[is_pair], right[is_pair]
        found.append(np.column_stack([left + start, right + start, bits[left, right]]))
    return Pairs(*np.concatenate(found).T)


def seconds(call: Callable[[], object], rounds: int = 3) -> float:
    """Median over rounds, of the processor."""
    taken = []
    for _ in range(rounds):
        start = time.process_time()
        call()
        taken.append(time.process_time() - start)
    return float(np.median(taken))


def timed(n: int) -> tuple[int, list[float]]:
    """Near pairs of `n` elements; seconds of `near_pairs`, of the scan, and of the whole merge."""
    keys = keys_of_elements(n)
    hashes = simhashes(keys)
    chunk_ids = [f"c{i // 3}" for i in range(n)]
    elements = pa.table({"chunk_id": chunk_ids, "element": keys, "element_key": keys})
    n_rows = min(n, _SCANNED_ROWS)
    share = n_rows * (2 * n - n_rows) / n**2  # of all pairs
    return len(near_pairs(hashes, N_BITS).left), [
        seconds(lambda: near_pairs(hashes, N_BITS)),
        seconds(lambda: scan(hashes, N_BITS, n_rows), 1) / share,
        seconds(lambda: merge_elements(elements, N_BITS)),
    ]


def table() -> Iterator[list[str]]:
    """Header and rows; an exponent of 1 is linear, of 2 quadratic."""
    yield ["elements", "near pairs", "near_pairs, ms", "scan, ms", "whole merge, ms"]
    known = {n: timed(n) for n in SIZES}
    for n, (n_pairs, taken) in known.items():
        yield [f"{n:,}", f"{n_pairs:,}", *(f"{1e3 * one:,.1f}" for one in taken)]
    for fewer, more in pairwise(SIZES):
        both = zip(known[fewer][1], known[more][1], strict=True)
        exponents = (math.log(after / before, more / fewer) for before, after in both)
        yield [f"exponent, {fewer:,} to {more:,}", "", *(f"{one:.2f}" for one in exponents)]


def measure() -> list[Measurement]:
    """Milliseconds and growth exponents at 1,000, 10,000 and 100,000 elements."""
    with threadpool_limits(1):
        header, *rows = table()
    notes = (
        f"Phrases of the sample corpora, half of them misspelled; at most {N_BITS} of 64 bits; ms "
        "of the processor, 1 thread, medians of three. The scan of all pairs ran once, over the "
        f"first {_SCANNED_ROWS:,} elements and all behind them; beyond that it is extrapolated."
    )
    return [Measurement("JERR: deduplication of core elements", notes, header, rows)]


if __name__ == "__main__":
    main("jerr-near_duplicates", __doc__, measure)
