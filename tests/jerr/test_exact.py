"""The trie decides what is equal; the Bloom filter only spares it work."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.exact import BloomFilter, ExactSet, Trie

KEYS = st.lists(st.text("ab ", max_size=5) | st.text(max_size=8))


@given(KEYS, st.sampled_from([(8, 1), (8, 3), (1, 1), (4096, 7)]))
def test_filter_full_of_collisions_merges_nothing(keys: list[str], size) -> None:
    seen = ExactSet(BloomFilter(*size))
    indices = [seen.add(key) for key in keys]
    different = list(dict.fromkeys(keys))
    assert seen.keys == different
    assert indices == [different.index(key) for key in keys]


def test_full_filter_defers_to_the_trie() -> None:
    bloom = BloomFilter(8, 3)
    seen = ExactSet(bloom)
    numbers = [str(number) for number in range(200)]
    assert [seen.add(key) for key in numbers * 2] == [*range(200)] * 2
    assert "never added" in bloom


def test_trie_is_queried_only_if_the_filter_matches(monkeypatch) -> None:
    lookups, get = [], Trie.get
    monkeypatch.setattr(Trie, "get", lambda trie, key: [lookups.append(key), get(trie, key)][1])
    seen = ExactSet(BloomFilter(1 << 20, 7))
    for key in ["lamp", "boat", "lamp", "red boat"]:
        seen.add(key)
    assert lookups == ["lamp"]


@given(KEYS, st.integers(1, 64), st.integers(1, 9))
def test_filter_has_no_false_negatives(keys: list[str], n_bits: int, n_hashes: int) -> None:
    bloom = BloomFilter(n_bits, n_hashes)
    assert not any(key in bloom for key in keys)
    for key in keys:
        bloom.add(key)
    assert all(key in bloom for key in keys)


@pytest.mark.parametrize("error_rate", [0.1, 0.01])
def test_filter_keeps_its_false_positive_rate(error_rate: float) -> None:
    n = 20_000
    bloom = BloomFilter.sized_for(n, error_rate)
    for number in range(n):
        bloom.add(f"element {number}")
    errors = sum(f"other {number}" in bloom for number in range(n))
    assert errors / n == pytest.approx(error_rate, rel=0.15)


@given(st.dictionaries(st.text("ab ", max_size=5), st.integers()), st.text("ab ", max_size=5))
def test_trie_equals_a_dictionary(numbers: dict[str, int], other: str) -> None:
    trie = Trie()
    for key, number in numbers.items():
        trie.put(key, number)
    assert {key: trie.get(key) for key in numbers} == numbers
    assert trie.get(other) == numbers.get(other)


@pytest.mark.parametrize("make", [lambda: BloomFilter(0, 1), lambda: BloomFilter(8, 0)])
def test_filter_without_bits_raises(make) -> None:
    with pytest.raises(ValueError, match="give 1 or more"):
        make()


@pytest.mark.parametrize("rate", [0, 1, -0.5])
def test_error_rate_must_be_a_share(rate: float) -> None:
    with pytest.raises(ValueError, match=f"error_rate is {rate}"):
        BloomFilter.sized_for(10, rate)
