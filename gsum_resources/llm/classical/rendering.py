"""Rendering of sentences as a text that names its speakers."""

from collections.abc import Sequence

from gsum_resources.llm.classical.sentences import Sentence


def render_sentences(sentences: Sequence[Sentence]) -> str:
    """Return speech with one line per turn (`Marketing: …`, or "– "), or prose as a paragraph.

    Parameters
    ----------
    sentences : in the order to show them.

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
