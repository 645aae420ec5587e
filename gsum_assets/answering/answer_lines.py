"""The output of `gsum ask`."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

from gsum_assets.answering.ask import Answer
from gsum_assets.answering.sources import with_numbers
from gsum_resources.llm.extractive import NAME as EXTRACTIVE

_WIDTH = 96


def answer_lines(answer: Answer, settings_file: Path | str, ids: bool = False) -> Iterator[str]:
    """Yield an answer as it is printed: its text, its sources, and the model that wrote it.

    Before it stands the question as it was understood, if it was completed, and after it the
    explanation, if there is one.

    Parameters
    ----------
    settings_file : the file in which models are set.
    ids : whether to show the ids of documents and passages.
    """
    if answer.understood:
        yield from (f"understood as: {answer.understood}", "")
    for line in with_numbers(answer.text, answer.sources).splitlines():  # one speaker's turn each
        yield from textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    if answer.explanation:
        yield from ("", answer.explanation)
    if answer.sources:
        yield from ("", "sources:")
    for number, source in enumerate(answer.sources, 1):
        shown_ids = f" ({source.document_id or '-'} {source.node_id})" if ids else ""
        yield f"{number:3d}. {source}{shown_ids}"
        text = textwrap.shorten(source.text, 2 * _WIDTH, placeholder=" …")
        yield from textwrap.wrap(text, _WIDTH, initial_indent=" " * 5, subsequent_indent=" " * 5)
    writer = f"written by {answer.model}" if answer.model else "no model was called"
    if answer.model == EXTRACTIVE:
        writer += (
            ", which selects sentences; it is not a language model. A model is set in [llm] of "
            f"{settings_file}"
        )
    yield from ("", f"found by {answer.method}; {writer}")
