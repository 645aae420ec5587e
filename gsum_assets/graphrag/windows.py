"""Passages of extraction: neighbouring chunks that a language model reads in one request.

Instructions and schema cost as much as three chunks, so several are read at once, the text that
they share a single time. What is found is assigned to chunks again by name, since all else cites
chunks. A document's windows depend on that document alone.

Windows are as full as can be: of 12 stories with 7.3 windows a sentence put in changes 1.3, ten
change 3.0 and forty 4.4. Ends chosen by content, as those of chunks are, need 6% more requests and
change as many (1.6, 3.2, 4.3), since a window has few places to end.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.budget import CountTokens
from gsum_resources.text.sentences import flat_text
from gsum_resources.text.speech import speaker_labels, turn_spans

_MOST_SPEAKERS = 20
_LONGEST_TITLE = 120  # characters

Chunk = Mapping[str, Any]


@dataclass(frozen=True)
class Window:
    """Neighbouring chunks of a document as one text.

    Attributes
    ----------
    chunks : rows of `chunks`.
    text : the document from the first chunk to the last.
    label : title and speakers of the document; "" where a chunk is read alone by rules.
    """

    chunks: Sequence[Chunk]
    text: str
    label: str = ""


def single_windows(chunks: Iterable[Chunk]) -> list[Window]:
    """Return a window for each chunk, without a label."""
    return [Window([chunk], chunk["text"]) for chunk in chunks]


def joined_windows(
    chunks: Iterable[Chunk], documents: pa.Table, max_tokens: int, count_tokens: CountTokens
) -> list[Window]:
    """Return windows of at most `max_tokens`, and a chunk that is longer by itself.

    Parameters
    ----------
    chunks : rows of `chunks`, by document and position.
    documents : rows of `documents` with these chunks.
    """
    columns = (documents[name].to_pylist() for name in ("document_id", "title", "text"))
    document_of = {row[0]: row for row in zip(*columns, strict=True)}
    windows: list[Window] = []
    for document_id, group in groupby(chunks, lambda chunk: chunk["document_id"]):
        _, title, text = document_of[document_id]
        windows += _of_document(list(group), title, text, max_tokens, count_tokens)
    return windows


def _of_document(
    chunks: Sequence[Chunk], title: str, text: str, max_tokens: int, count_tokens: CountTokens
) -> Iterator[Window]:
    label_at = _labels(title, text)
    starts, ends = ([chunk[name] for chunk in chunks] for name in ("start", "end"))
    sizes = count_tokens([chunk["text"] for chunk in chunks])
    read = [0, *ends[:-1]]  # up to where the chunk before has it
    added = count_tokens(
        [text[max(start, upto) : end] for start, upto, end in zip(starts, read, ends, strict=True)]
    )
    first = 0
    while first < len(chunks):
        label = label_at(starts[first])
        end, room = first + 1, max_tokens - sizes[first] - count_tokens([label])[0]
        while end < len(chunks) and added[end] <= room:
            room -= added[end]
            end += 1
        yield Window(chunks[first:end], text[starts[first] : ends[end - 1]], label)
        first = end


def _labels(title: str, text: str) -> Callable[[int], str]:
    """Return a function from a character of a document to what a reader should know there."""
    spans = turn_spans(text, speaker_labels([text]))
    speakers = list(dict.fromkeys(speaker for speaker, _, _ in spans if speaker))
    words = [flat_text(title)[:_LONGEST_TITLE]]
    if speakers:
        words.append(f"speakers: {', '.join(speakers[:_MOST_SPEAKERS])}")

    def label(position: int) -> str:
        within = [name for name, start, end in spans if name and start < position < end]
        return "; ".join([*words, *(f"it begins while {name} speaks" for name in within)])

    return label
