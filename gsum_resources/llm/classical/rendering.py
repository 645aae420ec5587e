"""Chosen sentences as a text that names its speakers."""

from collections.abc import Sequence

from gsum_resources.llm.classical.sentences import Sentence


def render_sentences(sentences: Sequence[Sentence]) -> str:
    """Return one line a speaker who takes over (`Marketing: …`), "– " where he is unknown; prose
    plain.

    Parameters
    ----------
    sentences : in the order to show them.

    Returns
    -------
    str
        Prose is one paragraph. The form can be read again by `read_sentences`, because methods
        feed answers back as passages.
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
