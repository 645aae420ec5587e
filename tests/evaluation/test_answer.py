"""Contexts to answers: order of passages, samples, failures."""

import pyarrow as pa
import pytest

from gsum_assets.evaluation.answer import NOTHING_FOUND, AnswerError, answer_questions
from gsum_assets.evaluation.prompts import PROMPTS
from gsum_assets.pipeline.prompts import Prompts
from tests.models import FirstWords
from tests.rows import question_rows, rows_of


def queries(*ids: str) -> pa.Table:
    return question_rows(*({"query_id": i} for i in ids))


def contexts(*rows: tuple[str, int, int, str, int | None, str]) -> pa.Table:
    names = ("query_id", "sample", "rank", "document_id", "position", "text")
    return rows_of("contexts", (dict(zip(names, row, strict=True)) for row in rows))


@pytest.mark.parametrize("reads", [True, False])
def test_scores_reach_only_models_that_read_them(reads: bool) -> None:
    model = FirstWords(reads_weights=reads)
    found = contexts(("q", 0, 1, "a", 7, "likely"), ("q", 0, 2, "a", 2, "unlikely"))
    scores = pa.array([0.9, 0.2], found.schema.field("score").type)
    found = found.set_column(found.schema.get_field_index("score"), "score", scores)
    answer_questions(queries("q"), found, model, 100)
    answer_questions(queries("q"), found, model, 100, weighted=True)
    assert [one.weights for one in model.requests] == [(), (0.2, 0.9) if reads else ()]


def test_nodes_without_position_follow_the_passages_of_their_document() -> None:
    found = contexts(
        ("q", 0, 1, "a", None, "response1"),
        ("q", 0, 2, "a", 7, "a7"),
        ("q", 0, 3, "b", None, "response3"),
        ("q", 0, 4, "a", 2, "a2"),
        ("q", 0, 5, "b", 0, "b0"),
        ("q", 0, 6, "a", None, "response6"),
    )
    answers = answer_questions(queries("q"), found, FirstWords(), 100)
    assert answers.rows["text"].to_pylist() == ["a2 a7 response1 response6 b0 response3"]


def test_failure_costs_its_row_and_is_reported() -> None:
    found = contexts(("good", 0, 1, "a", 0, "fine"), ("bad", 0, 1, "a", 0, "dynamite"))
    model = FirstWords(refuses="dynamite")
    answers = answer_questions(queries("good", "bad"), found, model, 100)
    assert answers.rows["query_id"].to_pylist() == ["good"]
    assert [p.split("'")[1] for p in answers.failures] == ["bad"]
    assert "refused" in answers.failures[0]


def test_nothing_to_read_is_answered_without_a_request() -> None:
    retrieved = contexts(("dropped", 0, 1, "a", 0, "beside the point"))
    refined = contexts(("dropped", 0, 1, "a", 0, ""))
    model = FirstWords()
    answers = answer_questions(queries("dropped", "none"), refined, model, 9, retrieved=retrieved)
    assert not model.requests
    assert not answers.failures
    assert answers.rows.select(["query_id", "text", "model", "calls"]).to_pylist() == [
        {"query_id": query_id, "text": NOTHING_FOUND, "model": "", "calls": 0}
        for query_id in ("dropped", "none")
    ]


def test_failed_refinement_is_not_an_answer() -> None:
    retrieved = contexts(("failed", 0, 1, "a", 0, "the answer"), ("good", 0, 1, "a", 0, "fine"))
    refined = contexts(("good", 0, 1, "a", 0, "fine"))
    asked = queries("failed", "good")
    answers = answer_questions(asked, refined, FirstWords(), 9, retrieved=retrieved)
    assert answers.rows["query_id"].to_pylist() == ["good"]
    assert answers.failures == ["question 'failed' has no context"]


def test_no_answer_raises() -> None:
    found = contexts(("bad", 0, 1, "a", 0, "dynamite"))
    with pytest.raises(
        AnswerError, match="none of 1 questions was answered; first: question 'bad'"
    ):
        answer_questions(queries("bad"), found, FirstWords(refuses="dynamite"), 100)


@pytest.mark.parametrize(
    ("prompt_tokens", "shown"), [(None, "[1] The Ferry\n"), (9999, "[1] The Ferry\n"), (9, "[1]\n")]
)
def test_passages_are_labelled_where_the_prompt_has_room(
    prompt_tokens: int | None, shown: str
) -> None:
    model = FirstWords()
    rows = contexts(("q", 0, 1, "a", 0, "It sank."))
    answer_questions(
        queries("q"), rows, model, 20, label_of=lambda row: "The Ferry", prompt_tokens=prompt_tokens
    )
    assert model.requests[0].render().startswith(f"{shown}It sank.")


def test_numbers_of_passages_are_no_part_of_the_answer() -> None:
    rows = contexts(("q", 0, 1, "a", 0, "It sank [2]. Ann paid. [1]"))
    answered = answer_questions(queries("q"), rows, FirstWords(), 20)
    assert answered.rows["text"].to_pylist() == ["It sank. Ann paid."]
    assert answered.cited == {("q", 0): {1: [2], 2: [1]}}
    model = FirstWords()
    model.only_quotes = True  # type: ignore[attr-defined]
    quoted = answer_questions(queries("q"), rows, model, 20)
    assert quoted.rows["text"].to_pylist() == ["It sank [2]. Ann paid. [1]"]


@pytest.mark.parametrize(
    ("reply", "text", "is_refusal"),
    [
        ("UNANSWERED", NOTHING_FOUND, True),
        ("UNANSWERED: Asiakirjat eivät kerro. [1]", "Asiakirjat eivät kerro.", True),
        ("Die Dokumente sagen dazu nichts.", "Die Dokumente sagen dazu nichts.", True),
        ("The letter does not mention it [1].", "The letter does not mention it.", False),
    ],
)
def test_a_reply_that_the_documents_do_not_say_is_marked(
    reply: str, text: str, is_refusal: bool
) -> None:
    rows = contexts(("q", 0, 1, "a", 0, reply))
    (row,) = answer_questions(queries("q"), rows, FirstWords(), 20).rows.to_pylist()
    assert (row["text"], row["is_refusal"]) == (text, is_refusal)


@pytest.mark.parametrize(
    ("split", "by_kind", "n_words", "form"),
    [
        ("ask", False, 40, "one or two sentences"),
        ("dev", False, 100, "one coherent"),
        ("dev", True, 40, "one or two sentences"),
    ],
)
def test_an_answer_of_ask_has_the_form_of_its_kind(
    split: str, by_kind: bool, n_words: int, form: str
) -> None:
    model, rows = FirstWords(), contexts(("q", 0, 1, "a", 0, "It sank."))
    asked = question_rows({"query_id": "q", "text": "Who sank?", "split": split})
    answer_questions(asked, rows, model, 100, by_kind=by_kind)
    (request,) = model.requests
    assert request.max_words == n_words
    assert form in request.instructions
    assert f"{n_words}" in request.instructions


def test_a_response_type_replaces_the_form_of_the_kind() -> None:
    model, rows = FirstWords(), contexts(("q", 0, 1, "a", 0, "It sank."))
    asked = question_rows({"query_id": "q", "text": "Who sank?", "split": "ask"})
    answer_questions(asked, rows, model, 100, response_type="a table, a row for each ship")
    (request,) = model.requests
    assert (
        "this form: a table, a row for each ship. It has at most 100 words" in request.instructions
    )
    assert "sentences" not in request.instructions.split("End every")[0]
    assert request.max_words == 100


def test_an_override_that_has_no_form_replaces_the_whole_prompt() -> None:
    def read(name: str) -> str:
        return "Reply in {max_words} words." if name == "answer" else PROMPTS.built_in[name].text

    model, rows = FirstWords(), contexts(("q", 0, 1, "a", 0, "It sank."))
    answer_questions(queries("q"), rows, model, 100, Prompts({}, read))
    assert model.requests[0].instructions == "Reply in 100 words."
