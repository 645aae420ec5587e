"""Each check alone, on tables small enough to know the answer."""

import pyarrow as pa
import pytest

from gsum_assets.corpus.intake import none_rejected
from gsum_assets.evaluation.checks import (
    citations_support,
    every_question_answered,
    no_position_bias,
    speakers_are_right,
)
from gsum_assets.gor.checks import training_helps
from gsum_assets.graphrag.index import names_in_text
from gsum_assets.lightpal.context_scores import all_scored
from gsum_assets.pipeline.result import SHOWN
from gsum_assets.pipeline.tables import TABLES
from tests.lightpal.toys import candidate_table


def test_only_first_offenders_are_named() -> None:
    rows = pa.table({"file": [f"{i}.txt" for i in range(50)], "line": [0] * 50})
    rows = rows.append_column("reason", [["empty"] * 50])
    finding = none_rejected(rows.append_column("is_other_type", [[False] * 50]), "tales")
    assert finding.n_wrong == 50
    assert len(finding.offenders) == SHOWN
    assert "50 rejected documents (first: 0.txt: empty)" in finding.problem
    assert "`gsum run tales`" in finding.problem


# Answers and verdicts.


def test_questions_without_an_answer_are_listed() -> None:
    queries = pa.table({"query_id": ["one", "two"], "text": ["Why?", "When?"]})
    finding = every_question_answered(queries, pa.table({"query_id": ["two", "two"]}), "tales")
    assert finding.offenders == [{"query_id": "one", "text": "Why?"}]


def test_sentences_under_another_name_are_listed() -> None:
    documents = pa.table({"text": ["Ann: We sail.\nBo: It rains.\nAnn: Yes."]})
    answers = pa.table({"query_id": ["one", "two"], "text": ["Ann: It rains.", "Bo: It rains."]})
    finding = speakers_are_right(answers, lambda: documents)
    assert finding.checked == "2 sentences under speakers' names"
    assert finding.offenders == [{"query_id": "one", "speaker": "Ann", "sentence": "It rains."}]


def test_documents_are_read_only_for_answers_that_name_speakers() -> None:
    answers = pa.table({"query_id": ["one"], "text": ["It rained."]})
    assert not speakers_are_right(answers, lambda: pytest.fail("read")).problem


def test_citations_that_do_not_support_are_listed() -> None:
    kinds = ["quoted", "cited", "unsupported"]
    rows = pa.table({"kind": kinds, "cited": pa.array([None, 1, 2], pa.int32())})
    rows = rows.append_column("query_id", [["q"] * 3]).append_column("sentence", [[1, 2, 3]])
    finding = citations_support(rows.append_column("text", [["a", "b", "c"]]))
    assert finding.problem.startswith("1 of 2 cited passages do not support")


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


def test_judge_with_position_bias_is_reported() -> None:
    assert not no_position_bias(verdicts(0, {})).problem
    assert not no_position_bias(verdicts(20, {"a": "a", "b": "a"})).problem
    finding = no_position_bias(verdicts(20, {"a": "a", "b": "b"}))
    assert "by 'overall' the first won 100%" in finding.problem
    assert finding.offenders[0]["disagreement"] == 1


# Networks.


def ranks(dense, trained, is_learnt=False):
    """Rows of `source_ranks`; training gains among all nodes, and any change among chunks."""
    n = len(dense)
    return pa.table(
        {"is_learnt": [is_learnt] * n, "chunk_rank_before": dense, "chunk_rank": trained}
        | {"rank_before": [30] * n, "rank": trained}
    )


def test_training_helps_if_the_network_outranks_dense() -> None:
    assert not training_helps(ranks([4] * 8, [2] * 8)).problem
    equal = training_helps(ranks([2, 1] * 4, [1, 2] * 4)).problem
    assert "does not rise significantly, from 0.750 by dense" in equal
    worse = training_helps(ranks([4] * 8, [5] * 8))
    assert "falls, from 0.250 by dense retrieval to 0.200" in worse.problem
    assert worse.offenders[0]["p_value"] < 0.05


def test_training_is_judged_on_held_out_documents_if_questions_suffice() -> None:
    unseen, learnt = ranks([4] * 8, [2] * 8), ranks([1] * 8, [9] * 8, is_learnt=True)
    assert not training_helps(pa.concat_tables([unseen, learnt])).problem
    assert training_helps(learnt).checked.startswith("0 questions")
    assert not training_helps(ranks([4] * 5, [9] * 5)).problem  # of five nothing is significant


def test_untrained_models_are_not_reported() -> None:
    untrained = ranks([4] * 8, [4] * 8)
    untrained = untrained.set_column(4, "rank", untrained["rank_before"])
    assert not training_helps(untrained).problem


# What language models write.


@pytest.mark.parametrize(
    ("verbatim", "model", "n_wrong"),
    [([True, False], "m", 0), ([True, False, False], "m", 2), ([False], "", 0), ([], "m", 0)],
)
def test_invented_names_are_reported(verbatim: list[bool], model: str, n_wrong: int) -> None:
    columns = {name: ["x"] * len(verbatim) for name in ("chunk_id", "document_id", "name")}
    rows = pa.table({n: pa.array(values, pa.string()) for n, values in columns.items()})
    rows = rows.append_column("is_verbatim", pa.array(verbatim, pa.bool_()))
    rows = rows.append_column("model", pa.array([model] * len(verbatim), pa.string()))
    assert names_in_text(rows).n_wrong == n_wrong


# Candidates.


def test_passages_without_a_score_are_counted() -> None:
    def scores(*values):
        pairs = [
            {"level": "node", "passage_id": f"a{i}", "candidate_id": "b0", "value": value}
            for i, value in enumerate(values)
        ]
        return candidate_table(pairs, "context_scores")

    assert not all_scored(scores(-1.0, -2.0), "tales").problem
    assert not all_scored(scores(), "tales").problem
    finding = all_scored(scores(-1.0, None, None), "tales")
    assert finding.problem.startswith("2 of 3 passages have candidates without a score")
    assert "`gsum run tales`" in finding.problem
    assert finding.offenders[0]["passage_id"] == "a1"
