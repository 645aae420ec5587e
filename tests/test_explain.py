"""How an answer came about."""

import pytest

from gsum_assets.answering.renderings import explained

_JUDGED = {"probability": 0.8, "threshold": 0.24, "is_answered": True}


@pytest.mark.parametrize(
    ("question", "documents", "verdict", "lines"),
    [
        (
            "Was it late?",
            ["a", "a"],
            _JUDGED,
            [
                'kind of question: yes or no; it begins with a verb ("Did …", "Hat …", '
                '"Est-ce que …"), without "or"',
                "answerable: probability 0.800, at least 0.240",
                "read: 2 passages of 1 document, found by dense",
            ],
        ),
        (
            "Why was it late?",
            [None],
            {"probability": None, "threshold": None, "is_answered": True},
            [
                "kind of question: account; it matches no rule",
                "answerable: not judged",
                "read: 1 passage, found by dense",
            ],
        ),
        (
            "Summarize it.",
            [],
            {"probability": 0.1, "threshold": 0.24, "is_answered": False},
            [
                "kind of question: chronology; it requests a summary or what happened "
                '("Summarize", "What happened", "Fasse zusammen")',
                "answerable: probability 0.100, less than 0.240",
                "read: 0 passages, found by dense",
            ],
        ),
    ],
)
def test_lines(question: str, documents: list, verdict: dict, lines: list[str]) -> None:
    passages = [{"document_id": document_id} for document_id in documents]
    assert explained(question, "dense", passages, verdict).splitlines() == lines
