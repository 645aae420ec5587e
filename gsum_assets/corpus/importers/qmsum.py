"""QMSum (Zhong et al., 2021): meetings with general and specific questions."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents
from gsum_assets.corpus.importers.source import read_rows, split_files
from gsum_assets.corpus.importers.transcript import transcript
from gsum_assets.corpus.load import Document
from gsum_assets.corpus.queries import Span

_KEYS = ("meeting_transcripts", "general_query_list", "specific_query_list", "topic_list")
_FOLDERS = ("jsonl", "ALL/jsonl", "data/ALL/jsonl")


def read_qmsum(source: Path) -> Contents:
    """Read meetings as `qmsum-<split>-<line>`, lines from 1, with their questions."""
    contents = Contents()
    n_dropped = 0
    for split, file in split_files(source, ["*.jsonl"], _FOLDERS):
        for line, meeting in read_rows(file, _KEYS):
            # The id keeps the name of the official file: 'val' is the split dev.
            document_id = f"qmsum-{'val' if split == 'dev' else split}-{line:03d}"
            topics = [topic["topic"].strip() for topic in meeting["topic_list"]]
            turns = meeting["meeting_transcripts"]
            text, turn_spans = transcript(turns)
            n_dropped += sum(start == end for start, end in turn_spans)
            more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
            title = f"Meeting on {topics[0]}{more}" if topics else ""
            contents.documents.append(Document(document_id, title, text))
            _ask(contents, meeting, document_id, topics, split, turn_spans)
    contents.notes.append(f"{n_dropped} turns without words left out")
    return contents


def _ask(
    contents: Contents,
    meeting: dict[str, Any],
    document_id: str,
    topics: list[str],
    split: str,
    turn_spans: list[tuple[int, int]],
) -> None:
    """Add the questions of a meeting.

    General questions are searched for together with the topic list (protocol of gor). For specific
    ones the annotators marked the turns with the answer.
    """
    for kind in ("general", "specific"):
        for number, item in enumerate(meeting[f"{kind}_query_list"], start=1):
            text = item["query"].strip()
            searched = f"{text} {'; '.join(topics)}" if kind == "general" else text
            contents.ask(
                f"{document_id}-{kind}-{number}",
                text,
                [item["answer"]],
                split=split,
                kind=kind,
                document_id=document_id,
                retrieval_text=searched,
                spans=_evidence(item, document_id, turn_spans),
            )


def _evidence(
    item: dict[str, Any], document_id: str, turn_spans: list[tuple[int, int]]
) -> Iterator[Span]:
    """Yield the characters of `relevant_text_span`: first and last turn, from 0."""
    for first, last in item.get("relevant_text_span", ()):
        turns = [p for p in turn_spans[int(first) : int(last) + 1] if p[0] < p[1]]  # with words
        if turns:
            yield Span(document_id, turns[0][0], turns[-1][1])


QMSUM = Benchmark(
    "QMSum meetings",
    "meeting",
    "QMSum's jsonl files train.jsonl, val.jsonl, test.jsonl, or one of them",
    read_qmsum,
)
