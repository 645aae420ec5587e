"""How an answer came about, whatever the method that found its passages."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from gsum_resources.text.question_kinds import rule_of


def explained(
    question: str,
    method: str,
    passages: Sequence[Mapping[str, Any]],
    verdict: Mapping[str, Any] | None,
) -> str:
    """Return the kind of a question, whether it is answerable, and what was read, a line each.

    Parameters
    ----------
    passages : rows of `contexts` from which the answer was written.
    verdict : the question's row of `answerability`; None: not judged.
    """
    return "\n".join(_lines(question, method, passages, verdict))


def _lines(
    question: str,
    method: str,
    passages: Sequence[Mapping[str, Any]],
    verdict: Mapping[str, Any] | None,
) -> Iterator[str]:
    rule = rule_of(question)
    yield f"kind of question: {rule.kind.replace('_', ' or ')}; it {rule.shown}"
    if verdict is None or verdict["probability"] is None:
        yield "answerable: not judged"
    else:
        least = (
            f"{'at least' if verdict['is_answered'] else 'less than'} {verdict['threshold']:.3f}"
        )
        yield f"answerable: probability {verdict['probability']:.3f}, {least}"
    documents = {row["document_id"] for row in passages if row["document_id"]}
    of_documents = f" of {_counted(len(documents), 'document')}" if documents else ""
    yield f"read: {_counted(len(passages), 'passage')}{of_documents}, found by {method}"


def _counted(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
