"""Each check of `graphrag` alone, on a graph small enough to know the answer.

Chunks a0 and a1 mention Dr Lin and the bay, b0 of the bay and the TVA, and names the sea.
"""

import math

from tests.checks.small_tables import Rows, SmallTables

COLUMNS = {
    "chunks": "chunk_id",
    "graphrag.extractions": "chunk_id document_id problems",
    "graphrag.entity_mentions": (
        "chunk_id document_id name_key name description is_verbatim model type"
    ),
    "graphrag.relationship_mentions": (
        "chunk_id document_id source_key target_key strength source_type target_type"
    ),
    "graphrag.claims": "chunk_id document_id subject_key status description",
    "graphrag.aliases": "name_key entity_id rule evidence_chunk_ids",
    "graphrag.entities": "entity_id name degree description chunk_ids",
    "graphrag.relationships": "relationship_id source_id target_id weight",
    "graphrag.communities": (
        "community_id level number title size parent_id child_ids entity_ids relationship_ids "
        "is_reported"
    ),
    "graphrag.community_reports": "community_id summary",
    "graphrag.findings": "community_id position summary entity_ids chunk_ids",
    "graphrag.embeddings": "kind item_id embedding",
    "graphrag.key_points": "query_id pack position score",
    "graphrag.reduced_contexts": "query_id sample rank",
}
GOOD: Rows = {
    "chunks": [("a0",), ("a1",), ("b0",)],
    "graphrag.extractions": [("a0", "a", []), ("a1", "a", []), ("b0", "b", [])],
    "graphrag.entity_mentions": [
        ("a0", "a", "dr lin", "Dr Lin", "A biologist.", True, "m", ""),
        ("a0", "a", "lin", "Lin", "", True, "m", ""),
        ("a0", "a", "bay", "bay", "It is deep.", True, "m", ""),
        ("a1", "a", "lin", "Lin", "She swims.", True, "m", ""),
        ("a1", "a", "bay", "Bay", "", False, "m", ""),
        ("b0", "b", "bay", "bay", "", True, "m", ""),
        ("b0", "b", "tva", "TVA", "", False, "m", ""),
        ("b0", "b", "sea", "sea", "It is far.", True, "m", ""),
    ],
    "graphrag.relationship_mentions": [
        ("a0", "a", "dr lin", "bay", 10, "", ""),
        ("a0", "a", "dr lin", "lin", 1, "", ""),  # two names of one
        ("a1", "a", "bay", "lin", 5, "", ""),
        ("b0", "b", "bay", "tva", 1, "", ""),
    ],
    "graphrag.claims": [
        ("a0", "a", "lin", "true", "Lin swims."),
        ("a1", "a", "lin", "suspected", "Lin dives."),
        ("b0", "b", "tva", "false", "The TVA is rich."),
    ],
    "graphrag.aliases": [
        ("bay", "BAY", "own", []),
        ("dr lin", "LIN", "own", []),
        ("lin", "LIN", "title", ["a0"]),
        ("sea", "SEA", "own", []),
        ("tva", "TVA", "own", []),
    ],
    "graphrag.entities": [
        ("BAY", "bay", 2, "It is deep.", ["a0", "a1", "b0"]),
        ("LIN", "Dr Lin", 1, "A biologist who swims.", ["a0", "a1"]),
        ("SEA", "sea", 0, "It is far.", ["b0"]),
        ("TVA", "TVA", 1, "", ["b0"]),
    ],
    "graphrag.relationships": [("r1", "LIN", "BAY", 2.0), ("r2", "BAY", "TVA", 1.0)],
    "graphrag.communities": [
        (
            "c0",
            0,
            0,
            "Lin",
            3,
            None,
            ["c2", "c3"],
            ["BAY", "LIN", "TVA"],
            ["r1", "r2"],
            True,
        ),
        ("c1", 0, 1, "sea", 1, None, [], ["SEA"], [], True),
        ("c2", 1, 2, "Lin", 2, "c0", [], ["BAY", "LIN"], ["r1"], True),
        ("c3", 1, 3, "TVA", 1, "c0", [], ["TVA"], [], True),
    ],
    "graphrag.community_reports": [(f"c{i}", "In short.") for i in range(4)],
    "graphrag.findings": [
        ("c0", 0, "Lin swims.", ["BAY", "LIN"], ["a0", "a1"]),
        ("c0", 1, "All is well.", ["LIN", "TVA"], ["a0", "b0"]),  # each mentions one of them
        ("c1", 0, "The sea.", ["SEA"], ["b0"]),
        ("c2", 0, "The bay.", ["BAY"], ["a0", "a1", "b0"]),
        ("c3", 0, "The TVA.", ["TVA"], ["b0"]),
    ],
    "graphrag.embeddings": [
        *(("entity", i, [0.6, 0.8]) for i in ("BAY", "LIN", "SEA", "TVA")),
        *(("report", f"c{i}", [0.0, -1.0]) for i in range(4)),
    ],
    "graphrag.key_points": [("q", 0, 0, 0), ("q", 1, 0, 100), ("p", 0, 0, 55)],
    "graphrag.reduced_contexts": [("q", 0, 1), ("q", 0, 2), ("p", 0, 1)],
}
CHECKS = {
    "malformed": ("extractions", "no_malformed_replies"),
    "of_chunks": ("entity_mentions", "of_chunks"),
    "in_text": ("entity_mentions", "names_in_text"),
    "join_mentions": ("relationship_mentions", "join_mentions"),
    "about": ("claims", "about_mentions"),
    "resolve": ("aliases", "names_resolve"),
    "stand_for": ("entities", "stand_for_mentions"),
    "join_entities": ("relationships", "join_entities"),
    "cover": ("communities", "cover_entities"),
    "reported": ("community_reports", "every_community_reported"),
    "cite": ("findings", "cite_what_supports"),
    "finite": ("embeddings", "finite"),
    "in_range": ("key_points", "in_range"),
    "ranks": ("reduced_contexts", "ranks_consecutive"),
}


SMALL = SmallTables("graphrag", COLUMNS, GOOD, CHECKS)
finding_of, with_row = SMALL.finding, SMALL.with_row


def test_malformed_replies_are_reported_with_remedy():
    rows = with_row("extractions", 1, "a1", "a", ["cut off " * 99, "no list"])
    finding = finding_of("malformed", extractions=rows)
    assert finding.problem.startswith("1 of 3 chunks got malformed replies")
    assert "(first: cut off cut off" in finding.problem
    assert "`gsum run tales` requests these once more" in finding.problem
    assert "structured_output in gsum.toml, [llm]" in finding.problem
    assert len(finding.problem) < 500
    assert finding.offenders[0]["chunk_id"] == "a1"


def mentions(*verbatim: bool, model: str = "m") -> list[tuple]:
    return [
        ("a0", "a", str(i), str(i), "", is_verbatim, model, "")
        for i, is_verbatim in enumerate(verbatim)
    ]


def test_names_found_in_no_text_are_reported_above_half():
    assert not finding_of("in_text", entity_mentions=mentions(True, False)).problem
    finding = finding_of("in_text", entity_mentions=mentions(True, False, False))
    assert finding.problem.startswith("2 of 3 mentions have a name that the text")
    assert "choose another one in gsum.toml, [llm]" in finding.problem
    assert [row["name"] for row in finding.offenders] == ["1", "2"]


def test_given_graph_may_name_entities_absent_from_texts():
    given = mentions(False, False, model="")
    assert not finding_of("in_text", entity_mentions=given).problem
    assert finding_of("in_text", entity_mentions=given + mentions(False)).n_wrong == 1


LIN = ("LIN", "Dr Lin", 1, "A biologist who swims.")
C0 = ("c0", 0, 0, "Lin", 3, None)
C2 = ("c2", 1, 2, "Lin", 2, "c0", [])
END, WEIGHT = (
    "relationships have an end that is not an entity",
    "relationships have a weight that is",
)
DEGREE, JOINED = "entities have a degree that is not", "mentions have entities that no relation"
ONCE, INSIDE = (
    "entities of levels are not in each level exactly once",
    "relationships of communities are named though an end lies outside",
)
NO_TYPES = ("", "")
ENDS = "relationships have an end that their chunk does not mention"
STRENGTH = "relationships have a strength that is not 1 to"
SUBJECT = "claims have a subject that their chunk does"
PARTS, BOTH = "parts of communities are named by their", "members of split communities lie in the"
# check and table: (row number, its replacement, starts of the findings)
DEFECTS: dict[tuple[str, str], list[tuple]] = {
    ("of_chunks", "entity_mentions"): [
        (9, ("x", "a", "x", "X", "", True, "m", ""), "1 of 9 mentions belong to no existing chunk")
    ],
    ("join_mentions", "relationship_mentions"): [
        (0, ("a0", "a", "dr lin", "tva", 1, *NO_TYPES), f"1 of 4 {ENDS}"),
        (0, ("a1", "a", "dr lin", "bay", 1, *NO_TYPES), f"1 of 4 {ENDS}"),
        (0, ("x", "x", "lin", "bay", 1, *NO_TYPES), f"1 of 4 {ENDS}"),
        (0, ("a0", "a", "bay", "bay", 1, *NO_TYPES), "1 of 4 relationships join a name to itself"),
        (0, ("a0", "a", "lin", "bay", 0, *NO_TYPES), f"1 of 4 {STRENGTH}"),
        (0, ("a0", "a", "lin", "bay", 11, *NO_TYPES), f"1 of 4 {STRENGTH}"),
    ],
    ("join_mentions", "entity_mentions"): [(6, (), f"1 of 4 {ENDS}")],
    ("about", "claims"): [
        (0, ("a0", "a", "tva", "true", ""), f"1 of 3 {SUBJECT}"),
        (0, ("a1", "a", "dr lin", "true", ""), f"1 of 3 {SUBJECT}"),
        (0, ("a0", "a", "lin", "TRUE", ""), "1 of 3 claims have a status other than true, false"),
    ],
    ("resolve", "aliases"): [
        (0, (), "1 of 5 mentioned names have no entity"),
        (9, ("x", "X", "own", []), "1 of 6 names have no mention"),
        (2, ("lin", "LIN", "own", []), "1 of 4 entities have no own name, or several"),
        (2, ("lin", "X", "title", ["a0"]), "1 of 5 entities have no own name, or several"),
        (2, ("lin", "LIN", "title", []), "1 of 1 merged name have no evidence"),
        (2, ("lin", "LIN", "title", ["a0", "x"]), "1 of 2 pieces of evidence are not existing"),
    ],
    ("stand_for", "entities"): [
        (1, (*LIN[:3], "", ["a0", "a1"]), "1 of 4 entities have no description though a chunk"),
        (1, (*LIN, ["a0"]), "1 of 8 mentions have an entity that does not list their chunk"),
        (1, (*LIN, ["a0", "a1", "b0"]), "1 of 8 chunks of entities do not mention it"),
        (3, (), "1 of 8 mentions have an entity that does not list their chunk"),
    ],
    ("stand_for", "entity_mentions"): [(3, (), "1 of 7 chunks of entities do not mention it")],
    ("join_entities", "relationships"): [
        (0, ("r1", "LIN", "BAY", 3.0), f"1 of 2 {WEIGHT}"),
        (1, (), f"1 of 3 {JOINED}", f"2 of 4 {DEGREE}"),
        (2, ("r3", "SEA", "BAY", 0.0), f"2 of 4 {DEGREE}"),
        (
            2,
            ("r3", "SEA", "SEA", 0.0),
            "1 of 3 relationships join an entity to",
            f"1 of 4 {DEGREE}",
        ),
        (2, ("r3", "SEA", "X", 0.0), f"1 of 3 {END}", f"1 of 4 {DEGREE}"),
    ],
    ("join_entities", "relationship_mentions"): [(2, (), f"1 of 2 {WEIGHT}")],
    ("join_entities", "entities"): [
        (0, ("BAY", "bay", 3, "", []), f"1 of 4 {DEGREE}"),
        (3, (), f"1 of 2 {END}"),
    ],
    ("cover", "entities"): [
        (4, ("X", "X", 0, "", []), f"2 of 10 {ONCE}"),  # at both levels
        (2, (), "1 of 7 members are not entities"),
    ],
    ("cover", "communities"): [
        (1, (), f"2 of 8 {ONCE}"),
        (4, ("c4", 0, 4, "", 1, None, [], ["SEA"], [], True), f"2 of 8 {ONCE}"),
        (0, (*C0, ["c2"], *GOOD["graphrag.communities"][0][7:]), f"1 of 2 {PARTS}"),
        (0, (*C0, ["c2", "c3", "x"], *GOOD["graphrag.communities"][0][7:]), f"1 of 3 {PARTS}"),
        (2, (*C2, ["BAY"], [], True), f"1 of 8 {ONCE}", f"1 of 3 {BOTH}"),
        (2, (*C2, ["BAY", "LIN", "SEA"], ["r1"], True), f"1 of 8 {ONCE}", f"1 of 4 {BOTH}"),
        (2, (*C2, ["BAY", "LIN"], [], True), f"1 of 3 {INSIDE}"),
        (
            2,
            (*C2, ["BAY", "LIN"], ["r1", "r2"], True),
            f"1 of 4 {INSIDE}",
        ),
    ],
    ("cite", "findings"): [
        (2, ("c1", 0, "", [], []), "1 of 5 findings cite no chunk"),
        (2, ("c1", 0, "", ["SEA"], ["b0", "a0"]), "1 of 10 cited chunks mention no entity that"),
        (2, ("c1", 0, "", [], ["b0"]), "1 of 9 cited chunks mention no entity that"),
        (0, ("c0", 0, "", ["BAY", "TVA"], ["a0"]), "1 of 7 entities of findings are mentioned by"),
        (0, ("c0", 0, "", ["BAY", "X"], ["a0"]), "1 of 7 entities of findings are mentioned by"),
        (2, ("c1", 0, "", ["SEA"], ["b0", "x"]), "1 of 10 cited chunks do not", "1 of 10 cited ch"),
    ],
    ("finite", "embeddings"): [
        (0, ("entity", "BAY", [0.6, 0.7]), "1 of 8 vectors are not finite and of unit length"),
        (0, ("entity", "BAY", [math.nan, 0.0]), "1 of 8 vectors are not finite and of unit length"),
        (0, ("entity", "BAY", [math.inf, 0.0]), "1 of 8 vectors are not finite and of unit length"),
        (0, (), "1 of 8 entities and reports have no vector"),
        (8, ("report", "BAY", [1.0, 0.0]), "1 of 9 vectors belong to no entity or report"),
    ],
    ("in_range", "key_points"): [
        (2, ("p", 0, 0, 101), "1 of 3 key points have a score that is not 0 to 100"),
        (2, ("p", 0, 0, -1), "1 of 3 key points have a score that is not 0 to 100"),
    ],
    ("ranks", "reduced_contexts"): [
        (2, ("p", 0, 2), "1 of 2 contexts do not count their ranks up from 1"),
        (1, ("q", 0, 3), "1 of 2 contexts do not count their ranks up from 1"),
    ],
}


def test_offender_is_shown():
    finding = finding_of(
        "join_entities", relationships=with_row("relationships", 0, "r1", "LIN", "BAY", 3)
    )
    assert finding.offenders == [
        {"relationship_id": "r1", "source_id": "LIN", "target_id": "BAY", "weight": 3.0}
    ]


def test_community_without_report_is_found():
    finding = finding_of("reported", community_reports=with_row("community_reports", 1))
    assert finding.problem.startswith("1 of 4 communities have no report")
    assert "`gsum run tales` requests the missing reports again" in finding.problem
    assert finding.offenders[0]["title"] == "sea"
    lost = finding_of("reported", community_reports=with_row("community_reports", 1, "c1", ""))
    assert lost.problem == finding.problem  # its parts stand for it
