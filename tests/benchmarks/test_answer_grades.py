"""The grader of quoted answers: cases with known grades, and questions that their files answer."""

from pathlib import Path

import pytest

from benchmarks.answer_grades import Question, graded, has, questions_in, records_in, records_of
from benchmarks.answers import own_questions

TEXT = """# Minutes of 3 May

Present: Ada, Ben.

## 1. Roof

The roof costs 4,200 crowns. Ben repairs it.

## 2. Needs

We need:

- nails

| Part | Price |
|---|---|
| Gutter | 310 |
| Ladder | 95 |
"""


def asked(*must, must_not=()):
    return Question(Path(), "What?", "record", "dev", must, must_not, ("a",))


ROOF = asked("4,200 | four thousand", "Ben", must_not=("Gutter",))
GUTTER, NAILS, STRANGER = asked("310"), asked("nails"), asked()
NO_ANSWER = "The documents do not say."


@pytest.mark.parametrize(
    ("question", "answer", "is_refusal", "grade", "kept", "foreign"),
    [
        (ROOF, "The roof costs 4200 crowns. Ben repairs it.", False, "right", 1, 0),
        (ROOF, "Roof: four thousand, says Ben.", False, "right", 1, 0),
        (ROOF, "The roof costs 14,200 crowns.\nBen repairs it.", False, "half", 0.5, 0),
        (ROOF, "4,200, by Ben. A gutter, too.", False, "half", 1, 0.5),
        (ROOF, "Ladders cost less.", False, "wrong", 0, 1),
        (ROOF, NO_ANSWER, True, "refused", 0, None),
        (ROOF, f"{NO_ANSWER} Ben knows about the 4,200.", True, "right", 1, None),
        (GUTTER, "Part: Gutter, price: 310. Ladder: 95.", False, "right", 1, 0.5),
        (NAILS, "2. Needs: we need nails. Present: Ada, Ben.", False, "right", 1, 0.5),
        (NAILS, "2. Needs: we need", False, "wrong", 0, 0),
        (STRANGER, NO_ANSWER, True, "right", None, None),
        (STRANGER, "Ben repairs it.", False, "not refused", None, None),
    ],
)
def test_grade(question, answer, is_refusal, grade, kept, foreign):
    result = graded(question, answer, is_refusal, list(records_in(TEXT)))
    assert (result.grade, result.kept, result.foreign) == (grade, kept, foreign)


@pytest.mark.parametrize(
    ("text", "needed", "is_there"),
    [
        ("| Children | 24 |", "children: 24", True),
        ("Children: 240", "children: 24", False),
        ("at 9.30 or 6:12", "9:30 | 6:12", True),
        ("17 of 40 documents", "17 of #", True),
        ("17 of them", "17 of #", False),
        ("ca. 1850 Euro", "ca. 1.850 Euro", True),
    ],
)
def test_words_and_numbers_are_found_in_any_form(text, needed, is_there):
    assert has(text, needed) is is_there


def test_every_question_is_answered_by_its_files():
    for question in own_questions():
        records = records_of(question)
        assert bool(question.at) == bool(records), question
        if question.at and "shop sales" not in question.at:  # a workbook
            assert all(has("\n".join(records), text) for text in question.must), question


@pytest.mark.parametrize("rest", ["", 'must = ["now"]\nrefuse = true'])
def test_question_without_answer_or_refusal_is_an_error(tmp_path, rest):
    (tmp_path / "q.toml").write_text(f'[[dev.time]]\nask = "When?"\n{rest}')
    with pytest.raises(ValueError, match=r"'When\?' needs either 'must' or 'refuse = true'"):
        questions_in(tmp_path / "q.toml", tmp_path)
