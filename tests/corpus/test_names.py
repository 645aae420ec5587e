"""Names are cleaned and compared alike in every script."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.names import MOST_CHARS, clean_name, holds, name_key


@pytest.mark.parametrize(
    ("written", "clean"),
    [
        ("  Lin \n", "Lin"),
        ("“Dr. Lin”,", "Dr. Lin"),
        ("**Lin**", "Lin"),
        ("# Lin", "Lin"),
        ("`Lin` _et al._", "Lin et al"),
        ("<b>Lin</b>", "Lin"),
        ('<a href="http://x.org/?q=1">Lin</a> of York', "Lin of York"),
        ("Lin | Ann", "Lin Ann"),
        ("snake_case", "snake_case"),
        ("C#", "C#"),
        ("C++", "C++"),
        ("a < b", "a < b"),
        ("Tennessee Valley Authority (TVA)", "Tennessee Valley Authority (TVA)"),
        ("(TVA)", "TVA"),
        ("f(x)", "f(x)"),
        ("42", "42"),
        ("Cafe\u0301", "Café"),
        ("\x00Lin\x1b", "Lin"),
        ("\u200fمحمد\u200f", "محمد"),
        ("《红楼梦》", "红楼梦"),
        ("「東京」、", "東京"),
        ("राम।", "राम"),
        ("نمی\u200cخواهم", "نمی\u200cخواهم"),  # a joiner within a word is part of it
        ("Анна & 李", "Анна & 李"),
        ("x" * MOST_CHARS, "x" * MOST_CHARS),
    ],
)
def test_name_is_stripped_of_surroundings(written: str, clean: str) -> None:
    assert clean_name(written) == clean


@pytest.mark.parametrize("text", ["", "  ", "-", "***", "<br/>", "“”", "…", "。", "\u200b", "😀"])
def test_name_needs_a_letter(text: str) -> None:
    with pytest.raises(ValueError, match="holds no letter or digit"):
        clean_name(text)


@pytest.mark.parametrize("text", ["x" * 10_000, "王" * 201, "a b " * 60])
def test_overlong_text_is_no_name(text: str) -> None:
    with pytest.raises(ValueError, match=r"characters; the most is 200") as error:
        clean_name(text)
    assert len(str(error.value)) < 120


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lin", "LIN"),
        ("STRASSE", "straße"),
        ("ＴＶＡ", "tva"),
        ("Dr  Lin", "dr\tlin."),
        ("Café", "CAFE\u0301"),
        ("Σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("“Lin”", "(Lin)"),
        ("ﷺ", "صلى الله عليه وسلم"),
        ("\u202bمحمد\u202c", "محمد"),
        ("《红楼梦》", "红楼梦"),
    ],
)
def test_spellings_share_a_key(one: str, other: str) -> None:
    assert name_key(one) == name_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [("Lin", "Lim"), ("C", "C#"), ("Rene", "René"), ("Dr Lin", "Lin"), ("李", "季")],
)
def test_different_names_have_different_keys(one: str, other: str) -> None:
    assert name_key(one) != name_key(other)


@given(st.text(max_size=60))
def test_cleaning_is_idempotent_and_gives_a_key(text: str) -> None:
    try:
        clean = clean_name(text)
    except ValueError:
        return
    assert clean_name(clean) == clean
    assert name_key(clean)
    assert name_key(name_key(clean)) == name_key(clean)
    assert len(clean) <= MOST_CHARS


@pytest.mark.parametrize(
    ("text", "name", "there"),
    [
        ("Dr Lin came.", "Lin", True),
        ("Linda came. LIN!", "lin", True),
        ("Linda came.", "Lin", False),
        ("Berlin", "Lin", False),
        ("Berlin, Lin", "Lin", True),
        ("Liné", "Lin", False),
        ("René", "Ren", False),
        ("Анна", "Анн", False),
        ("ТВА2", "ТВА", False),
        ("Dr\n Lin", "Dr Lin", True),
        ("李雷来了", "李雷", True),
        ("第3李雷", "李雷", True),
        ("U.S. law", "U.S.", True),
        ("a+b", "a+b", True),
        ("aab", "a+b", False),
        ("", "Lin", False),
    ],
)
def test_text_contains_a_name_as_a_word(text: str, name: str, there: bool) -> None:
    assert holds(name_key(text), name_key(name)) == there


@given(st.text(max_size=20), st.text(max_size=20), st.sampled_from(["Lin", "李雷", "Анна", "راما"]))
def test_name_between_blanks_is_found(before: str, after: str, name: str) -> None:
    assert holds(name_key(f"x {before} {name} {after} x"), name_key(name))
