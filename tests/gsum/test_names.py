"""A question that names a document by its date is answered from it, and its source says so."""

import pandas as pd
import pytest

import gsum

TEXTS = pd.DataFrame(
    [
        ("a", "Minutes", "The clerk put the budget of the parish at 43,900 pounds.", "2024-02-05"),
        ("b", "Minutes", "The clerk put the budget of the parish at 44,650 pounds.", "2024-06-03"),
        ("c", "Minutes", "The clerk put the budget of the parish at 49,400 pounds.", "2024-10-07"),
    ],
    columns=["document_id", "title", "text", "date"],
)


@pytest.fixture(scope="module")
def asked() -> gsum.Result:
    return gsum.run("hybrid", TEXTS, progress=False)


@pytest.mark.parametrize(
    ("question", "where", "amount", "source"),
    [
        ("What was the budget in October?", "", "49,400", "Minutes (2024-10-07)"),
        ("What was the budget after June?", "", "49,400", "Minutes (2024-10-07)"),
        ("What was the budget before June 2024?", "", "43,900", "Minutes (2024-02-05)"),
        ("What was the budget on 3 June 2024?", "", "44,650", "Minutes (2024-06-03)"),
        ("What was the budget?", "date < '2024-06-01'", "43,900", "Minutes (2024-02-05)"),
        ("What was the budget?", "year(date) = 2024 and date >= '2024-09-01'", "49,400", ""),
    ],
)
def test_date_names_a_document(
    asked: gsum.Result, question: str, where: str, amount: str, source: str
) -> None:
    answer = asked.ask(question, where=where)
    assert amount in answer.text
    assert answer.sources["title"].tolist() == [source or "Minutes (2024-10-07)"]
