"""Near pairs equal those of a scan of all pairs, for any hashes."""

import random
from collections import Counter
from hashlib import blake2b

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.simhash import Pairs, hamming, near_pairs, shingles, simhashes

HASH = st.integers(0, 2**64 - 1)


def hash_of(shingle: str) -> int:
    return int.from_bytes(blake2b(shingle.encode(), digest_size=8).digest(), "big")


def slow_simhash(text: str) -> int:
    """Charikar's definition, a bit at a time."""
    counts = Counter(shingles(text))
    value = 0
    for bit in range(64):
        votes = sum(n if hash_of(one) >> bit & 1 else -n for one, n in counts.items())
        value |= (votes > 0) << bit
    return value


def tuples(pairs: Pairs) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in pairs), strict=True))


@given(st.lists(st.text(max_size=12) | st.text("ab -", max_size=12), max_size=8))
def test_hashes_equal_the_definition(texts: list[str]) -> None:
    assert simhashes(texts).tolist() == [slow_simhash(text) for text in texts]
    assert simhashes(texts).dtype == np.uint64


def test_hashes_are_equal_in_every_process() -> None:
    assert simhashes(["lamp", "brass lamp", "北京大学"]).tolist() == [
        3097374708458783851,
        1028185490308147552,
        12854085453462205630,
    ]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("by-law", "by law"),
        ("nell's", "nells"),
        ("u.s. navy", "us navy"),
        ("ユリ・ロス", "ユリロス"),
    ],
)
def test_separators_are_ignored(one: str, other: str) -> None:
    assert shingles(one) == shingles(other)


@pytest.mark.parametrize(
    ("one", "other"), [("c#", "c"), ("c++", "c"), ("が", "か"), ("की", "का"), ("é", "e")]
)
def test_different_words_have_different_hashes(one: str, other: str) -> None:
    assert shingles(one) != shingles(other)


def test_short_texts_and_punctuation_have_a_shingle() -> None:
    assert [shingles(text) for text in ("a", "ab", "abcd", "abcde", "-", "")] == [
        ["a"],
        ["ab"],
        ["abcd"],
        ["abcd", "bcde"],
        ["-"],
        [""],
    ]


@given(st.lists(st.tuples(HASH, HASH), max_size=20))
def test_hamming_counts_bits(pairs: list[tuple[int, int]]) -> None:
    left, right = np.array(pairs, np.uint64).reshape(-1, 2).T
    assert hamming(left, right).tolist() == [(a ^ b).bit_count() for a, b in pairs]
    table = hamming(left[:, None], right[None])
    assert table.tolist() == [[(a ^ b).bit_count() for _, b in pairs] for a, _ in pairs]


def scan(numbers: list[int], n_bits: int) -> list[tuple[int, int, int]]:
    """Return `near_pairs` a pair at a time."""
    return [
        (i, j, (numbers[i] ^ numbers[j]).bit_count())
        for i in range(len(numbers))
        for j in range(i + 1, len(numbers))
        if (numbers[i] ^ numbers[j]).bit_count() <= n_bits
    ]


def test_near_pairs_of_several_blocks_equal_a_full_scan() -> None:
    draw = random.Random(0)
    numbers = [draw.getrandbits(64) for _ in range(700)]
    for index in range(0, 700, 4):
        numbers[index] = draw.choice(numbers) ^ sum(
            1 << bit for bit in draw.sample(range(64), draw.randrange(6))
        )
    found = tuples(near_pairs(np.array(numbers, np.uint64)))
    assert found == scan(numbers, 3)
    assert {bits for _, _, bits in found} == {0, 1, 2, 3}


# bits from few positions give hashes that are equal in most blocks, and often altogether
_CROWDED = st.lists(st.sampled_from([0, 1, 15, 16, 40, 63]), max_size=6).map(
    lambda bits: sum({1 << bit for bit in bits})
)


@given(st.lists(HASH | _CROWDED, max_size=40), st.integers(0, 8))
def test_near_pairs_of_random_hashes_equal_a_full_scan(numbers: list[int], n_bits: int) -> None:
    hashes = np.array(numbers, np.uint64)
    assert tuples(near_pairs(hashes, n_bits)) == scan(numbers, n_bits)
