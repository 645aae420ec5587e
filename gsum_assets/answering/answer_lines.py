"""The output of `gsum ask`."""

import textwrap
from collections.abc import Iterator
from pathlib import Path

from gsum_assets.answering.ask import Answer
from gsum_assets.answering.sources import Source
from gsum_assets.evaluation.answer_sentences import with_numbers
from gsum_resources.llm.extractive import NAME as EXTRACTIVE

_WIDTH = 96


def answer_lines(answer: Answer, settings_file: Path | str, ids: bool = False) -> Iterator[str]:
    """Yield an answer as it is printed: its text, its sources, and the model that wrote it.

    Before it stands the question as it was understood, if it was completed, and after it the
    explanation, if there is one.

    Parameters
    ----------
    settings_file : the file in which models are set.
    ids : whether to show ids, and sources of no sentence, too.
    """
    if answer.understood:
        yield from (f"understood as: {answer.understood}", "")
    text = with_numbers(answer.lines) if answer.lines else answer.text
    for line in text.splitlines():  # one speaker's turn each
        yield from textwrap.wrap(line, _WIDTH, break_long_words=False, break_on_hyphens=False)
    yield from _doubts(answer)
    if answer.explanation:
        yield from ("", answer.explanation)
    if answer.sources:
        yield from ("", "what comes nearest:" if answer.is_refusal else "sources:")
    sentences = [sentence for line in answer.lines for sentence in line.sentences]
    named = {number for s in sentences for number in (*s.numbers, *s.unsupported)}
    shown = range(1, len(answer.sources) + 1)
    listed = shown if ids or not named else sorted(named.intersection(shown))
    for number in listed:
        source = answer.sources[number - 1]
        shown_ids = f" ({source.document_id or '-'} {source.node_id})" if ids else ""
        yield f"{number:3d}. {source}{shown_ids}"
        indent = " " * 5
        text = textwrap.shorten(_best_of(source), 2 * _WIDTH, placeholder=" …")
        yield from textwrap.wrap(text, _WIDTH, initial_indent=indent, subsequent_indent=indent)
        for origin in source.origins:
            yield f"{indent}from {origin}"
    if n_others := len(shown) - len(listed):
        yield f"     {n_others} other{'s were' if n_others > 1 else ' was'} read; --ids lists all"
    writer = f"written by {answer.model}" if answer.model else "no model was called"
    if answer.model == EXTRACTIVE:
        writer += (
            ", which selects sentences; it is not a language model. A model is set in [llm] of "
            f"{settings_file}"
        )
    yield from ("", f"found by {answer.method}; {writer}")


def _doubts(answer: Answer) -> Iterator[str]:
    """Yield what the marks behind sentences without a source mean, if there are any."""
    sentences = [sentence for line in answer.lines for sentence in line.sentences]
    doubts = []
    if any(sentence.label == "[?]" for sentence in sentences):
        doubts.append("[?]: no source was found")
    if numbers := sorted({number for sentence in sentences for number in sentence.unsupported}):
        first = numbers[0]
        doubts.append(f"[{first}?]: the model names passage {first}, which does not support it")
    if doubts:
        yield from ("", "; ".join(doubts))


def _best_of(source: Source) -> str:
    """Return a source's text from the first sentence on that the answer has from it."""
    start = source.marked[0][0] if source.marked else 0
    return f"… {source.text[start:]}" if start else source.text
