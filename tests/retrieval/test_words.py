import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.retrieval.words import Words


def test_words_are_stemmed_without_stop_words():
    assert Words().split("What did the Meetings decide?") == ["meet", "decid"]


def test_repeated_words_are_kept():
    assert Words().split("boat, boats; BOAT") == ["boat"] * 3


@pytest.mark.parametrize("text", ["", "  \n\t", "?!…", "the and of"])
def test_text_without_words(text):
    assert Words().split(text) == []
    assert Words(bigrams=True).split(text) == []


def test_letters_and_digits_are_words():
    assert Words().split("Grad C saw R2 in 1999") == ["grad", "c", "saw", "r2", "1999"]


def test_bigrams_follow_the_words_and_skip_stop_words():
    assert Words(bigrams=True).split("Lord of Rings") == ["lord", "ring", "lord ring"]


def test_language_has_its_own_stop_words_and_stems():
    assert Words("de").split("Die Häuser und das Haus") == ["haus", "haus"]
    assert Words("de-AT").split("Die Häuser") == Words("de").split("Die Häuser")


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


def test_unknown_language_has_no_stop_words():
    assert Words("tlh").split("The meetings") == ["the", "meetings"]


def test_english_stop_words_are_kept_in_other_languages():
    assert Words("fi").split("what") == ["what"]
    assert Words("en").split("what") == []


def test_overlong_word_is_one_word():
    assert len(Words().split("x" * 1_000_000)) == 1
