import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval.words import Words


@pytest.mark.parametrize(
    ("words", "text", "terms"),
    [
        (Words(), "What did the Meetings decide?", ["meet", "decid"]),
        (Words(), "boat, boats; BOAT", ["boat"] * 3),
        (Words(), "Grad C saw R2 in 1999", ["grad", "c", "saw", "r2", "1999"]),
        (Words(bigrams=True), "Lord of Rings", ["lord", "ring", "lord ring"]),
        (Words("de"), "Die Häuser und das Haus", ["haus", "haus"]),
        (Words("de-AT"), "Die Häuser", ["haus"]),
        (Words("tlh"), "The meetings", ["the", "meetings"]),  # no list of stop words, no stems
        (Words("fi"), "what", ["what"]),  # English stop words count in English alone
        *(
            (Words(bigrams=pairs), t, [])
            for t in ("", " \n\t", "?!…", "the and of")
            for pairs in (0, 1)
        ),
    ],
)
def test_terms_of_a_text(words, text, terms):
    assert words.split(text) == terms


def test_scripts_without_blanks_are_split_into_pairs_of_characters():
    assert Words("zh").find("港口在1999年开放。") == ["港口", "口在", "1999", "年开", "开放"]
    assert Words("th").find("ท่าเรือ") == ["ท่า", "าเ", "เรื", "รือ"]


@pytest.mark.parametrize("word", ["हिन्दी", "مَرْحَبًا", "cafe\u0301", "Straße".lower(), "İl".lower()])
def test_marks_do_not_end_a_word(word):
    assert Words("tlh").find(f"{word}, {word}") == [word, word]


LATIN = st.characters(max_codepoint=0x2FF, exclude_characters="İ")  # whose "i" has a separate mark


@given(st.text(LATIN | st.sampled_from("“”’—…€²½"), max_size=40))
def test_words_of_latin_text_are_runs_of_letters_digits_and_underscores(text):
    assert Words().find(text) == re.findall(r"\w+", text.lower())
