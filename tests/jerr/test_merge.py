"""Elements become one node where their keys are equal, or near and of the same numbers."""

import random
import re
from collections import Counter
from hashlib import blake2b
from itertools import combinations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.extract import element_key
from gsum_assets.jerr.merge import (
    NEAR_BITS,
    merge_elements,
    near_pairs,
    node_id,
    shingles,
    simhashes,
)
from tests.jerr.tower import rows_of

Mention = tuple[str, str]
"""chunk_id and element."""


def merged(*mentions: Mention) -> dict[str, dict]:
    elements = [
        {"chunk_id": chunk, "document_id": "d", "position": i, "element": element}
        | {"element_key": element_key(element)}
        for i, (chunk, element) in enumerate(mentions)
    ]
    rows = merge_elements(rows_of("elements", elements)).to_pylist()
    assert [row["element"] for row in rows] == sorted({element for _, element in mentions})
    return {row["element"]: row for row in rows}


def each(*forms: str) -> list[Mention]:
    """A mention of each form, in a synopsis of its own."""
    return [(f"c{i}", form) for i, form in enumerate(forms)]


def rules(rows: dict[str, dict]) -> dict[str, str]:
    return {name: row["rule"] for name, row in rows.items()}


def distance(one: str, other: str) -> int:
    first, second = map(int, simhashes([element_key(one), element_key(other)]))
    return (first ^ second).bit_count()


def test_equal_keys_are_one_node_named_by_most_synopses() -> None:
    rows = merged(*each("The Lamp", "lamp", "lamp", "LAMP", "Boat"))
    assert rows["LAMP"] == {
        "element": "LAMP",
        "element_key": "lamp",
        "node_id": node_id("lamp"),
        "merged_into": "lamp",
        "rule": "exact",
        "n_bits": 0,
        "n_mentions": 1,
    }
    assert rules(rows) == {"Boat": "own", "LAMP": "exact", "The Lamp": "exact", "lamp": "own"}
    assert rows["Boat"]["node_id"] == node_id("boat") != node_id("lamp")


def test_near_keys_are_one_node_with_the_key_of_most_synopses() -> None:
    # one form of "by-law" is written most, but more synopses have some form of "bylaw"
    mentions = [("a", "by-law"), ("b", "by-law"), ("a", "Bylaw"), ("b", "bylaw"), ("c", "BYLAW")]
    rows = merged(*mentions)
    assert {row["merged_into"] for row in rows.values()} == {"BYLAW"}
    assert {row["node_id"] for row in rows.values()} == {node_id("bylaw")}
    assert rules(rows) == {"BYLAW": "own", "Bylaw": "exact", "by-law": "near", "bylaw": "exact"}


@pytest.mark.parametrize(
    ("forms", "name"),
    [
        (["by-law", "bylaw"], "bylaw"),  # the shorter one
        (["by-law", "by law"], "by law"),  # the first of the alphabet
        (["lamp", "Lamp"], "Lamp"),
        (["the lamp", "lamp"], "lamp"),
    ],
)
def test_ties_use_the_shorter_then_the_first_form(forms: list[str], name: str) -> None:
    assert {row["merged_into"] for row in merged(*each(*forms)).values()} == {name}


MEETING = "Minutes of the harbour committee meeting number {}"


@pytest.mark.parametrize(
    "forms",
    [
        ["1 973", "1973"],
        ["Chapter 1", "Chapter 2"],
        ["World War I", "World War II"],
        [MEETING.format(year) for year in range(1900, 1960)],
        [MEETING.format(number) for number in ("I", "II", "III", "IV", "V", "VI", "VII", "IX")],
        [MEETING.format(letter) for letter in "abcdefgh"],
        [MEETING.format(number) for number in "一二三四五六七"],
        [MEETING.format(number) for number in "१२३४५६७"],
    ],
    ids=lambda forms: forms[0][-8:],
)
def test_different_numbers_are_never_merged(forms: list[str]) -> None:
    assert set(rules(merged(*each(*forms))).values()) == {"own"}


def test_number_excludes_only_other_numbers() -> None:
    rows = merged(*each("Covid-19", "Covid 19", "U-Boat 7", "u boat 7"))
    assert len({row["node_id"] for row in rows.values()}) == 2


LABEL = re.compile(r"(?<= )(?:i|vii|ix|a|h)$")
POOL = [
    *(f"harbour {a}keeper{b}" for a in ("", "signal ", "signal-") for b in ("", "s", "'s", " 2")),
    *(f"quarry timetable {b}" for b in ("window", "windows", "windows'", "signal", "signals")),
    *(MEETING.format(number) for number in (1, 4, 6, 8, "i", "vii", "ix", "a", "h")),
    *("Lamp", "lamp", "the lamp", "LAMP", "a lamp", "lamps", "北京大学", "北京 大学"),
]
MENTIONS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(POOL)), max_size=40)


@given(MENTIONS, st.randoms(use_true_random=False))
def test_nodes_are_components_of_near_keys_with_equal_numbers_in_any_order(
    mentions: list[Mention], draw: random.Random
) -> None:
    rows = merged(*mentions)
    draw.shuffle(mentions)
    assert merged(*mentions) == rows
    graph = nx.Graph()
    graph.add_nodes_from({row["element_key"] for row in rows.values()})
    for one, other in combinations(graph, 2):
        numbers = [(re.findall(r"\d+", key), LABEL.findall(key)) for key in (one, other)]
        if distance(one, other) <= NEAR_BITS and numbers[0] == numbers[1]:
            graph.add_edge(one, other)
    keys_of: dict[str, set[str]] = {}
    for row in rows.values():
        keys_of.setdefault(row["node_id"], set()).add(row["element_key"])
    assert {frozenset(keys) for keys in keys_of.values()} == {
        frozenset(component) for component in nx.connected_components(graph)
    }
    for row in rows.values():
        name = rows[row["merged_into"]]
        assert (name["rule"], name["node_id"]) == ("own", row["node_id"])
        assert row["node_id"] == node_id(name["element_key"])
        assert row["n_bits"] == distance(row["element"], row["merged_into"])
        assert (row["rule"] == "near") == (row["element_key"] != name["element_key"])


def slow_simhash(text: str) -> int:
    """Charikar's definition, a bit at a time."""
    counts = Counter(shingles(text))
    hashes = {s: int.from_bytes(blake2b(s.encode(), digest_size=8).digest(), "big") for s in counts}
    votes = [sum(n if hashes[s] >> bit & 1 else -n for s, n in counts.items()) for bit in range(64)]
    return sum((vote > 0) << bit for bit, vote in enumerate(votes))


@given(st.lists(st.text(max_size=12) | st.text("ab -", max_size=12), max_size=8))
def test_hashes_equal_the_definition(texts: list[str]) -> None:
    assert simhashes(texts).tolist() == [slow_simhash(text) for text in texts]


def test_shingles_ignore_separators_and_are_never_none() -> None:
    for one, other in (("by-law", "by law"), ("u.s. navy", "us navy"), ("ユリ・ロス", "ユリロス")):
        assert shingles(one) == shingles(other)
    texts = {"a": ["a"], "abcd": ["abcd"], "abcde": ["abcd", "bcde"], "-": ["-"], "": [""]}
    assert {text: shingles(text) for text in texts} == texts


# bits from few positions give hashes that are equal in most blocks, and often altogether
_CROWDED = st.lists(st.sampled_from([0, 1, 15, 16, 40, 63]), max_size=6).map(
    lambda bits: sum({1 << bit for bit in bits})
)


@given(st.lists(st.integers(0, 2**64 - 1) | _CROWDED, max_size=40), st.integers(0, 8))
def test_near_pairs_equal_a_full_scan(numbers: list[int], n_bits: int) -> None:
    numbers *= 1 + 300 // max(1, len(numbers)) * (n_bits == 0)  # more than one block
    pairs = near_pairs(np.array(numbers, np.uint64), n_bits)
    assert list(map(tuple, pairs.tolist())) == [
        (i, j)
        for i, j in combinations(range(len(numbers)), 2)
        if (numbers[i] ^ numbers[j]).bit_count() <= n_bits
    ]
