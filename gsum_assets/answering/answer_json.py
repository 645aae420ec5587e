"""An answer as one JSON object, for `gsum ask --json`; the schema is in docs/asking.md."""

from typing import Any

from gsum_assets.answering.ask import Answer


def answer_object(answer: Answer) -> dict[str, Any]:
    """Return an answer as plain values; `passages` are in the order of the numbers of sources."""
    rows = {row["node_id"]: row for row in answer.passages}
    return {
        "question": answer.question,
        "understood": answer.understood or None,
        "answer": answer.text,
        "is_refusal": answer.is_refusal,
        "probability": answer.probability,
        "sentences": [
            {
                "text": sentence.text,
                "sources": list(sentence.numbers),
                "unsupported": list(sentence.unsupported),
            }
            for line in answer.lines
            for sentence in line.sentences
        ],
        "passages": [
            {
                "number": number,
                "corpus": rows.get(source.node_id, {}).get("corpus", answer.corpus),
                "document_id": source.document_id,
                "title": source.title,
                "location": source.location,
                "node_id": source.node_id,
                "rank": rows.get(source.node_id, {}).get("rank"),
                "score": rows.get(source.node_id, {}).get("score"),
                "text": source.text,
            }
            for number, source in enumerate(answer.sources, 1)
        ],
        "explanation": answer.explanation or None,
        "method": answer.method,
        "model": answer.model or None,
        "usage": dict(answer.usage),
    }
