"""Chunking: truths by hand, borders by content, and the invariants on texts of any script."""

import random
import unicodedata
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from gsum_assets.corpus.borders import border_ranks
from gsum_assets.corpus.chunk import (
    chunk_documents,
    default_tokenizer,
    n_word_pieces,
)
from gsum_assets.corpus.word_pieces import word_pieces
from gsum_assets.pipeline.corpus_settings import ChunkingSettings
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.speech import label_spans
from gsum_resources.text.tables import tables_in
from tests.smollm import smollm_tokenizer

TOKENIZER = default_tokenizer()

WORDS = "one two three four five six seven eight nine ten"  # each is one word piece


def _texts(chunks):
    return [chunk.text for chunk in chunks]


def _cut(text, document_id="d", **settings):
    return chunk_documents({document_id: text}, ChunkingSettings(**settings))


def _windows(document_id, text, max_tokens=256, overlap_tokens=32):
    lengths = {"max_tokens": max_tokens, "overlap_tokens": overlap_tokens}
    return _cut(text, document_id, **lengths, borders="length")


def _by_lines(document_id, text, max_tokens, overlap_lines=0):
    return _cut(
        text,
        document_id,
        chunker="lines",
        max_tokens=max_tokens,
        overlap_lines=overlap_lines,
        borders="length",
    )


def _count(text):
    return len(TOKENIZER.encode(text, add_special_tokens=False))


def test_token_windows_known_values():
    chunks = _windows("d", WORDS, max_tokens=4, overlap_tokens=1)
    assert _texts(chunks) == ["one two three four", "four five six seven", "seven eight nine ten"]
    assert [chunk.position for chunk in chunks] == [0, 1, 2]
    assert [chunk.n_tokens for chunk in chunks] == [4, 4, 4]
    assert [chunk.start for chunk in chunks] == [0, 14, 28]
    whole = _windows("d", f"\n {WORDS} \n", max_tokens=10, overlap_tokens=3)
    assert [(chunk.start, chunk.text) for chunk in whole] == [(2, WORDS)]


def test_words_stay_whole_if_they_fit():
    size = _count("unbelievably")
    assert size > 2  # so that it does not fit with the words before or after it
    chunks = _windows("d", "one two unbelievably one two", size + 1, 0)
    assert _texts(chunks) == ["one two", "unbelievably one", "two"]
    pieces = _windows("d", "unbelievably", 1, 0)
    assert "".join(_texts(pieces)) == "unbelievably"
    assert [chunk.n_tokens for chunk in pieces] == [1] * _count("unbelievably")


def test_overlap_shrinks_to_guarantee_progress():
    text = "one two three extraordinarily-long-hyphenated-word four"
    chunks = _windows("d", text, _count(text) - 3, _count(text) - 4)
    assert len({chunk.end for chunk in chunks}) == len(chunks)
    assert chunks[-1].end == len(text)


def test_wordless_stretches_stay_bounded():
    long_word = "x" * 4000  # WordPiece sees one [UNK]
    dropped = "\ue000\ue001 " * 500  # WordPiece sees nothing
    for text, n, full in ((long_word, 4000, 100), (dropped, 3000, 96), (long_word[:101], 101, 100)):
        chunks = _windows("d", text, 100, 0)
        assert sum(chunk.n_tokens for chunk in chunks) == n
        assert len(chunks) == -(-n // full)


def test_characters_dropped_or_split_by_the_tokenizer_are_counted():
    # A zero-width space belongs to the word it touches, and a syllable of three word pieces
    # is not cut; within an overlong word a form feed is dropped.
    assert _texts(_windows("d", "a \u200bb", 1, 0)) == ["a", "\u200bb"]
    assert _count("한글") == 6
    assert _texts(_windows("d", "한글", 1, 0)) == ["한", "글"]
    overlong = f",{'x' * 60}\x0c{'x' * 60},"
    assert [c.n_tokens for c in _windows("d", overlong)] == [1 + 60 + 60 + 1]


SCRIPTS = {
    "Thai": "ประเทศไทยเป็นประเทศที่ตั้งอยู่ในภูมิภาคเอเชียตะวันออกเฉียงใต้ มีกรุงเทพมหานครเป็นเมืองหลวง",
    "Chinese": "北京是中华人民共和国的首都，位于华北平原的北部。他们昨天讨论了新的预算。",
    "Korean": "서울은 대한민국의 수도이며 가장 큰 도시이다. 위원회는 예산을 논의했다.",
    "Arabic": "القاهرة هي عاصمة جمهورية مصر العربية. ناقشت اللجنة أمس الميزانية الجديدة.",
    "Hindi": "नई दिल्ली भारत की राजधानी है। समिति ने कल नए बजट पर चर्चा की।",
    "Khmer": "ភ្នំពេញជារដ្ឋធានីនៃប្រទេសកម្ពុជា",
    "Amharic": "አዲስ አበባ የኢትዮጵያ ዋና ከተማ ናት",
    "emoji": "😀🎉👨\u200d👩\u200d👧\u200d👦 🏳️\u200d🌈👍🏽 🚀🚀",
}


@pytest.mark.parametrize("text", SCRIPTS.values(), ids=SCRIPTS)
def test_chunks_are_valid_in_every_script(text: str) -> None:
    smollm, whole = smollm_tokenizer(), " ".join([text] * 40)
    chunks = _windows("d", whole, 256, 32)
    _check(whole, chunks)
    for chunk in chunks:
        assert chunk.n_tokens <= 256
        assert len(smollm.encode(chunk.text)) <= 256
        assert _count(chunk.text) <= 256


@given(st.lists(st.characters(min_codepoint=0x2E80, codec="utf-8"), min_size=1, max_size=40))
def test_non_latin_text_counts_at_least_its_tokens(characters: list[str]) -> None:
    text = "".join(characters)
    n = n_word_pieces([text])[0]
    n_blanks = sum(c.isspace() for c in text)
    assert len(smollm_tokenizer().encode(text)) <= n + 3 * n_blanks
    assert _count(text) <= n or unicodedata.normalize("NFKD", text) != text


@given(st.text(st.sampled_from(" \t\n\r\v\x85\u3000\u200b\u0301\x00éaB1,—“中あ😀א"), max_size=20))
def test_words_are_counted_as_in_their_text(text: str) -> None:
    assert n_word_pieces([text]) == [word_pieces([text], TOKENIZER)[0].n]


def test_english_is_counted_in_word_pieces() -> None:
    """The ids of these chunks are in everyone's index: 4 of their characters are no ASCII."""
    folder = Path(__file__).parents[2] / "data" / "corpora" / "sample-meetings"
    texts = [path.read_text() for path in sorted(folder.glob("*.txt"))]
    assert n_word_pieces(texts) == [_count(text) for text in texts]
    ids = [c.chunk_id for text in texts for c in _windows("d", text)]
    assert hash_texts(ids) == "94f5fe397622fe3a70116a77951ed777"
    taken = sum(len(smollm_tokenizer().encode(text)) for text in texts)
    assert taken <= 1.1 * sum(n_word_pieces(texts))


def test_ids_do_not_depend_on_other_chunks():
    first, second = WORDS, "red green blue"
    before = _by_lines("d", f"{first}\n\n{second}", 10)
    after = _by_lines("d", f"new line\n\n{first}\n\n{second}", 10)
    assert [chunk.chunk_id for chunk in before] == [chunk.chunk_id for chunk in after[1:]]
    assert {c.chunk_id for c in _by_lines("e", first, 10)}.isdisjoint(
        chunk.chunk_id for chunk in before
    )


def test_repeated_passages_have_distinct_ids():
    chunks = _windows("d", "one two " * 6, 2, 0)
    assert len(set(_texts(chunks))) == 1
    assert len({chunk.chunk_id for chunk in chunks}) == 6
    assert all(len(chunk.chunk_id) == 21 and chunk.chunk_id[0] == "c" for chunk in chunks)


def test_line_chunks_known_values():
    text = "one two\nthree\n\nfour\nfive six\n  \nseven\n"
    assert _texts(_by_lines("d", text, 5)) == [
        "one two\nthree",  # stops at the blank line: more than half of the budget is used
        "four\nfive six\n  \nseven",  # all of the rest fits
    ]
    assert _texts(_by_lines("d", text, 100)) == [text.strip()]
    assert _texts(_by_lines("d", "one\ntwo\nthree\nfour", 3, 1)) == [
        "one\ntwo\nthree",
        "three\nfour",
    ]


def test_early_blank_line_does_not_end_a_chunk():
    text = "one\n\ntwo three four\nfive six\nseven"
    assert _texts(_by_lines("d", text, 6)) == ["one\n\ntwo three four\nfive six", "seven"]


def test_blank_line_ends_only_one_chunk():
    text = "one two three\nfour five six\n\nseven eight nine\nten one"
    assert _texts(_by_lines("d", text, 6, 1)) == [
        "one two three\nfour five six",
        "four five six\n\nseven eight nine",
        "seven eight nine\nten one",
    ]


def test_overlong_line_is_split_between_words():
    chunks = _by_lines("d", f"red\n{WORDS}\nblue", 4)
    assert _texts(chunks) == ["red\none two three", "four five six seven", "eight nine ten\nblue"]


def test_documents_keep_their_order_and_settings():
    documents = {"a": WORDS, "b": "  ", "c": "one\ntwo"}
    window = ChunkingSettings(max_tokens=4, overlap_tokens=1, borders="length")
    chunks = chunk_documents(documents, window)
    assert chunks == [
        *_windows("a", WORDS, 4, 1),
        *_windows("c", "one\ntwo", 4, 1),
    ]
    lines = ChunkingSettings(chunker="lines", max_tokens=1)
    assert _texts(chunk_documents({"c": "one\ntwo"}, lines)) == ["one", "two"]
    assert chunk_documents({}, window) == []


def test_long_texts_do_not_depend_on_segments():
    text = " ".join(f"w{i}" for i in range(15_000))  # two segments of the tokenizer
    chunks = _windows("d", text, 256, 32)
    _check(text, chunks)
    assert all(_count(chunk.text) == chunk.n_tokens for chunk in chunks[::20])
    assert chunks[0].n_tokens + sum(c.n_tokens - 32 for c in chunks[1:]) <= _count(text)


_alphabet = st.one_of(
    st.sampled_from([*"aB9.,'-_ \n\t\r", "\n\n", "word ", "unbelievable "]),
    st.sampled_from(["中", "日本", "テスト", "한글", "ไทย", "𝔘", "é", "e\u0301", "ß", "ﬁ", "½"]),
    st.sampled_from(["😀", "👨\u200d👩\u200d👧", "\u200b", "\u200d", "\ufe0f", "\ue000", "\u0378"]),
    st.sampled_from(["\x0b", "\x0c", "\x1c", "\x85", "\xa0", "\u2028", "\u3000", "\ufffd", "\x07"]),
    st.sampled_from(["x" * 120, "\u200b" * 120, "ไทย" * 50]),
    st.sampled_from(["\n| a | b |\n|---|---|\n", "\na | b\n-|-\n", "| 7 | unbelievable |\n"]),
    st.characters(codec="utf-8", exclude_characters="\0"),
)
_LONGEST = 16
_document = st.lists(_alphabet, max_size=60).map("".join)


def _check(text, chunks):
    """Assert the invariants of every chunker on any text."""
    covered = bytearray(len(text))
    for position, chunk in enumerate(chunks):
        assert chunk.position == position
        names, _, rest = chunk.text.rpartition(text[chunk.start : chunk.end])
        assert not rest
        assert not names or names.strip() in text[: chunk.start]
        assert chunk.text == chunk.text.strip() != ""
        assert chunk.n_tokens > 0
        covered[chunk.start : chunk.end] = b"\1" * (chunk.end - chunk.start)
    assert all(done or character.isspace() for done, character in zip(covered, text, strict=True))
    assert len({chunk.chunk_id for chunk in chunks}) == len(chunks)
    for one, other in pairwise(chunks):
        assert one.start < other.start
        assert one.end < other.end


@given(_document, st.integers(1, 40), st.integers(0, 39))
@example("a\u200b b", 1, 0)
@example("\u200b" * 3, 1, 0)
def test_token_windows_hold_on_any_text(text, max_tokens, overlap):
    overlap = min(overlap, max_tokens - 1)
    chunks = _windows("d", text, max_tokens, overlap)
    _check(text, chunks)
    # A character is never cut: four bytes, and three marks that continue it.
    assert all(chunk.n_tokens <= max(max_tokens, _LONGEST) for chunk in chunks)


@given(_document, st.integers(1, 40), st.integers(0, 5))
def test_line_chunks_hold_on_any_text(text, max_tokens, overlap_lines):
    chunks = _by_lines("d", text, max_tokens, overlap_lines)
    _check(text, chunks)
    assert all(chunk.n_tokens <= max(max_tokens, _LONGEST) for chunk in chunks)
    for one, other in pairwise(chunks):
        if other.start < one.end:
            shared = text[other.start : one.end].split("\n")
            assert sum(not line.isspace() and line != "" for line in shared) <= overlap_lines


@given(
    st.lists(
        st.sampled_from(["hello", "unbelievably", "don't", "U.S.", "x-ray", "\n"]), max_size=80
    ),
    st.integers(8, 30),
    st.integers(0, 7),
)
def test_plain_words_are_never_cut(words, max_tokens, overlap):
    text = " ".join(words)
    chunks = _windows("d", text, max_tokens, overlap)
    for chunk in chunks:
        assert chunk.start == 0 or text[chunk.start - 1].isspace()
        assert chunk.end == len(text) or text[chunk.end].isspace()
        assert chunk.n_tokens == _count(chunk.text) <= max_tokens
    for one, other in pairwise(chunks):
        assert _count(text[other.start : one.end]) <= overlap
        following = text[one.end :].split()[0]
        assert one.n_tokens + _count(following) > max_tokens  # each chunk is as full as can be


NAMES = "| Site | Planned | Actual |"
ROWS = [f"| Field {n} | {2000 + n} | {7000 + n} |" for n in range(100)]
TABLE = "\n".join([NAMES, "|---|---|---|", *ROWS])


@pytest.mark.parametrize("chunker", ["tokens", "lines"])
@pytest.mark.parametrize("borders", ["content", "length"])
@pytest.mark.parametrize("names", [NAMES, NAMES.strip("| ")])
def test_each_passage_of_a_table_has_the_names_of_its_columns(
    chunker: str, borders: str, names: str
) -> None:
    table = TABLE.replace(NAMES, names)
    text = f"# Fields\n\nMeasured in May.\n\n{table}\n\nNo field was left out. {'We saw. ' * 90}"
    chunks = _cut(text, chunker=chunker, borders=borders, max_tokens=80, overlap_tokens=20)
    _check(text, chunks)
    assert all(chunk.n_tokens == _count(chunk.text) <= 80 for chunk in chunks)
    with_rows = [chunk.text for chunk in chunks if "| Field" in chunk.text]
    assert len(with_rows) > 12
    for passage in with_rows:
        assert passage.count(names) == 1
        lines = passage.partition(names)[2].split("\n")
        assert {line for line in lines if "Field" in line} <= {*ROWS}
    assert names not in chunks[-1].text


def test_names_that_leave_no_room_are_not_repeated() -> None:
    wide = f"| {' | '.join(WORDS.split() * 9)} |\n|{'-|' * 90}\n" + "| 1 " * 90 + "|"
    assert sum("nine" in chunk.text for chunk in _windows("d", wide, 100, 0)) == 2
    assert all(chunk.text in wide for chunk in _windows("d", wide, 100, 0))


def test_rows_longer_than_a_passage_are_cut_between_words() -> None:
    text = f"| Who | What |\n|---|---|\n| Ann | {WORDS} {WORDS} {WORDS} |"
    chunks = _windows("d", text, 20, 0)
    assert all(chunk.n_tokens <= 20 for chunk in chunks)
    assert [chunk.text.startswith("| Who | What |\n") for chunk in chunks] == [True] * len(chunks)


@pytest.mark.parametrize(
    "text", ["a | b\nc | d", "Heading\n---\na | b", "|  |  |\n|---|---|\n| 1 | 2 |"]
)
def test_lines_without_names_of_columns_are_no_table(text: str) -> None:
    assert list(tables_in(text)) == []


@pytest.mark.parametrize("chunker", ["tokens", "lines"])
@pytest.mark.parametrize("borders", ["content", "length"])
def test_no_chunk_begins_or_ends_inside_a_speakers_label(chunker: str, borders: str) -> None:
    speakers = ["Postdoc C", "Grad C", "Dr. Ann van der Lee (Hull)"]
    said = [f"{speakers[n % 3]}: {'so we went on and on ' * (n % 7)}ok." for n in range(200)]
    text = "\n".join(said)
    labels = label_spans(text)
    assert len(labels) == 200
    for size in range(20, 60, 5):
        sizes = {"max_tokens": size, "overlap_tokens": size // 2}
        chunks = _cut(text, chunker=chunker, borders=borders, **sizes)
        ends = np.array([end for chunk in chunks for end in (chunk.start, chunk.end)])
        assert not any(((start < ends) & (ends < after - 1)).any() for start, after in labels)


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
