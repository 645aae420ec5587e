"""Every invariant is broken by a row, and kept by good ones."""

import math

import pytest

from tests.checks.good_rows import FAMILIES, number
from tests.invariants import BEYOND_SQL, CHECKED, INVARIANTS, problems_of

# family, table, number of the row, what replaces it (nothing: it is left out), and the problem
BROKEN: list[tuple[str, str, int, tuple, str]] = [
    ("corpus", "documents", 0, (), "not all were rejected"),
    ("corpus", "chunks", 0, (), "leaves out text of 'a' before 3"),
    ("corpus", "chunks", 2, (), "leaves out text of 'a' from 8"),
    ("corpus", "chunks", 1, ("c1", "a", 3, 8, "e 2"), "is no slice of 'a' at 3"),
    ("corpus", "chunks", 3, ("c3", "x", 0, 1, " "), "is no slice of 'x' at 0"),
    ("corpus", "chunk_embeddings", 0, ("c0", [math.nan, 0]), "are not finite and of unit length"),
    ("corpus", "chunk_embeddings", 0, ("c0", [1.01, 0]), "are not finite and of unit length"),
    ("corpus", "chunk_embeddings", 0, ("c0", [1, 0, 0]), "have vectors of several dimensions"),
    ("corpus", "chunk_embeddings", 0, (), "have no vector"),
    ("corpus", "chunk_embeddings", 0, ("x", [1, 0]), "are vectors of nothing"),
    ("corpus", "query_embeddings", 0, ("q", [0, 0]), "are not finite and of unit length"),
    ("corpus", "query_embeddings", 0, ("q", [1]), "have vectors of several dimensions"),
    ("corpus", "query_embeddings", 1, (), "have no vector"),
    ("corpus", "queries", 1, (), "are vectors of nothing"),
    ("corpus", "leaderboard", 0, ("m", 0.2, 0.31, 0.3), "have a mean outside of its interval"),
    ("corpus", "leaderboard", 0, ("m", 0, math.nan, 1), "have a mean outside of its interval"),
    ("corpus", "curves", 0, ("m", 0.2, 0.19, 0.3), "have a mean outside of its interval"),
    ("corpus", "comparisons", 0, ("m", 0, 2, 1), "have a difference outside of its interval"),
    ("corpus", "rankings", 1, (), "do not count their ranks up from 1"),
    ("corpus", "rankings", 0, ("q", "node", 3), "do not count their ranks up from 1"),
    ("corpus", "rankings", 0, ("q", "node", 1), "do not count their ranks up from 1"),
    ("corpus", "contexts", 0, ("q", 1, "x", "chunk", ""), "are chunks that do not exist"),
    ("corpus", "contexts", 0, ("q", 1, "c0", "chunk", "1"), "have another text than their chunk"),
    (
        "corpus",
        "answer_sources",
        0,
        ("q", "quoted", "a", None, 1, 4),
        "are quoted from no document",
    ),
    ("corpus", "answer_sources", 0, ("q", "quoted", "a", "c0", 4, 4), "have no characters"),
    ("corpus", "answer_sources", 0, ("q", "cited", "a", "c0", 1, 13), "are beyond the chunks"),
    ("corpus", "answer_sources", 0, ("q", "cited", "x", "c0", 1, 4), "are beyond the chunks"),
    ("corpus", "scores", 0, ("q", "rouge1", 1.01), "are not between 0 and 1"),
    ("corpus", "scores", 0, ("q", "rouge1", math.nan), "are not between 0 and 1"),
    ("corpus", "scores", 1, ("q", "context_tokens", -1), "are not between 0 and 1"),
    ("gor", "gor.record_nodes", 0, (), "have no node"),
    ("gor", "chunks", 2, (), "are neither a chunk nor a response"),
    *(
        ("gor", "gor.record_edges", 3, (*pair, "d"), "do not lead from a node to a later response")
        for pair in [("c0", "c1"), ("r2", "r1"), ("r1", "r1"), ("e0", "r1"), ("x", "r1")]
    ),
    ("gor", "gor.node_rankings", 0, ("q", "c0", 0.4), "do not rank their own source first"),
    ("gor", "gor.node_rankings", 0, (), "do not rank their own source first"),
    ("lightpal", "chunks", 0, (), "are not in the corpus"),
    ("lightpal", "lightpal.candidates", 0, (), "have fewer candidates than the others"),
    *(
        ("lightpal", "lightpal.candidates", 0, ("node", "a0", number("a0"), near), problem)
        for near, problem in [
            ([number("a1")], "have fewer candidates than the others"),
            ([number("a1"), number("a0")], "are their own candidates"),
            ([number("a1"), number("b")], "or have some that are not in the corpus"),
        ]
    ),
    ("lightpal", "lightpal.candidates", 0, ("node", "a0", 5, [number("a1")]), "number of another"),
    ("lightpal", "lightpal.context_scores", 0, ("node", "a0", [-1]), "have not one score or null"),
    ("lightpal", "lightpal.context_scores", 0, ("node", "a0", [-math.inf, None]), "are not finite"),
    (
        "lightpal",
        "lightpal.passage_edges",
        2,
        ("walk", "document", "corpus", "a", [5], [1]),
        "do not lead from a passage to its candidates",
    ),
    (
        "lightpal",
        "lightpal.passage_edges",
        1,
        ("walk", "node", "document", "a0", [number("b0")], [1]),
        "leave the document of their scope",
    ),
    (
        "lightpal",
        "lightpal.passage_edges",
        2,
        ("walk", "document", "corpus", "a", [number("b")], []),
        "have not one weight for each edge",
    ),
    ("gae", "gae.graph_edges", 4, ("nearest", "a0", "x"), "join an id that is no passage"),
    ("gae", "gae.graph_edges", 4, ("nearest", "a0", "a0"), "join a passage to itself"),
    ("gae", "gae.graph_edges", 4, ("neighbour", "a0", "a2"), "join as neighbours"),
    ("gae", "gae.graph_edges", 4, ("neighbour", "a1", "b0"), "join as neighbours"),
    *(
        ("gae", table, number, row, problem)
        for table in ("gae.embeddings", "gae.clusters")
        for number, row, problem in [
            (3, (), "are missing for a passage"),
            (4, ("x",), "belong to no passage"),
        ]
    ),
    (
        "gae",
        "gae.refined_contexts",
        3,
        ("p", "b0", "whole", 9, 9),
        "are not among their question's",
    ),
    ("gae", "gae.refined_contexts", 2, ("p", "a0", "cut", 9, 10), "though they were not edited"),
    ("evidence", "chunks", 1, (), "belong to no passage"),
    *(
        ("evidence", "evidence.probabilities", number, row, "are outside of 0 to 1 or above")
        for number, row in [
            (0, ("q", "a0", 1, 1.1)),
            (2, ("p", "a1", 1, math.nan)),
            (3, ("p", "a0", 2, 0.6)),
        ]
    ),
    (
        "graphrag",
        "graphrag.entity_mentions",
        9,
        ("x", "a", "x", "X", "", True, "m", ""),
        "belong to no chunk",
    ),
    (
        "graphrag",
        "graphrag.relationship_mentions",
        0,
        ("a0", "a", "dr lin", "tva", 1, "", ""),
        "have an end that their chunk does not mention",
    ),
    (
        "graphrag",
        "graphrag.relationship_mentions",
        0,
        ("a1", "a", "dr lin", "bay", 1, "", ""),
        "have an end that their chunk does not mention",
    ),
    (
        "graphrag",
        "graphrag.relationship_mentions",
        0,
        ("a0", "a", "bay", "bay", 1, "", ""),
        "join a name to itself",
    ),
    (
        "graphrag",
        "graphrag.relationship_mentions",
        0,
        ("a0", "a", "lin", "bay", 0, "", ""),
        "have a strength that is not 1 to 10",
    ),
    (
        "graphrag",
        "graphrag.relationship_mentions",
        0,
        ("a0", "a", "lin", "bay", 11, "", ""),
        "have a strength that is not 1 to 10",
    ),
    (
        "graphrag",
        "graphrag.entity_mentions",
        6,
        (),
        "have a subject that their chunk does not mention",
    ),
    (
        "graphrag",
        "graphrag.claims",
        0,
        ("a0", "a", "tva", "true", ""),
        "have a subject that their chunk does not mention",
    ),
    (
        "graphrag",
        "graphrag.claims",
        0,
        ("a0", "a", "lin", "TRUE", ""),
        "are neither true, false nor suspected",
    ),
    ("graphrag", "graphrag.aliases", 0, (), "are mentioned and have no alias"),
    ("graphrag", "graphrag.aliases", 9, ("x", "X", "own", []), "have no mention"),
    (
        "graphrag",
        "graphrag.aliases",
        2,
        ("lin", "LIN", "own", []),
        "are entities without an own name, or with several",
    ),
    (
        "graphrag",
        "graphrag.aliases",
        2,
        ("lin", "X", "title", ["a0"]),
        "are entities without an own name, or with several",
    ),
    ("graphrag", "graphrag.aliases", 2, ("lin", "LIN", "title", []), "are merged without evidence"),
    (
        "graphrag",
        "graphrag.aliases",
        2,
        ("lin", "LIN", "title", ["a0", "x"]),
        "have evidence in a chunk that does not exist",
    ),
    (
        "graphrag",
        "graphrag.entities",
        1,
        ("LIN", "Dr Lin", 1, "", ["a0", "a1"]),
        "have no description though a chunk describes them",
    ),
    (
        "graphrag",
        "graphrag.entities",
        1,
        ("LIN", "Dr Lin", 1, "A biologist who swims.", ["a0"]),
        "are mentions in a chunk that their entity does not list",
    ),
    (
        "graphrag",
        "graphrag.entities",
        1,
        ("LIN", "Dr Lin", 1, "A biologist who swims.", ["a0", "a1", "b0"]),
        "list a chunk that does not mention them",
    ),
    (
        "graphrag",
        "graphrag.entities",
        3,
        (),
        "are mentions in a chunk that their entity does not list",
    ),
    ("graphrag", "graphrag.relationships", 1, (), "are mentioned, but are not there"),
    ("jerr", "jerr.line_chunks", 1, (), "leaves out text of 'a' from 10"),
    ("jerr", "jerr.line_chunks", 3, (), "leaves out text of 'a' from 0"),  # of the other size
    ("jerr", "jerr.pages", 1, (), "leaves out text of 'a' from 10"),
    ("jerr", "jerr.pages", 2, ("z", 0, 24, "What?"), "is no slice of 'z' at 0"),
    (
        "graphrag",
        "graphrag.aliases",
        2,
        ("lin", "LIN", "pruned", []),
        "are pruned and have an entity",
    ),
    ("graphrag", "graphrag.embeddings", 0, ("entity", "BAY", [1.0]), "have vectors of several"),
    ("graphrag", "graphrag.entity_mentions", 3, (), "list a chunk that does not mention them"),
    (
        "graphrag",
        "graphrag.relationships",
        0,
        ("r1", "LIN", "BAY", 3.0),
        "have a weight that is not the number of their mentions",
    ),
    (
        "graphrag",
        "graphrag.relationships",
        1,
        (),
        "have a degree that is not the number of their relationships",
    ),
    (
        "graphrag",
        "graphrag.relationships",
        2,
        ("r3", "SEA", "BAY", 0.0),
        "have a degree that is not the number of their relationships",
    ),
    (
        "graphrag",
        "graphrag.relationships",
        2,
        ("r3", "SEA", "SEA", 0.0),
        "join an entity to itself",
    ),
    (
        "graphrag",
        "graphrag.relationships",
        2,
        ("r3", "SEA", "X", 0.0),
        "have an end that is not an entity",
    ),
    (
        "graphrag",
        "graphrag.relationship_mentions",
        2,
        (),
        "have a weight that is not the number of their mentions",
    ),
    (
        "graphrag",
        "graphrag.entities",
        0,
        ("BAY", "bay", 3, "", []),
        "have no description though a chunk describes them",
    ),
    ("graphrag", "graphrag.entities", 3, (), "have an end that is not an entity"),
    (
        "graphrag",
        "graphrag.entities",
        4,
        ("X", "X", 0, "", []),
        "are entities that are not in each level exactly once",
    ),
    ("graphrag", "graphrag.entities", 2, (), "have members that are not entities"),
    (
        "graphrag",
        "graphrag.communities",
        1,
        (),
        "are entities that are not in each level exactly once",
    ),
    (
        "graphrag",
        "graphrag.communities",
        0,
        ("c0", 0, 0, "Lin", 3, None, ["c2"], ["BAY", "LIN", "TVA"], ["r1", "r2"], True),
        "name a child that does not name them, or the reverse",
    ),
    (
        "graphrag",
        "graphrag.communities",
        0,
        ("c0", 0, 0, "Lin", 3, None, ["c2", "c3", "x"], ["BAY", "LIN", "TVA"], ["r1", "r2"], True),
        "name a child that does not name them, or the reverse",
    ),
    (
        "graphrag",
        "graphrag.communities",
        2,
        ("c2", 1, 2, "Lin", 2, "c0", [], ["BAY"], [], True),
        "have other members than their children",
    ),
    (
        "graphrag",
        "graphrag.communities",
        2,
        ("c2", 1, 2, "Lin", 2, "c0", [], ["BAY", "LIN", "SEA"], ["r1"], True),
        "have other members than their children",
    ),
    (
        "graphrag",
        "graphrag.communities",
        2,
        ("c2", 1, 2, "Lin", 2, "c0", [], ["BAY", "LIN"], [], True),
        "name other relationships than those between their members",
    ),
    (
        "graphrag",
        "graphrag.communities",
        2,
        ("c2", 1, 2, "Lin", 2, "c0", [], ["BAY", "LIN"], ["r1", "r2"], True),
        "name other relationships than those between their members",
    ),
    ("graphrag", "graphrag.findings", 2, ("c1", 0, "", [], []), "cite no chunk"),
    (
        "graphrag",
        "graphrag.findings",
        2,
        ("c1", 0, "", ["SEA"], ["b0", "a0"]),
        "cite a chunk that mentions none of their entities",
    ),
    (
        "graphrag",
        "graphrag.findings",
        2,
        ("c1", 0, "", [], ["b0"]),
        "cite a chunk that mentions none of their entities",
    ),
    (
        "graphrag",
        "graphrag.findings",
        0,
        ("c0", 0, "", ["BAY", "TVA"], ["a0"]),
        "are about an entity that no cited chunk mentions",
    ),
    (
        "graphrag",
        "graphrag.findings",
        0,
        ("c0", 0, "", ["BAY", "X"], ["a0"]),
        "are about an entity that no cited chunk mentions",
    ),
    (
        "graphrag",
        "graphrag.findings",
        2,
        ("c1", 0, "", ["SEA"], ["b0", "x"]),
        "cite a chunk that does not exist",
    ),
    (
        "graphrag",
        "graphrag.embeddings",
        0,
        ("entity", "BAY", [0.6, 0.7]),
        "are not finite and of unit length",
    ),
    (
        "graphrag",
        "graphrag.embeddings",
        0,
        ("entity", "BAY", [math.nan, 0.0]),
        "are not finite and of unit length",
    ),
    ("graphrag", "graphrag.embeddings", 0, (), "have no vector"),
    ("graphrag", "graphrag.embeddings", 8, ("report", "BAY", [1.0, 0.0]), "are vectors of nothing"),
    ("graphrag", "graphrag.key_points", 2, ("p", 0, 0, 101), "have a score that is not 0 to 100"),
    ("graphrag", "graphrag.key_points", 2, ("p", 0, 0, -1), "have a score that is not 0 to 100"),
    ("graphrag", "graphrag.reduced_contexts", 2, ("p", 0, 2), "do not count their ranks up from 1"),
    ("graphrag", "graphrag.reduced_contexts", 1, ("q", 0, 3), "do not count their ranks up from 1"),
    ("jerr", "jerr.elements", 8, (600, "a2", "a", "x", "x"), "belong to no line chunk"),
    (
        "jerr",
        "jerr.relations",
        0,
        (600, "a0", "a", "lin", "dam", "swims to"),
        "have an end that is not an element of their line chunk",
    ),
    (
        "jerr",
        "jerr.relations",
        0,
        (600, "a0", "a", "dam", "lin", "hides"),
        "have an end that is not an element of their line chunk",
    ),
    (
        "jerr",
        "jerr.relations",
        0,
        (600, "a0", "a", "lin", "bay", "swims in the big"),
        "are not named in one to three words",
    ),
    (
        "jerr",
        "jerr.relations",
        0,
        (600, "a0", "a", "lin", "bay", " "),
        "are not named in one to three words",
    ),
    ("jerr", "jerr.merges", 2, (), "are merged into no node"),
    ("jerr", "jerr.merges", 6, (), "are merged into no node"),
    (
        "jerr",
        "jerr.merges",
        2,
        (600, "Bay", "X", "exact", 0),
        "are merged into a node that does not exist",
    ),
    (
        "jerr",
        "jerr.merges",
        6,
        (2000, "bay", "LIN", "own", 0),
        "are merged into a node that does not exist",
    ),
    (
        "jerr",
        "jerr.merges",
        2,
        (600, "Bay", "BAY", "exact", 1),
        "differ from their node's name by more bits than their rule allows",
    ),
    (
        "jerr",
        "jerr.merges",
        0,
        (600, "Lin", "LIN", "own", 1),
        "differ from their node's name by more bits than their rule allows",
    ),
    ("jerr", "jerr.edges", 3, (600, "LIN", "X"), "have an end that is not a node"),
    ("jerr", "jerr.edges", 3, (600, "X", "LIN"), "have an end that is not a node"),
    ("jerr", "jerr.edges", 3, (600, "DAM", "DAM"), "join a node to itself"),
    ("jerr", "jerr.edges", 3, (600, "X", "X"), "join a node to itself"),
    ("jerr", "jerr.edges", 3, (600, "DAM", "LIN"), "do not follow the topological order"),
    ("jerr", "jerr.edges", 3, (600, "DAM", "BAY"), "do not follow the topological order"),
    (
        "jerr",
        "jerr.left_out_edges",
        0,
        (600, "DAM", "LIN", ["DAM", "LIN"]),
        "do not close the reported cycle with the edges of the graph",
    ),
    (
        "jerr",
        "jerr.left_out_edges",
        0,
        (600, "DAM", "LIN", ["LIN", "BAY", "DAM"]),
        "do not close the reported cycle with the edges of the graph",
    ),
    ("jerr", "jerr.searches", 2, ("q", "X", "x", 3, None, 0.0), "are not in the graph"),
    (
        "jerr",
        "jerr.searches",
        0,
        ("q", "BAY", "bay", 1, 2, 1.1),
        "have a mean reward that is not 0 to 1",
    ),
    (
        "jerr",
        "jerr.searches",
        0,
        ("q", "BAY", "bay", 1, 2, -0.1),
        "have a mean reward that is not 0 to 1",
    ),
    (
        "jerr",
        "jerr.searches",
        2,
        ("q", "DAM", "dam", 4, None, 0.0),
        "do not count their places up from 1",
    ),
    (
        "jerr",
        "jerr.searches",
        2,
        ("q", "DAM", "dam", 2, None, 0.0),
        "do not count their places up from 1",
    ),
    (
        "jerr",
        "jerr.searches",
        1,
        ("q", "LIN", "Lin", 2, None, 0.5),
        "do not number their best path from 1",
    ),
    (
        "jerr",
        "jerr.searches",
        1,
        ("q", "DAM", "dam", 2, 3, 0.5),
        "do not number their best path from 1",
    ),
    (
        "jerr",
        "jerr.searches",
        2,
        ("q", "LIN", "Lin", 3, 3, 0.5),
        "are steps of a best path along no edge",
    ),
    ("jerr", "jerr.edges", 0, (), "are steps of a best path along no edge"),
    ("jerr", "jerr.nodes", 0, (), "are not in the graph"),
    (
        "jerr",
        "jerr.look_ups",
        1,
        ("p", ["a1"]),
        "name passages that were not shown with their question",
    ),
    (
        "jerr",
        "jerr.look_ups",
        2,
        ("r", ["a0"]),
        "name passages that were not shown with their question",
    ),
]


def _problems(family: str, table: str = "", row: int = 0, changed: tuple = ()) -> list[str]:
    """Return the problems of a family's good rows, one of them replaced, added, or left out."""
    good = FAMILIES[family]
    rows = {name: list(of_table) for name, of_table in good.rows.items()}
    if table:
        rows[table][row : row + 1] = [changed] if changed else []
    own = [name for name in CHECKED if family == "corpus" or name.startswith(f"{family}.")]
    return problems_of(good.tables(rows), own)


@pytest.mark.parametrize("family", FAMILIES)
def test_good_rows_keep_every_invariant_in_any_order(family: str) -> None:
    good = FAMILIES[family]
    assert _problems(family) == []
    own = [name for name in good.columns if family == "corpus" or name.startswith(f"{family}.")]
    reverse = {name: rows[::-1] for name, rows in good.rows.items()}
    assert problems_of(good.tables(reverse), own) == []
    assert problems_of(good.tables({name: [] for name in good.rows}), own) == []


@pytest.mark.parametrize(("family", "table", "row", "changed", "problem"), BROKEN)
def test_broken_invariant_is_found(
    family: str, table: str, row: int, changed: tuple, problem: str
) -> None:
    assert any(problem in found for found in _problems(family, table, row, changed))


def test_missing_chunks_are_found() -> None:
    good = FAMILIES["corpus"]
    (problem,) = problems_of(good.tables({**good.rows, "chunks": []}), ["chunks"])[:1]
    assert "are missing, though documents has some" in problem


def test_every_invariant_is_tried() -> None:
    tried = [(family, problem) for family, *_, problem in BROKEN]
    missing = [
        (i.table, i.problem)
        for i in INVARIANTS
        if not any(
            f == (i.table.split(".")[0] if "." in i.table else "corpus") and p in i.problem
            for f, p in tried
        )
    ]
    assert missing == [("chunks", "are missing, though documents has some")]
    assert {*BEYOND_SQL} <= {table for _, table, *_ in BROKEN}
