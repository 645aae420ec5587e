"""Near pairs equal those of a scan of all pairs, for any hashes."""

import random
import re
from collections import Counter
from hashlib import blake2b
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.elements import element_key
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


def phrases() -> list[str]:
    """Return all runs of one to four words in the sample corpora, each once."""
    corpora = Path(__file__).parents[2] / "data/corpora"
    phrases_found: dict[str, None] = {}
    for path in sorted([*corpora.glob("*/*.md"), *corpora.glob("*/*.txt")]):
        for line in path.read_text(encoding="utf-8").splitlines():
            words = re.findall(r"[\w’'-]+", line)
            for n_words in range(1, 5):
                starts = range(len(words) - n_words + 1)
                phrases_found.update({" ".join(words[i : i + n_words]): None for i in starts})
    return list(phrases_found)


def misspelled(text: str, draw: random.Random) -> str:
    """Return a copy with a letter more, less or changed, an ending, or a hyphen for a blank."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    i = draw.randrange(len(text))
    copies = (
        text[:i] + draw.choice(letters) + text[i:],
        text[:i] + text[i + 1 :],
        text[:i] + draw.choice(letters) + text[i + 1 :],
        text + "s",
        text.replace(" ", "-", 1),
    )
    return draw.choice(copies)


def keys_of_elements(n: int) -> list[str]:
    """Return different keys of elements: half of them phrases, half misspelled copies of these."""
    draw = random.Random(0)
    known = [key for phrase in phrases() if (key := element_key(phrase))]
    draw.shuffle(known)
    keys = dict.fromkeys(known[: n // 2])
    originals = list(keys)
    while len(keys) < n:
        if key := element_key(misspelled(draw.choice(originals), draw)):
            keys[key] = None
    return list(keys)


def scan(hashes: np.ndarray, n_bits: int) -> Pairs:
    """Return `near_pairs` by comparing every hash with all later ones."""
    blocks = [np.zeros((0, 3), np.int64)]
    for start in range(0, len(hashes), 50):
        bits = hamming(hashes[start : start + 50, None], hashes[None, start:])
        left, right = np.nonzero(bits <= n_bits)
        is_pair = left < right
        left, right = left[is_pair], right[is_pair]
        blocks.append(np.column_stack([left + start, right + start, bits[left, right]]))
    return Pairs(*np.concatenate(blocks).T)


def tuples(pairs: Pairs) -> list[tuple[int, int, int]]:
    return list(zip(*(column.tolist() for column in pairs), strict=True))


def planted(n: int, most_bits: int) -> np.ndarray:
    """Random hashes, a quarter of them copies of others with up to so many bits flipped."""
    random = np.random.default_rng(0)
    hashes = random.integers(0, 2**64, n, dtype=np.uint64)
    for index in range(0, n, 4):
        flipped = random.choice(64, random.integers(0, most_bits + 1), replace=False)
        hashes[index] = hashes[random.integers(n)] ^ np.uint64(sum(1 << int(b) for b in flipped))
    return hashes


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


def test_near_pairs_of_10_000_elements_equal_a_full_scan() -> None:
    keys = keys_of_elements(10_000)
    hashes = simhashes(keys)
    found = tuples(near_pairs(hashes))
    assert found == tuples(scan(hashes, 3))
    assert {bits for _, _, bits in found} == {0, 1, 2, 3}


def test_near_pairs_of_planted_neighbours_equal_a_full_scan() -> None:
    hashes = planted(10_000, most_bits=5)
    found = tuples(near_pairs(hashes))
    assert found == tuples(scan(hashes, 3))
    assert {bits for _, _, bits in found} == {0, 1, 2, 3}


# bits from few positions give hashes that are equal in most blocks, and often altogether
_CROWDED = st.lists(st.sampled_from([0, 1, 15, 16, 40, 63]), max_size=6).map(
    lambda bits: sum({1 << bit for bit in bits})
)


@given(st.lists(HASH | _CROWDED, max_size=40), st.integers(0, 8))
def test_near_pairs_of_random_hashes_equal_a_full_scan(numbers: list[int], n_bits: int) -> None:
    hashes = np.array(numbers, np.uint64)
    assert tuples(near_pairs(hashes, n_bits)) == [
        (i, j, (numbers[i] ^ numbers[j]).bit_count())
        for i in range(len(numbers))
        for j in range(i + 1, len(numbers))
        if (numbers[i] ^ numbers[j]).bit_count() <= n_bits
    ]


@pytest.mark.parametrize("n_bits", [-1, 63])
def test_distance_out_of_range_raises(n_bits: int) -> None:
    with pytest.raises(ValueError, match=f"n_bits is {n_bits}; give 0 to 62"):
        near_pairs(np.zeros(2, np.uint64), n_bits)
