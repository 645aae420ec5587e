"""The graph of a corpus: nodes, edges, those left out of it, and what does not matter to them."""

from itertools import pairwise

import networkx as nx
import numpy as np
import pyarrow as pa
from hypothesis import example, given
from hypothesis import strategies as st

from gsum_assets.jerr.extract import element_key
from gsum_assets.jerr.graph import graph_of, without_cycles
from gsum_assets.jerr.merge import merge_elements, node_id
from gsum_assets.pipeline.result import Result
from tests.jerr.tower import rows_of

Synopsis = tuple[str, str, list[str], list[tuple[str, str, str]], list[str]]
"""Document, line chunk, elements, relations (source, relation, target) and facts."""

STORY: list[Synopsis] = [
    (
        "story",
        "c1",
        ["Korvin", "the Tr'en", "ship"],
        [("Korvin", "imprisoned by", "the Tr'en"), ("Korvin", "steals", "ship")],
        ["Korvin sits in a cell of the Tr'en.", "Nobody comes.", "A ship waits."],
    ),
    (
        "story",
        "c2",
        ["KORVIN", "Tr'en", "ruler"],
        [("KORVIN", "captive of", "Tr'en"), ("Tr'en", "fear", "KORVIN"), ("ruler", "is", "ruler")],
        ["The ruler asks Korvin.", "The Tr'en fear Korvin."],
    ),
    (
        "sequel",
        "c3",
        ["Korvin", "Tr'en", "shipyard"],
        [("Korvin", "captive of", "Tr'en"), ("shipyard", "serves", "Tr'en")],
        ["A shipyard is no ship.", "Korvin returns."],
    ),
]


def tables(synopses: list[Synopsis]) -> list[pa.Table]:
    """Return the arguments of `graph_of`; the text of a line chunk is its facts."""
    rows: dict[str, list[dict]] = {
        name: [] for name in ("elements", "atomic_facts", "relations", "line_chunks")
    }
    for document_id, chunk_id, elements, relations, facts in synopses:
        of = {"document_id": document_id, "chunk_id": chunk_id}
        rows["line_chunks"].append(
            of | {"text": " ".join(facts), "position": 0, "start": 0, "end": 0, "n_tokens": 0}
        )
        for i, name in enumerate(elements):
            element = {"element": name, "element_key": element_key(name), "position": i}
            rows["elements"].append(of | element)
        rows["atomic_facts"] += [of | {"statement": f, "position": i} for i, f in enumerate(facts)]
        rows["relations"] += [
            of | {"source_key": element_key(a), "relation": named, "target_key": element_key(b)}
            for a, named, b in relations
        ]
    elements, facts, relations, lines = (rows_of(name, of_table) for name, of_table in rows.items())
    return [elements, facts, relations, merge_elements(elements), lines]


def graph(synopses: list[Synopsis]) -> Result:
    return graph_of(*tables(synopses))


def by_name(graph: Result) -> dict[str, dict]:
    return {row["name"]: row for row in graph.rows.to_pylist()}


def edges_of(graph: Result, table: str = "edges") -> list[dict]:
    return graph.beside[table].to_pylist()


def test_nodes_list_their_mentions_and_descriptions():
    nodes = by_name(graph(STORY))
    assert nodes.keys() == {"Korvin", "Tr'en", "ship", "ruler", "shipyard"}
    korvin = nodes["Korvin"]
    assert korvin["node_id"] == node_id("korvin")
    assert korvin["n_mentions"] == 3
    assert korvin["chunk_ids"] == ["c1", "c2", "c3"]
    assert korvin["document_ids"] == ["sequel", "story"]
    assert korvin["facts"] == [
        "Korvin returns.",
        "Korvin sits in a cell of the Tr'en.",
        "The Tr'en fear Korvin.",
        "The ruler asks Korvin.",
    ]
    assert nodes["ship"]["facts"] == ["A ship waits."], "neither other chunks nor parts of words"
    assert nodes["Tr'en"]["n_mentions"] == 3


def test_a_node_leads_to_line_chunks_that_name_it_in_documents_that_mention_it():
    story = [
        ("story", "c1", ["Korvin", "ship"], [("Korvin", "steals", "ship")], ["Korvin sails."]),
        ("story", "c2", ["ruler"], [], ["The ruler sees a SHIP, no ships."]),
        ("sequel", "c3", ["shipyard"], [], ["Korvin's ship is in the shipyard."]),
    ]
    nodes = by_name(graph(story))
    assert nodes["ship"]["chunk_ids"] == ["c1", "c2"]
    assert (nodes["ship"]["n_mentions"], nodes["ship"]["document_ids"]) == (1, ["story"])
    assert nodes["Korvin"]["chunk_ids"] == ["c1"]


def test_relations_of_a_pair_are_one_edge_weighted_by_synopses():
    edges = edges_of(graph(STORY))
    assert [(row["source_id"], row["target_id"]) for row in edges] == sorted(
        (node_id(a), node_id(b))
        for a, b in [("korvin", "tr'en"), ("korvin", "ship"), ("shipyard", "tr'en")]
    )
    captive = next(row for row in edges if row["weight"] == 3)
    assert captive["relation"] == "captive of"
    assert captive["relations"] == ["captive of", "imprisoned by"]
    assert captive["chunk_ids"] == ["c1", "c2", "c3"]
    assert captive["document_ids"] == ["sequel", "story"]


def test_edge_closing_a_cycle_is_dropped_and_the_cycle_recorded():
    back, itself = sorted(edges_of(graph(STORY), "left_out_edges"), key=lambda row: row["cycle"])
    assert back["cycle"] == "Tr'en -[fear]-> Korvin -[captive of]-> Tr'en"
    assert back["cycle_ids"] == [node_id("tr'en"), node_id("korvin")]
    assert (back["weight"], back["chunk_ids"], back["document_ids"]) == (1, ["c2"], ["story"])
    assert itself["cycle"] == "ruler -[is]-> ruler"
    assert itself["cycle_ids"] == [node_id("ruler")]


def test_equally_frequent_relations_use_alphabetical_order():
    named = [("x", "c1", ["a", "b"], [("a", "owns", "b")], [])]
    named.append(("x", "c2", ["a", "b"], [("a", "holds", "b")], []))
    (edge,) = edges_of(graph(named))
    assert (edge["relation"], edge["weight"]) == ("holds", 2)


def test_line_chunk_counts_once_for_all_forms_of_a_node():
    synopses = [("x", "c1", ["a", "b", "c"], [("a", "owns", "b"), ("c", "holds", "b")], [])]
    *read, merges, lines = tables(synopses)
    near = {"node_id": node_id("a"), "merged_into": "a"}
    merged = [row | (near if row["element"] == "c" else {}) for row in merges.to_pylist()]
    found = graph_of(*read, pa.Table.from_pylist(merged, merges.schema), lines)
    (edge,) = edges_of(found)
    assert (edge["weight"], edge["relations"]) == (1, ["holds", "owns"])
    assert [row["n_mentions"] for row in found.rows.to_pylist()] == [1, 1]


NAMES = ["Ann", "Bob", "Cleo", "Dan", "Eve", "the Ann"]
RELATIONS = st.tuples(
    st.sampled_from(NAMES), st.sampled_from(["sees", "helps"]), st.sampled_from(NAMES)
)
SYNOPSES = st.lists(st.lists(RELATIONS, max_size=5), max_size=8).map(
    lambda lists: [
        (
            f"d{i % 3}",
            f"c{i}",
            sorted({end for a, _, b in some for end in (a, b)}),
            sorted({(element_key(a), element_key(b)): (a, by, b) for a, by, b in some}.values()),
            [f"{a} {by} {b}." for a, by, b in some],
        )
        for i, some in enumerate(lists)
    ]
)


@given(SYNOPSES, st.randoms(use_true_random=False))
def test_pairs_are_forward_edges_or_left_out_whatever_the_order_of_rows(synopses, random):
    read = tables(synopses)
    shuffled = []
    for table in read:
        some = table.take(np.array(random.sample(range(len(table)), len(table)), int))
        if "position" in table.column_names:
            positions = pa.array(random.choices(range(9), k=len(some)), pa.int32())
            some = some.set_column(some.column_names.index("position"), "position", positions)
        shuffled.append(some)
    found = graph_of(*shuffled)
    assert found == graph_of(*read)
    order = {row["node_id"]: row["place"] for row in found.rows.to_pylist()}
    edges, left_out = (
        {(row["source_id"], row["target_id"]): row for row in table.to_pylist()}
        for table in found.beside.values()
    )
    named = {(a, b) for it in synopses for a, _, b in it[3]}
    pairs = {tuple(node_id(element_key(end)) for end in pair) for pair in named}
    assert edges.keys() | left_out.keys() == pairs
    assert all(order[source] < order[target] for source, target in edges)
    for pair, row in left_out.items():
        closing, *steps = pairwise([*row["cycle_ids"], row["cycle_ids"][0]])
        assert closing == pair
        assert all(edges[step]["weight"] >= row["weight"] for step in steps)


PAIRS = st.lists(st.tuples(*[st.sampled_from("abcdefghi")] * 2), max_size=60, unique=True)


@given(PAIRS)
@example([("b", "a"), ("c", "b"), ("d", "c"), ("a", "d")])
@example([("a", "b"), ("b", "a"), ("c", "c")])
def test_edge_is_left_out_only_if_it_closes_a_shortest_cycle_of_earlier_edges(edges):
    cycles, order = without_cycles("abcdefghi", edges)
    accepted = nx.DiGraph()
    accepted.add_nodes_from("abcdefghi")
    for edge in edges:
        if closes := nx.has_path(accepted, edge[1], edge[0]):
            closing, *way = pairwise([*cycles[edge], edge[0]])
            assert closing == edge
            assert all(accepted.has_edge(*step) for step in way)
            length = nx.shortest_path_length(accepted, edge[1], edge[0])
            assert len(set(cycles[edge])) == len(cycles[edge]) == 1 + length
        else:
            accepted.add_edge(*edge)
        assert closes == (edge in cycles)
    assert order == list(nx.lexicographical_topological_sort(accepted))
