"""Cleaning of QMSum transcripts: noise marks removed, tokenized spacing undone."""

import re
from typing import NamedTuple

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


class Transcript(NamedTuple):
    """A meeting as text, and the characters of each turn; an empty span for one without words."""

    text: str
    turn_spans: list[tuple[int, int]]


def transcript(turns: list[dict[str, str]]) -> Transcript:
    """Return one line per turn, "Speaker: words"; turns without words are left out."""
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
    return Transcript("\n".join(lines), turn_spans)
