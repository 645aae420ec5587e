"""Each check of `jerr` alone, on a graph small enough to know the answer.

Document a has two line chunks of 600 word pieces and one of 2,000; they mention Lin, the bay and
the dam. In the graph of size 600 Lin leads to the bay, that to the dam, and back is left out.
"""

import pytest

from tests.checks.small_tables import Rows, SmallTables

TEXT = "Lin swims.\n\nThe dam holds."
COLUMNS = {
    "documents": "document_id text",
    "contexts": "query_id node_id",
    "jerr.line_chunks": "max_tokens chunk_id document_id position start end text",
    "jerr.synopses": "max_tokens chunk_id document_id position synopsis",
    "jerr.elements": "max_tokens chunk_id document_id element element_key",
    "jerr.relations": "max_tokens chunk_id document_id source_key target_key relation",
    "jerr.merges": "max_tokens element node_id rule n_bits",
    "jerr.nodes": "max_tokens node_id place",
    "jerr.edges": "max_tokens source_id target_id",
    "jerr.left_out_edges": "max_tokens source_id target_id cycle_ids",
    "jerr.pages": "document_id start end text",
    "jerr.searches": "query_id node_id name place step mean_reward",
    "jerr.look_ups": "query_id chunk_ids",
}
GOOD: Rows = {
    "documents": [("a", TEXT), ("z", "What nobody asked about.")],
    "contexts": [("q", "a0"), ("q", "a1"), ("q", "LIN"), ("p", "a0")],
    "jerr.line_chunks": [
        (600, "a0", "a", 0, 0, 10, "Lin swims."),
        (600, "a1", "a", 1, 12, 26, "The dam holds."),
        (600, "z0", "z", 0, 0, 24, "What nobody asked about."),
        (2000, "a2", "a", 0, 0, 26, TEXT),
        (2000, "z0", "z", 0, 0, 24, "What nobody asked about."),  # of either size the same
    ],
    "jerr.synopses": [
        (600, "a0", "a", 0, "Lin swims."),
        (600, "a1", "a", 1, "It holds."),
        (600, "z0", "z", 0, "Nothing."),
        (2000, "a2", "a", 0, "Lin, a dam."),
        (2000, "z0", "z", 0, "Nothing."),
    ],
    "jerr.elements": [
        (600, "a0", "a", "Lin", "lin"),
        (600, "a0", "a", "the bay", "bay"),
        (600, "a1", "a", "Bay", "bay"),
        (600, "a1", "a", "dam", "dam"),
        (600, "z0", "z", "Lin", "lin"),
        (2000, "a2", "a", "dams", "dams"),
        (2000, "a2", "a", "dam", "dam"),
        (2000, "z0", "z", "bay", "bay"),
    ],
    "jerr.relations": [
        (600, "a0", "a", "lin", "bay", "swims in"),
        (600, "a1", "a", "bay", "dam", "ends at the"),
        (600, "a1", "a", "dam", "bay", "holds"),
        (2000, "a2", "a", "dam", "dams", "is"),
    ],
    "jerr.merges": [
        (600, "Lin", "LIN", "own", 0),
        (600, "the bay", "BAY", "own", 0),
        (600, "Bay", "BAY", "exact", 0),
        (600, "dam", "DAM", "own", 0),
        (2000, "dam", "DAM", "own", 0),
        (2000, "dams", "DAM", "near", 3),
        (2000, "bay", "BAY", "own", 0),
    ],
    "jerr.nodes": [
        (600, "LIN", 0),
        (600, "BAY", 1),
        (600, "DAM", 2),
        (2000, "DAM", 0),
        (2000, "BAY", 1),
    ],
    "jerr.edges": [(600, "LIN", "BAY"), (600, "BAY", "DAM"), (2000, "DAM", "BAY")],
    "jerr.left_out_edges": [
        (600, "DAM", "LIN", ["DAM", "LIN", "BAY"]),
        (600, "DAM", "BAY", ["DAM", "BAY"]),
        (600, "DAM", "DAM", ["DAM"]),
    ],
    "jerr.pages": [
        ("a", 0, 10, "Lin swims."),
        ("a", 12, 26, "The dam holds."),
        ("z", 0, 24, "What nobody asked about."),
    ],
    "jerr.searches": [
        ("q", "BAY", "bay", 1, 2, 1.0),
        ("q", "LIN", "Lin", 2, 1, 0.5),
        ("q", "DAM", "dam", 3, None, 0.0),
        ("p", "DAM", "dam", 1, 1, 0.25),
        ("r", "DAM", "dam", 1, None, None),  # by PageRank
    ],
    "jerr.look_ups": [("q", ["a1", "a0"]), ("p", []), ("r", [])],
}
CHECKS = {
    "line_chunks": ("line_chunks", "cover_documents"),
    "pages": ("pages", "cover_documents"),
    "synopses": ("synopses", "every_chunk_has_one"),
    "elements": ("elements", "every_synopsis_has_some"),
    "relations": ("relations", "join_elements"),
    "merges": ("nodes", "stand_for_elements"),
    "edges": ("edges", "close_no_cycle"),
    "left_out": ("left_out_edges", "would_close_cycles"),
    "searches": ("searches", "visit_nodes"),
    "look_ups": ("look_ups", "name_what_was_shown"),
}


SMALL = SmallTables("jerr", COLUMNS, GOOD, CHECKS)
finding_of, with_row = SMALL.finding, SMALL.with_row


@pytest.mark.parametrize(
    ("row", "first", "n_wrong"),
    [
        ((1, ()), "max_tokens 600, document_id 'a', character 10: text in no chunk", 1),
        ((3, ()), "max_tokens 2000, document_id 'a', character 0: text in no chunk", 1),
        (
            (1, (600, "a1", "a", 1, 12, 26, "The dam fell.")),
            "max_tokens 600, document_id 'a', character 12: a chunk differs from the document",
            1,
        ),
        (
            (4, (2000, "y0", "y", 0, 0, 1, "W")),
            "max_tokens 2000, document_id 'y', character 0: a chunk of a missing document",
            2,  # and z is not covered
        ),
    ],
)
def test_invalid_line_chunks_of_one_size_are_found(row, first, n_wrong):
    number, values = row
    finding = finding_of("line_chunks", line_chunks=with_row("line_chunks", number, *values))
    assert finding.checked.endswith("line chunks of 2 documents")
    assert f"of line chunks and documents (first: {first})" in finding.problem
    assert finding.problem.endswith("; materialize jerr/line_chunks again")
    assert (finding.n_wrong, len(finding.offenders)) == (n_wrong, n_wrong)
    assert str(finding.offenders[0]["max_tokens"]) == first.split()[1].rstrip(",")


def test_missing_line_chunks_leave_all_documents_uncovered():
    finding = finding_of("line_chunks", line_chunks=[])
    assert finding.problem.startswith("0 line chunks of 2 documents: 2 mismatches of line")
    assert "(first: document_id 'a', character 0: text in no chunk)" in finding.problem


def test_invalid_pages_are_found():
    finding = finding_of("pages", pages=with_row("pages", 1))
    assert finding.problem == (
        "2 pages of 2 documents: 1 mismatch of pages and documents (first: document_id "
        "'a', character 10: text in no chunk); materialize jerr/pages again"
    )
    assert finding_of("pages", pages=with_row("pages", 2)).n_wrong == 1
    assert finding_of("pages", pages=with_row("pages", 2, "y", 0, 1, "W")).n_wrong == 2


def test_method_without_pages_passes():
    finding = finding_of("pages", pages=[])
    assert (finding.problem, finding.checked) == ("", "0 pages of 0 documents")


A0 = (600, "a0", "a")
END, SLOW = "edges have an end that is not a node", "edges do not follow the topological order"
LOOP = "edges join a node to itself"
FORMS, BITS = (
    "written forms of elements are merged into no",
    "written forms differ from their node's name by",
)
MERGED = "written forms are merged into a node that does"
SHOWN = "passages to read again were not shown with their question"
LEFT, WORDS = (
    "left-out edges do not close the reported",
    "relations are not named in one to 3 words",
)
ENDS = "relations have an end that is not an element of their"
BARE = "synopses have no element, so that searches cannot find them"
COUNT = "questions do not count their"
REWARD = "visited nodes have a mean reward that is not 0 to 1"
# check and table: (row number, its replacement, starts of the findings)
DEFECTS: dict[tuple[str, str], list[tuple]] = {
    ("synopses", "synopses"): [
        (1, (), "1 of 5 line chunks have no synopsis"),
        (2, (), "1 of 5 line chunks have no synopsis"),  # that of the other size is another
        (0, (600, "a0", "a", 0, " \n"), "1 of 5 line chunks have no synopsis"),
    ],
    ("elements", "elements"): [
        (4, (), f"1 of 5 {BARE}"),
        (7, (), f"1 of 5 {BARE}"),
        (8, (600, "a2", "a", "x", "x"), "1 of 9 elements belong to no line chunk"),
    ],
    ("elements", "synopses"): [(0, (600, "a0", "a", 0, ""))],  # what is empty has no elements
    ("relations", "relations"): [
        (0, (*A0, "lin", "dam", "swims to"), f"1 of 4 {ENDS}"),
        (0, (*A0, "dam", "lin", "hides"), f"1 of 4 {ENDS}"),
        (0, (2000, "a0", "a", "lin", "bay", "swims in"), f"1 of 4 {ENDS}"),
        (0, (*A0, "lin", "bay", "swims in the big"), f"1 of 4 {WORDS}"),
        (0, (*A0, "lin", "bay", "swims  in\tthe")),
        (0, (*A0, "lin", "bay", " "), f"1 of 4 {WORDS}"),
    ],
    ("relations", "elements"): [(1, (), f"1 of 4 {ENDS}")],
    ("merges", "merges"): [
        (2, (), f"1 of 7 {FORMS}"),  # "Bay" is another form than "the bay"
        (6, (), f"1 of 7 {FORMS}"),
        (2, (600, "Bay", "X", "exact", 0), f"1 of 7 {MERGED}"),
        (6, (2000, "bay", "LIN", "own", 0), f"1 of 7 {MERGED}"),
        (2, (600, "Bay", "BAY", "exact", 1), f"1 of 7 {BITS}"),
        (0, (600, "Lin", "LIN", "own", 1), f"1 of 7 {BITS}"),
        (5, (2000, "dams", "DAM", "near", 4), f"1 of 7 {BITS}"),
        (5, (2000, "dams", "DAM", "near", -1), f"1 of 7 {BITS}"),
        (5, (2000, "dams", "DAM", "near", 0)),
    ],
    ("edges", "edges"): [
        (3, (600, "LIN", "X"), f"1 of 4 {END}"),
        (3, (600, "X", "LIN"), f"1 of 4 {END}"),
        (3, (2000, "LIN", "BAY"), f"1 of 4 {END}"),
        (3, (600, "DAM", "DAM"), f"1 of 4 {LOOP}"),
        (3, (600, "X", "X"), f"1 of 4 {END}", f"1 of 4 {LOOP}"),
        (3, (600, "DAM", "LIN"), f"1 of 4 {SLOW}"),
        (3, (600, "DAM", "BAY"), f"1 of 4 {SLOW}"),
        (3, (2000, "BAY", "DAM"), f"1 of 4 {SLOW}"),
        (3, (600, "LIN", "DAM")),
    ],
    ("edges", "nodes"): [
        (0, (600, "LIN", 1), f"1 of 3 {SLOW}"),
        (2, (600, "DAM", 0), f"1 of 3 {SLOW}"),
        (3, (), f"1 of 3 {END}"),
    ],
    ("left_out", "left_out_edges"): [
        (0, (600, "DAM", "LIN", ["DAM", "LIN"]), f"1 of 3 {LEFT}"),
        (0, (600, "DAM", "LIN", ["LIN", "BAY", "DAM"]), f"1 of 3 {LEFT}"),
        (0, (600, "LIN", "BAY", ["LIN", "BAY"]), f"1 of 3 {LEFT}"),
        (0, (2000, "DAM", "LIN", ["DAM", "LIN", "BAY"]), f"1 of 3 {LEFT}"),
        (0, (600, "DAM", "LIN", []), f"1 of 3 {LEFT}"),
        (0, (600, "DAM", "LIN", ["DAM"]), f"1 of 3 {LEFT}"),
    ],
    ("left_out", "edges"): [(1, (), f"2 of 3 {LEFT}")],
    ("searches", "searches"): [
        (2, ("q", "X", "x", 3, None, 0.0), "1 of 5 visited nodes are not in the graph"),
        (0, ("q", "BAY", "bay", 1, 2, 1.1), f"1 of 5 {REWARD}"),
        (0, ("q", "BAY", "bay", 1, 2, -0.1), f"1 of 5 {REWARD}"),
        (0, ("q", "BAY", "bay", 1, 2, float("nan")), f"1 of 5 {REWARD}"),
        (0, ("q", "BAY", "bay", 1, 2, 1 + 1e-12)),
        (2, ("q", "DAM", "dam", 4, None, 0.0), f"1 of 3 {COUNT} places up from 1"),
        (2, ("q", "DAM", "dam", 2, None, 0.0), f"1 of 3 {COUNT} places up from 1"),
        (1, ("q", "LIN", "Lin", 3, 1, 0.5), f"1 of 3 {COUNT} places up from 1"),
        (4, ("r", "DAM", "dam", 0, None, None), f"1 of 3 {COUNT} places up from 1"),
        (1, ("q", "LIN", "Lin", 2, None, 0.5), f"1 of 3 {COUNT} steps up from 1"),
        (1, ("q", "DAM", "dam", 2, 3, 0.5), f"1 of 3 {COUNT} steps up from 1"),
        (2, ("q", "LIN", "Lin", 3, 3, 0.5), "1 of 2 steps of best paths follow no edge"),
    ],
    ("searches", "edges"): [(0, (), "1 of 1 step of a best path follow no edge")],
    ("searches", "nodes"): [(0, (), "1 of 5 visited nodes are not in the graph")],
    ("look_ups", "look_ups"): [
        (1, ("p", ["a1"]), f"1 of 3 {SHOWN}"),
        (2, ("r", ["a0"]), f"1 of 3 {SHOWN}"),
    ],
    ("look_ups", "contexts"): [(1, (), f"1 of 2 {SHOWN}")],
}


def test_offender_and_remedy_are_shown():
    rows = with_row("edges", 3, 600, "LIN", "X")
    finding = finding_of("edges", edges=rows)
    assert finding.offenders == [{"max_tokens": 600, "source_id": "LIN", "target_id": "X"}]
    assert finding.problem.endswith("materialize jerr/nodes and jerr/edges again")


@pytest.mark.parametrize("check", ["synopses", "elements"])
def test_omitted_items_are_requested_again(check):
    finding = finding_of(check, **{check: with_row(check, 4)})
    assert "`gsum run tales` requests them again" in finding.problem
    assert "choose another model in gsum.toml, [llm]" in finding.problem


def test_searches_use_one_graph_of_any_size():
    of_large = [("q", "DAM", "dam", 1, 1, 1.0), ("q", "BAY", "bay", 2, 2, 0.5)]
    assert not finding_of("searches", searches=of_large).problem
    of_both = [*of_large, ("p", "LIN", "Lin", 1, 1, 1.0)]  # LIN leads to BAY in the small one
    assert finding_of("searches", searches=of_both).n_wrong == 1
    assert finding_of("searches", searches=of_large, nodes=[], edges=[]).n_wrong == 3
