"""A handful of small files in the official formats of the benchmarks that presets need."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

_TOPICS = ("budget", "colour", "battery", "market", "button", "case")


def _put(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    is_lines = ".json" not in path.suffix or path.suffix == ".jsonl"
    path.write_text("\n".join(map(json.dumps, value)) if is_lines else json.dumps(value))


def _said(topic: str, n: int = 12) -> list[str]:
    return [f"The {topic} of item {i} costs {i * 7} euro and Ann agreed." for i in range(n)]


def _qmsum(folder: Path) -> None:
    def meeting(topic: str) -> dict:
        turns = [{"speaker": "ABC"[i % 3], "content": s} for i, s in enumerate(_said(topic, 40))]
        answer = f"They agreed on the {topic} of every item."
        return {
            "topic_list": [{"topic": topic, "relevant_text_span": []}],
            "general_query_list": [{"query": "Summarize the meeting.", "answer": answer}],
            "specific_query_list": [{"query": f"What of the {topic}?", "answer": answer}],
            "meeting_transcripts": turns,
        }

    for split, topics in {"train": _TOPICS[:2], "test": _TOPICS[2:4]}.items():
        _put(folder / f"{split}.jsonl", [meeting(topic) for topic in topics])


def _odsum_story(folder: Path) -> None:
    def question(topic: str) -> dict:
        responses = [{"uid": topic, "response_text": f"Ann agreed on the {topic}."}]
        return {"question_text": f"What of the {topic}?", "question_number": 1} | {
            "responses": responses
        }

    stories = [
        {"questions": [question(topic)]}
        | {"divided_document": [" ".join(_said(topic)), f"Later the {topic} was sold."]}
        for topic in _TOPICS
    ]
    _put(folder / "documents/dev.jsonl", stories)
    _put(folder / "queries.jsonl", [[question(topic)] for topic in _TOPICS])


def _odsum_meeting(folder: Path) -> None:
    (folder / "Documents").mkdir()
    for topic in _TOPICS:
        (folder / f"Documents/{topic}.txt").write_text("\n".join(f"ann: {s}" for s in _said(topic)))
    queries = {
        str(i): {"query": f"What of the {topic}?", "answer": f"Ann agreed on the {topic}."}
        | {"meetings_list": [topic]}
        for i, topic in enumerate(_TOPICS, start=1)
    }
    _put(folder / "queries.json", queries)


def _quality(folder: Path) -> None:
    def article(number: int, topic: str) -> dict:
        question = {"question": f"Who agreed on the {topic}?", "gold_label": 2}
        question |= {"options": ["Bob", "Ann", "Cleo", "Dan"]}
        return {"article_id": str(number), "set_unique_id": f"{number}_w", "title": topic} | {
            "article": "\n".join(_said(topic, 60)),
            "questions": [question],
        }

    rows = [article(number, topic) for number, topic in enumerate(_TOPICS[:2])]
    _put(folder / "QuALITY.v1.0.1.htmlstripped.dev", rows)


def _multihop_rag(folder: Path) -> None:
    articles = [{"title": t, "url": t, "body": " ".join(_said(t))} for t in _TOPICS[:3]]
    questions = [{"query": "Q", "answer": "Yes", "evidence_list": [{"title": _TOPICS[0]}]}]
    _put(folder / "corpus.json", articles)
    _put(folder / "MultiHopRAG.json", questions)


WRITE: Mapping[str, Callable[[Path], None]] = {
    "qmsum": _qmsum,
    "odsum-story": _odsum_story,
    "odsum-meeting": _odsum_meeting,
    "quality": _quality,
    "multihop-rag": _multihop_rag,
}
