"""Each check of `evidence` alone, on tables small enough to know the answer."""

import pytest

from tests.checks.small_tables import SmallTables, assert_findings

COLUMNS = {
    "chunks": "chunk_id",
    "evidence.sentences": "chunk_id position",
    "evidence.probabilities": "query_id chunk_id rank probability",
}
GOOD = {
    "chunks": [("a0",), ("a1",)],
    "evidence.sentences": [("a0", 0), ("a0", 1), ("a1", 0)],
    "evidence.probabilities": [
        ("q", "a0", 1, 1.0),
        ("q", "a1", 2, 0.5),
        ("p", "a1", 1, 0.5),
        ("p", "a0", 2, 0.5),
    ],
}
CHECKS = {
    "of_passages": ("sentences", "of_passages"),
    "are_probabilities": ("probabilities", "are_probabilities"),
}
SMALL = SmallTables("evidence", COLUMNS, GOOD, CHECKS)
WRONG = "1 of 4 probabilities are outside of 0 to 1 or above a better rank"


def test_every_check_is_tried():
    SMALL.assert_every_check_is_tried()


@pytest.mark.parametrize("check", CHECKS)
def test_good_rows_pass(check):
    SMALL.assert_good_rows_pass(check)
    SMALL.assert_no_rows_pass(check)


@pytest.mark.parametrize(
    ("check", "table", "number", "row", "failure"),
    [
        ("of_passages", "sentences", 0, ("x", 0), "1 of 3 sentences belong to no passage"),
        ("of_passages", "chunks", 1, (), "1 of 3 sentences belong to no passage"),
        ("are_probabilities", "probabilities", 0, ("q", "a0", 1, 1.1), WRONG),
        ("are_probabilities", "probabilities", 1, ("q", "a1", 2, -0.1), WRONG),
        ("are_probabilities", "probabilities", 2, ("p", "a1", 1, float("nan")), WRONG),
        ("are_probabilities", "probabilities", 3, ("p", "a0", 2, 0.6), WRONG),
    ],
)
def test_defect_is_found(check, table, number, row, failure):
    finding = SMALL.finding(check, **{table: SMALL.with_row(table, number, *row)})
    assert_findings(finding, [finding.problem], [failure])
