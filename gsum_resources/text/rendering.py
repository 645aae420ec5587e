"""Texts that name their speakers: one line for each turn, or "– " before an unknown speaker's."""

import re
from collections.abc import Iterable, Sequence

from gsum_resources.text.sentences import Sentence
from gsum_resources.text.speech import names_speaker


def render_sentences(sentences: Sequence[Sentence]) -> str:
    """Return speech with one line per turn (`Marketing: …`, or "– "), or prose as a paragraph.

    Returns
    -------
    str
        A line begins with "– " if its speaker is unknown. `read_sentences` can parse the text,
        because methods pass answers back as passages.
    """
    spoken = any(sentence.speaker for sentence in sentences)
    lines: list[str] = []
    last: str | None = None
    for sentence in sentences:
        if lines and (sentence.speaker == last or not spoken):
            lines[-1] += f" {sentence.text}"
        else:
            label = f"{sentence.speaker}: " if sentence.speaker else "– " if spoken else ""
            lines.append(label + sentence.text)
        last = sentence.speaker
    return "\n".join(lines)


def flat_text(text: str) -> str:
    """Return a text on one line, or on one for each of its lines if it names speakers."""
    lines = [" ".join(line.split()) for line in text.splitlines()]
    return ("\n" if names_speaker(text) else " ").join(line for line in lines if line)


def join_texts(texts: Iterable[str]) -> str:
    """Join texts by blanks, or by line breaks if any of them names speakers.

    A text that names none begins with "– " then, so that no speaker of an earlier one says it.
    """
    flat_texts = [flat for text in texts if (flat := flat_text(text))]
    if not any(map(names_speaker, flat_texts)):
        return " ".join(flat_texts)
    return "\n".join(map(as_turn, flat_texts))


def as_turn(text: str) -> str:
    """Return a text with "– " at its beginning, unless it begins with a name or heading."""
    first = text.partition("\n")[0]
    is_marked = names_speaker(first) or re.match(r"[-–#*•] ", first) or first.endswith(":")
    return text if is_marked else f"– {text}"
