"""Chunk borders by content: where they are, what an edit changes, and any text."""

import random
from collections.abc import Callable
from typing import Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.borders import border_ranks
from gsum_assets.pipeline.corpus_settings import ChunkingSettings, CorpusSettings
from tests.corpus.test_chunk import _LONGEST, _check, _cut, _document

_VOCABULARY = [
    "budget",
    "ferry",
    "harbour",
    "council",
    "engine",
    "meeting",
    "tide",
    "captain",
    "repair",
    "winter",
    "island",
]


def _kinds(text: str) -> dict[int, int]:
    """Kind of a cut (0 paragraph, 1 sentence, 2 word) at every character that is not blank."""
    ranks = border_ranks(text, np.arange(len(text)))
    return {i: int(rank >> np.uint64(62)) for i, rank in enumerate(ranks) if not text[i].isspace()}


def _borders(text: str, kind: int) -> list[str]:
    """The next eight characters of each cut of that kind."""
    return [text[i : i + 8] for i, found in _kinds(text).items() if found == kind]


def test_sentences_end_at_marks_and_lines() -> None:
    text = (
        "Dr. Lin slept (well!) at J. Ott's. He left.\nMax: yes\nno, e.g. here\n \n“Why?” Ada said."
    )
    assert _borders(text, 1) == ["He left.", "Max: yes", "Ada said"]
    assert _borders(text, 0) == ["“Why?” A"]
    assert _borders("北京是首都。他们讨论了。预算", 1) == ["他们讨论了。预算", "预算"]


def test_ranks_do_not_depend_on_what_is_far_or_blank() -> None:
    tail = "The ferry was late again, because the engine had failed.  The captain said so."
    at = tail.index("captain")
    alone = border_ranks(tail, np.array([at]))
    moved = "Something else came first. " + tail.replace("  ", "\n ")
    assert border_ranks(moved, np.array([moved.index("captain")])) == alone
    assert border_ranks(tail.replace("failed", "burned"), np.array([at])) != alone


def _meeting(seed: int, sentence_end: str = ". ", n: int = 400) -> str:
    """A long text whose sentences are 4 to 20 words of a small vocabulary."""
    chosen = random.Random(seed)
    sentences = [
        " ".join(chosen.choices(_VOCABULARY, k=chosen.randint(4, 20))).capitalize()
        for _ in range(n)
    ]
    return sentence_end.join(sentences)


_LONG_TEXTS: dict[str, Callable[[int], str]] = {
    "sentences": _meeting,
    "lines": lambda seed: _meeting(seed, "\n"),
    "no sentence ends": lambda seed: _meeting(seed, " ").lower(),
    "Chinese": lambda seed: "".join(
        random.Random(seed).choices("北京是中华人民共和国的首都，他们讨论了新预算。", k=6000)
    ),
}


@pytest.mark.parametrize("chunker", ["tokens", "lines"])
@pytest.mark.parametrize("kind", _LONG_TEXTS)
def test_a_sentence_put_in_changes_few_chunks(kind: str, chunker: str) -> None:
    changed, by_length = [], []
    for seed in range(12):
        text = _LONG_TEXTS[kind](seed)
        half = len(text) // 2
        if kind in ("sentences", "lines"):
            half = text.index(". " if kind == "sentences" else "\n", half) + 1
        edited = f"{text[:half]} The budget is four hundred euros.{text[half:]}"
        for borders, found in (("content", changed), ("length", by_length)):
            settings = {"chunker": chunker, "max_tokens": 128, "borders": borders}
            before = {chunk.chunk_id for chunk in _cut(text, **settings)}
            after = _cut(edited, **settings)
            assert len(after) > 20
            found.append(sum(chunk.chunk_id not in before for chunk in after))
    # a single line without overlap and without sentence ends has the narrowest windows
    is_hardest = chunker == "lines" and kind not in ("sentences", "lines")
    assert np.mean(changed) <= (6 if is_hardest else 3)
    assert np.mean(by_length) > 2 * np.mean(changed)


def test_chunks_are_well_filled_and_end_at_sentences() -> None:
    text = _meeting(1)
    *chunks, _ = _cut(text, max_tokens=128, borders="content")
    assert all(89 <= chunk.n_tokens <= 128 for chunk in chunks)
    assert all(chunk.text.endswith(".") for chunk in chunks)


def test_equal_ranks_end_as_late_as_possible() -> None:
    for text in ("x" * 4000, "la " * 3000):
        by_content = _cut(text, max_tokens=100, overlap_tokens=0, borders="content")
        by_length = _cut(text, max_tokens=100, overlap_tokens=0, borders="length")
        assert [c.n_tokens for c in by_content][1:] == [c.n_tokens for c in by_length][1:]


@given(_document, st.sampled_from(["tokens", "lines"]), st.integers(1, 40), st.integers(0, 39))
def test_borders_by_content_hold_on_any_text(
    text: str, chunker: str, max_tokens: int, overlap: int
) -> None:
    overlap = min(overlap, max_tokens - 1)
    chunks = _cut(
        text,
        chunker=chunker,
        max_tokens=max_tokens,
        overlap_tokens=overlap,
        overlap_lines=overlap // 8,
        borders="content",
    )
    _check(text, chunks)
    assert all(chunk.n_tokens <= max(max_tokens, _LONGEST) for chunk in chunks)


def test_borders_by_length_are_not_part_of_the_settings_version() -> None:
    """Chunks of a corpus from before the key must remain current with `borders = "length"`."""
    by_length = CorpusSettings(chunking=ChunkingSettings(borders="length"))
    assert "borders" not in by_length.chunking.model_dump(mode="json")
    assert "borders" not in by_length.model_dump()["chunking"]
    assert CorpusSettings().model_dump()["chunking"]["borders"] == "content"


@given(st.sampled_from(["length", "content"]), st.integers(33, 300))
def test_chunking_comes_back_from_its_dump(
    borders: Literal["length", "content"], max_tokens: int
) -> None:
    settings = ChunkingSettings(max_tokens=max_tokens, borders=borders)
    assert ChunkingSettings.from_dump(settings.model_dump(mode="json")) == settings


def test_borders_are_by_content_unless_named() -> None:
    text = _meeting(2)
    assert _cut(text) == _cut(text, borders="content")
    assert _cut(text) != _cut(text, borders="length")
