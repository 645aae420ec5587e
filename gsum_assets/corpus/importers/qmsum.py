"""QMSum (Zhong et al., 2021): meetings with general and specific questions."""

import re
from typing import Any

from gsum_assets.corpus.importers.benchmark import Benchmark, Contents
from gsum_assets.corpus.importers.source import each_row
from gsum_assets.corpus.queries import Span

_KEYS = ("meeting_transcripts", "general_query_list", "specific_query_list", "topic_list")


def _read_meeting(contents: Contents, split: str, line: int, meeting: dict[str, Any]) -> None:
    """Add a meeting as `qmsum-<split>-<line>`, with its questions.

    General questions are searched for together with the topic list (protocol of gor). For specific
    ones the annotators marked the turns with the answer, from the first to the last, from 0.
    """
    # The id keeps the name of the official file: 'val' is the split dev.
    document_id = f"qmsum-{'val' if split == 'dev' else split}-{line:03d}"
    topics = [topic["topic"].strip() for topic in meeting["topic_list"]]
    more = f" and {len(topics) - 1} more" if len(topics) > 1 else ""
    text, turn_spans = _transcript(meeting["meeting_transcripts"])
    contents.add(document_id, f"Meeting on {topics[0]}{more}" if topics else "", text)
    contents.counts["turns without words left out"] += sum(s == end for s, end in turn_spans)
    for kind in ("general", "specific"):
        for number, item in enumerate(meeting[f"{kind}_query_list"], start=1):
            question, spans = item["query"].strip(), []
            for first, last in item.get("relevant_text_span", ()):
                turns = [
                    turn for turn in turn_spans[int(first) : int(last) + 1] if turn[0] < turn[1]
                ]
                if turns:
                    spans.append(Span(document_id, turns[0][0], turns[-1][1]))
            searched = f"{question} {'; '.join(topics)}" if kind == "general" else question
            contents.ask(
                f"{document_id}-{kind}-{number}",
                question,
                [item["answer"]],
                split=split,
                kind=kind,
                document_id=document_id,
                retrieval_text=searched.strip(),
                relevant_spans=spans,
            )


BENCHMARKS = {
    "qmsum": Benchmark(
        "QMSum meetings",
        "meeting",
        "QMSum's jsonl files train.jsonl, val.jsonl, test.jsonl, or one of them",
        each_row(
            _read_meeting,
            "*.jsonl",
            folders=("jsonl", "ALL/jsonl", "data/ALL/jsonl"),
            required=_KEYS,
        ),
    )
}


_QUOTED = re.compile(r'(?<!\S)" (.+?) "(?!\S)')
_LONE_QUOTE = re.compile(r'(?<!\S)"(?!\S)')
_STEPS = tuple(
    (re.compile(pattern), replacement)
    for pattern, replacement in (
        (r"(?<=\w) - (?=\w)", "-"),  # "Mm - hmm": a hyphen; dashes are {disfmarker}
        (r"\{[^{}]*\}", " "),  # {vocalsound}, {disfmarker}, {gap}, …
        (r"\[(?:Laughter|Inaudible|Interruption)\.?\]", " "),
        (r"(?<!\S)@(?!\S)", " "),  # "@ @": words not understood
        (r"\s+", " "),
        (r"([.,])(?: \1(?!\S))+", r"\1"),  # the text between them was removed
        (r"(?: ,)+(?= [.?!](?!\S))", ""),
        (r"([?!]) \.(?!\S)", r"\1"),
        (r"(\w) (n't)(?!\w)", r"\1\2"),
        (r"(\w) '(s|re|ve|ll|d|m|t)(?=[\s.,;:?!\"-]|$)", r"\1'\2"),
        (r"\bo ' clock\b", "o'clock"),
        (r"\s+([.,;:?!]+)(?=[\s\"]|$)", r"\1"),
        (r"^(?:[.,;:?!-]+(?:\s+|$))+", ""),  # remains of a mark at the start of the turn
    )
)
_SPELLED = re.compile(r"(?<![A-Za-z_])(?:[A-Z]\*?_)+")  # "*": not spoken as its name


def clean_turn(content: str) -> str:
    """Return the words of one turn in ordinary spelling; "" if it has only noise.

    "L_C_D_" becomes "LCD": AMI writes spelled-out letters with underscores.
    """
    text = content
    for pattern, replacement in _STEPS[:5]:
        text = pattern.sub(replacement, text)
    text = text.strip()
    if len(_LONE_QUOTE.findall(text)) % 2 == 0:  # otherwise the pairs are ambiguous
        text = _QUOTED.sub(r'"\1"', text)
    for pattern, replacement in _STEPS[5:]:
        text = pattern.sub(replacement, text)
    text = _SPELLED.sub(lambda match: re.sub(r"[*_]", "", match[0]), text).strip()
    return text if re.search(r"\w", text) else ""


def _transcript(turns: list[dict[str, str]]) -> tuple[str, list[tuple[int, int]]]:
    """Return lines "Speaker: words", and the characters of each turn: none if it has no words."""
    lines: list[str] = []
    turn_spans = []
    length = 0
    for turn in turns:
        if words := clean_turn(turn["content"]):
            speaker = " ".join(turn["speaker"].split())
            lines.append(f"{speaker}: {words}" if speaker else words)
            turn_spans.append((length, length + len(lines[-1])))
            length += len(lines[-1]) + 1
        else:
            turn_spans.append((length, length))
    return "\n".join(lines), turn_spans
