"""Upper bounds rank marked evidence first, and reject unmarked questions."""

import pyarrow as pa
import pytest

from gsum_assets.plots.main_metrics import is_upper_bound
from gsum_assets.retrieval.oracles import ORACLES, askable, rank_by_oracle
from tests.retrieval.toys import collection, toy_questions
from tests.rows import question_rows


def make_queries(**marks: object) -> pa.Table:
    boat = {"query_id": "q0", "text": "boat", "retrieval_text": "boat"}
    return question_rows(boat, **marks)


def nodes(method: str, **marks: object) -> list[str]:
    about = toy_questions(("boat", marks.get("document_id"), 1))  # type: ignore[arg-type]
    rows = rank_by_oracle(method, make_queries(**marks), about, collection()).to_pylist()
    return [row["item_id"] for row in rows if row["level"] == "node"]


def test_evidence_only_or_filled_up_by_cosine() -> None:
    marks = {"relevant_chunk_ids": ["c-cloud-1", "c-boat-2"]}
    assert nodes("oracle-evidence", **marks) == ["c-boat-2", "c-cloud-1"]  # by cosine
    filled = nodes("oracle-evidence-filled", **marks)
    assert filled[:2] == ["c-boat-2", "c-cloud-1"]
    assert len(filled) == 5


def test_relevant_documents_only() -> None:
    found = nodes("oracle-documents", relevant_document_ids=["apples"])
    assert found == ["c-apple-2", "c-apple-1"]


def test_greedy_choice_takes_the_largest_gain_of_references() -> None:
    marks = {"references": ["clouds over the harbour", "red apples fall"]}
    found = nodes("oracle-greedy", **marks)
    # each holds a reference, and that of the apples "the" of the other one, too
    assert found[:2] == ["c-apple-1", "c-cloud-1"]
    assert len(found) == 5


@pytest.mark.parametrize("method", ORACLES)
def test_unmarked_questions_raise(method: str) -> None:
    marked = make_queries(
        relevant_chunk_ids=["c-boat-1"], relevant_document_ids=["boats"], references=["It sails."]
    )
    assert askable(method, marked).num_rows == 1
    assert askable(method, make_queries()).num_rows == 0
    assert askable("dense", make_queries()).num_rows == 1
    assert is_upper_bound(method)


def test_document_oracle_does_not_rank_within_one_document() -> None:
    marked = make_queries(document_id="boats", relevant_document_ids=["boats"])
    assert askable("oracle-documents", marked).num_rows == 0
