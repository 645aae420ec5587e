"""The checks of judgements, on verdicts few enough to know the answer."""

import pyarrow as pa

from gsum_assets.evaluation.judge_checks import no_position_bias
from gsum_assets.pipeline.finding import Finding
from gsum_assets.pipeline.tables import TABLES
from tests.checks.small_tables import run_check


def verdicts(n_questions: int, winner_of: dict[str, str]) -> pa.Table:
    """One verdict a question and order: who wins where `a` is shown first, and where `b` is."""
    rows = [
        {"query_id": f"q{i}", "judge": "pairwise", "criterion": "overall", "method": "a"}
        | {"opponent": "b", "first": first, "repeat": 1}
        | {"verdict": {"a": "win", "b": "loss"}.get(winner, "unparsed")}
        | {"value": {"a": 1.0, "b": 0.0}.get(winner), "reason": "because", "model": "m"}
        | {"is_own": False}
        for i in range(n_questions)
        for first, winner in winner_of.items()
    ]
    return pa.Table.from_pylist(rows, TABLES["judgements"].schema)


def verdicts_parsed(judgements: pa.Table) -> Finding:
    return run_check("judgements", "verdicts_parsed", {"judgements": judgements})


def test_judge_that_follows_the_answers_has_no_bias():
    assert not no_position_bias(verdicts(20, {"a": "a", "b": "a"})).problem


def test_judge_with_position_bias_is_reported():
    finding = no_position_bias(verdicts(20, {"a": "a", "b": "b"}))
    assert "by 'overall' the first won 100%" in finding.problem
    assert finding.offenders[0]["disagreement"] == 1


def test_replies_without_a_verdict_are_reported():
    assert not verdicts_parsed(verdicts(2, {"a": "a"})).problem
    finding = verdicts_parsed(verdicts(2, {"a": "a", "b": "nobody"}))
    assert finding.problem.startswith("2 of 4 verdicts could not be read")
    assert "gsum run tales" in finding.problem


def test_no_judgements_pass():
    empty = TABLES["judgements"].empty()
    assert not no_position_bias(empty).problem
    assert not verdicts_parsed(empty).problem
