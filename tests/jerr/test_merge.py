"""Elements become one node where their keys are equal, or near and of the same numbers."""

import random
import re
from collections.abc import Iterable
from itertools import combinations

import networkx as nx
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.elements import element_key
from gsum_assets.jerr.merge import merge_elements, node_id
from gsum_assets.jerr.simhash import hamming, near_pairs, simhashes
from gsum_assets.jerr.sizes import of_one_size

Mention = tuple[str, str]
"""chunk_id and element."""


def elements_of(mentions: Iterable[Mention]) -> pa.Table:
    rows = [
        {"chunk_id": chunk, "element": element, "element_key": element_key(element)}
        for chunk, element in mentions
    ]
    columns = ("chunk_id", "element", "element_key")
    return pa.Table.from_pylist(rows, pa.schema([(column, pa.string()) for column in columns]))


def merged(*mentions: Mention, near_bits: int = 3) -> dict[str, dict]:
    found = merge_elements(elements_of(mentions), near_bits)
    assert found.schema == of_one_size("jerr.merges")
    names = found["element"].to_pylist()
    assert names == sorted({element for _, element in mentions})
    return {row["element"]: row for row in found.to_pylist()}


def each(*forms: str) -> list[Mention]:
    """A mention of each form, in a synopsis of its own."""
    return [(f"c{i}", form) for i, form in enumerate(forms)]


def nodes_of(rows: dict[str, dict]) -> list[str]:
    return [row["node_id"] for row in rows.values()]


def distance(one: str, other: str) -> int:
    hashes = simhashes([element_key(one), element_key(other)])
    return hamming(hashes[:1], hashes[1:]).item()


def test_equal_keys_are_one_node_named_by_most_synopses() -> None:
    rows = merged(*each("The Lamp", "lamp", "lamp", "LAMP", "Boat"))
    assert rows["LAMP"] == {
        "element": "LAMP",
        "element_key": "lamp",
        "node_id": node_id("lamp"),
    } | {"merged_into": "lamp", "rule": "exact", "n_bits": 0, "n_mentions": 1}
    assert {name: row["rule"] for name, row in rows.items()} == {
        "Boat": "own",
        "LAMP": "exact",
        "The Lamp": "exact",
        "lamp": "own",
    }
    assert rows["Boat"]["node_id"] == node_id("boat") != node_id("lamp")


def test_synopsis_counts_once() -> None:
    rows = merged(("c1", "lamp"), ("c1", "lamp"), ("c1", "lamp"), ("c1", "Lamp"), ("c2", "Lamp"))
    assert {name: row["n_mentions"] for name, row in rows.items()} == {"lamp": 1, "Lamp": 2}
    assert rows["lamp"]["merged_into"] == "Lamp"


def test_near_keys_are_one_node_with_the_key_of_most_synopses() -> None:
    # one form of "by-law" is written most, but more synopses have some form of "bylaw"
    mentions = [("a", "by-law"), ("b", "by-law"), ("a", "Bylaw"), ("b", "bylaw"), ("c", "BYLAW")]
    rows = merged(*mentions)
    assert {row["merged_into"] for row in rows.values()} == {"BYLAW"}
    assert {row["node_id"] for row in rows.values()} == {node_id("bylaw")}
    assert {name: row["rule"] for name, row in rows.items()} == {
        "BYLAW": "own",
        "Bylaw": "exact",
        "by-law": "near",
        "bylaw": "exact",
    }


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


def test_bits_equal_those_of_the_name() -> None:
    forms = "harbour signal keeper", "Harbour Signal Keepers"
    bits = distance(*forms)
    assert 0 < bits < 3
    near = merged(*each(*forms), near_bits=bits)
    assert {row["merged_into"] for row in near.values()} == {forms[0]}
    assert {name: row["n_bits"] for name, row in near.items()} == {forms[0]: 0, forms[1]: bits}
    apart = merged(*each(*forms), near_bits=bits - 1)
    assert {row["rule"] for row in apart.values()} == {"own"}


def test_without_bits_only_equal_keys_are_merged() -> None:
    forms = "by-law", "by law", "By Law"
    assert distance(*forms[:2]) == 0
    rows = merged(*each(*forms), near_bits=0)
    assert {name: row["rule"] for name, row in rows.items()} == {
        "By Law": "own",
        "by law": "exact",
        "by-law": "own",
    }


MEETING = "Minutes of the harbour committee meeting number {}"


@pytest.mark.parametrize(
    "forms",
    [
        ["1 973", "1973"],
        ["1.5 m", "15 m"],
        ["Chapter 1", "Chapter 2"],
        ["World War I", "World War II"],
        [MEETING.format(number) for number in range(1, 60)],
        [MEETING.format(year) for year in range(1900, 1960)],
        [MEETING.format(number) for number in ("I", "II", "III", "IV", "V", "VI", "VII", "IX")],
        [MEETING.format(letter) for letter in "abcdefgh"],
        [MEETING.format(number) for number in "一二三四五六七"],
        [MEETING.format(number) for number in "१२३४५६७"],
    ],
    ids=lambda forms: forms[0][-8:],
)
def test_different_numbers_are_never_merged(forms: list[str]) -> None:
    assert {row["rule"] for row in merged(*each(*forms)).values()} == {"own"}


def test_some_pairs_of_numbers_are_near() -> None:
    years = [element_key(MEETING.format(year)) for year in range(1900, 1960)]
    assert len(near_pairs(simhashes(years)).left) > 100
    assert distance("1 973", "1973") == distance("1.5 m", "15 m") == 0


def test_number_excludes_only_other_numbers() -> None:
    assert len(set(nodes_of(merged(*each("Covid-19", "Covid 19", "U-Boat 7", "u boat 7"))))) == 2


LABEL = re.compile(r"(?<= )(?:i|vii|ix|a|h)$")
POOL = [
    *(f"harbour {a}keeper{b}" for a in ("", "signal ", "signal-") for b in ("", "s", "'s", " 2")),
    *(f"quarry timetable {b}" for b in ("window", "windows", "windows'", "signal", "signals")),
    *(MEETING.format(number) for number in (1, 4, 6, 8, "i", "vii", "ix", "a", "h")),
    *("Lamp", "lamp", "the lamp", "LAMP", "a lamp", "lamps", "北京大学", "北京 大学"),
]
MENTIONS = st.lists(st.tuples(st.sampled_from("abcd"), st.sampled_from(POOL)), max_size=40)


@given(MENTIONS, st.integers(0, 3), st.randoms(use_true_random=False))
def test_row_and_chunk_order_do_not_matter(
    mentions: list[Mention], near_bits: int, draw: random.Random
) -> None:
    expected = merge_elements(elements_of(mentions), near_bits)
    shuffled = elements_of(draw.sample(mentions, len(mentions)))
    chunked = pa.concat_tables([shuffled.slice(0, 3), shuffled.slice(3)])
    assert merge_elements(chunked, near_bits).equals(expected)
    renamed = [({"a": "d", "b": "c", "c": "b", "d": "a"}[chunk], form) for chunk, form in mentions]
    assert merge_elements(elements_of(renamed), near_bits).equals(expected)


@given(MENTIONS, st.integers(1, 3))
def test_nodes_equal_components_of_a_brute_force_comparison(
    mentions: list[Mention], near_bits: int
) -> None:
    rows = merged(*mentions, near_bits=near_bits)
    keys = sorted({element_key(form) for _, form in mentions})
    graph = nx.Graph()
    graph.add_nodes_from(keys)
    graph.add_edges_from(
        (one, other)
        for one, other in combinations(keys, 2)
        if distance(one, other) <= near_bits
        and re.findall(r"\d+", one) == re.findall(r"\d+", other)
        and LABEL.findall(one) == LABEL.findall(other)
    )
    expected = {frozenset(component) for component in nx.connected_components(graph)}
    found: dict[str, set[str]] = {}
    for row in rows.values():
        found.setdefault(row["node_id"], set()).add(row["element_key"])
    assert {frozenset(component) for component in found.values()} == expected
    for row in rows.values():
        name = rows[row["merged_into"]]
        assert (name["rule"], name["node_id"]) == ("own", row["node_id"])
        assert row["node_id"] == node_id(name["element_key"])
        assert row["n_bits"] == distance(row["element"], row["merged_into"])
        assert (row["rule"] == "near") == (row["element_key"] != name["element_key"])
        assert (row["rule"] == "own") == (row["element"] == row["merged_into"])


def test_no_elements_give_no_nodes() -> None:
    assert merged() == merged(near_bits=0) == {}
