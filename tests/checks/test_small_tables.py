"""Checks of families on good rows, on none, and on a defect of each kind."""

import pytest

from tests.checks import test_graphrag as graphrag
from tests.checks import test_jerr as jerr
from tests.checks.small_tables import SmallTables

WRONG = "1 of 4 probabilities are outside of 0 to 1 or above a better rank"
EVIDENCE = SmallTables(
    "evidence",
    columns={
        "chunks": "chunk_id",
        "evidence.sentences": "chunk_id position",
        "evidence.probabilities": "query_id chunk_id rank probability",
    },
    good={
        "chunks": [("a0",), ("a1",)],
        "evidence.sentences": [("a0", 0), ("a0", 1), ("a1", 0)],
        "evidence.probabilities": [
            *(("q", "a0", 1, 1.0), ("q", "a1", 2, 0.5)),
            *(("p", "a1", 1, 0.5), ("p", "a0", 2, 0.5)),
        ],
    },
    checks={
        "of_passages": ("sentences", "of_passages"),
        "are_probabilities": ("probabilities", "are_probabilities"),
    },
)
DEFECTS_OF_EVIDENCE: dict[tuple[str, str], list[tuple]] = {
    ("of_passages", "sentences"): [(0, ("x", 0), "1 of 3 sentences belong to no passage")],
    ("of_passages", "chunks"): [(1, (), "1 of 3 sentences belong to no passage")],
    ("are_probabilities", "probabilities"): [
        (0, ("q", "a0", 1, 1.1), WRONG),
        (1, ("q", "a1", 2, -0.1), WRONG),
        (2, ("p", "a1", 1, float("nan")), WRONG),
        (3, ("p", "a0", 2, 0.6), WRONG),
    ],
}
FAMILIES = {
    "evidence": (EVIDENCE, DEFECTS_OF_EVIDENCE),
    "graphrag": (graphrag.SMALL, graphrag.DEFECTS),
    "jerr": (jerr.SMALL, jerr.DEFECTS),
}
every_check = pytest.mark.parametrize(
    ("small", "check"),
    [
        pytest.param(small, check, id=f"{family}-{check}")
        for family, (small, _) in FAMILIES.items()
        for check in small.checks
    ],
)


@every_check
def test_good_rows_pass_in_any_order(small, check):
    small.assert_good_rows_pass(check)


@every_check
def test_no_rows_pass(small, check):
    small.assert_no_rows_pass(check)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_check_is_tried(family):
    FAMILIES[family][0].assert_every_check_is_tried()


@pytest.mark.parametrize(
    ("family", "check", "table", "number", "row", "failures"),
    [
        (family, *which, number, row, failures)
        for family, (_, defects) in FAMILIES.items()
        for which, cases in defects.items()
        for number, row, *failures in cases
    ],
)
def test_defect_is_the_only_finding(family, check, table, number, row, failures):
    small, _ = FAMILIES[family]
    finding = small.finding(check, **{table: small.with_row(table, number, *row)})
    sentences = [s for s in finding.problem.split("; ") if s[:1].isdigit()]  # without remedies
    assert len(sentences) == len(failures)
    assert all(s.startswith(start) for s, start in zip(sentences, failures, strict=True))
    assert finding.n_wrong == sum(int(start.split()[0]) for start in failures)
    assert len(finding.offenders) == finding.n_wrong
