"""Defaults of judging, rejected settings, and which questions are sampled."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.evaluation.judges.judge import judge_answers
from gsum_assets.evaluation.judges.material import drawn_questions
from gsum_assets.evaluation.judges.settings import JudgesSettings, judges_skipped
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section
from tests.evaluation.judges import toys
from tests.models import FirstWords

EXTRACTIVE = "extractive-1/0123456789ab"
SERVED = "openai_compatible-1/gpt"


def section(**values: object) -> JudgesSettings:
    return checked_section(JudgesSettings, "judges", values)


def test_judging_is_off_by_default() -> None:
    skipped = judges_skipped(section(), SERVED)
    assert skipped
    assert "no methods are named" in skipped
    assert judges_skipped(section(methods=["gor"]), SERVED) is None
    alone = judges_skipped(section(methods=["gor", "gor"], ratings=False), SERVED)
    assert alone
    assert "only the method 'gor' is named" in alone


def test_the_embedded_model_never_judges() -> None:
    skipped = judges_skipped(section(methods=["gor"]), EXTRACTIVE)
    assert skipped
    assert "'extractive' cannot judge" in skipped
    assert "[judge]" in skipped


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"repeats": 3}, r"repeats is 3, but at temperature 0 .* raise temperature"),
        ({"pairwise": False, "ratings": False}, "both off"),
        ({"kinds": ["vague"]}, "'general', 'specific'"),
        ({"kinds": []}, "kinds"),
        ({"max_questions": 0}, "max_questions"),
        ({"method": ["gor"]}, "unknown key 'method'"),
    ],
)
def test_mistakes_are_reported(values: dict, message: str) -> None:
    with pytest.raises(CorpusError, match=message):
        section(**values)
    assert section(repeats=3, temperature=0.7).repeats == 3
    assert section(temperature=1).temperature == 1


def test_only_selected_kinds_and_splits_are_judged() -> None:
    questions = [
        *toys.queries("g", split="dev").to_pylist(),
        *toys.queries("s", kind="specific").to_pylist(),
        *toys.queries("t", split="test").to_pylist(),
    ]
    table = toys.queries().from_pylist(questions, toys.queries().schema)
    assert list(drawn_questions(table, section())) == ["g", "t"]
    assert list(drawn_questions(table, section(splits=["test"]))) == ["t"]
    assert list(drawn_questions(table, section(kinds=["general", "specific"]))) == ["g", "s", "t"]


def test_no_question_is_reported_without_error() -> None:
    chosen = section(methods=["gor"], splits=["train"])
    none = toys.summaries({}), toys.contexts({})
    found = judge_answers(toys.queries("q"), *none, FirstWords(), chosen)
    assert found.rows.num_rows == 0
    assert found.failures == [
        "no question of kinds ['general'] of splits ['train']: nothing was judged; change kinds or "
        "splits in corpus.toml, table [judges]"
    ]


@given(st.sets(st.text(min_size=1, max_size=4), min_size=1, max_size=30), st.integers(1, 10))
def test_new_question_displaces_at_most_one_other(ids: set[str], most: int) -> None:
    chosen = JudgesSettings(max_questions=most)
    *old, _ = ids
    before = set(drawn_questions(toys.queries(*old), chosen))
    after = set(drawn_questions(toys.queries(*ids), chosen))
    assert len(after) == min(most, len(ids))
    assert len(before - after) <= 1
