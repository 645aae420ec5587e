"""Documents that a question names, and questions that compare documents."""

import pytest

from gsum_assets.retrieval.focus import focus_of, in_order, spread

FILES = {
    name: name
    for name in ("Apache-2.0", "Artistic", "BSD", "GFDL-1.3", "GPL-2", "GPL-3", "LGPL-3", "MPL-2.0")
}
TITLES = {
    **FILES,
    "GPL-2": "GNU GENERAL PUBLIC LICENSE",
    "GPL-3": "GNU GENERAL PUBLIC LICENSE Version 3, 29 June 2007",
    "LGPL-3": "GNU LESSER GENERAL PUBLIC LICENSE Version 3",
    "Apache-2.0": "Apache License",
    "MPL-2.0": "Mozilla Public License Version 2.0",
}


@pytest.mark.parametrize("titles", [FILES, TITLES])
@pytest.mark.parametrize(
    ("question", "mentions"),
    [
        ("What must I do when I distribute binaries under the GPL version 3?", [["GPL-3"]]),
        ("What does the GNU General Public License version 3 say?", [["GPL-3"]]),
        ("What does the GNU Lesser General Public License version 3 say?", [["LGPL-3"]]),
        ("Compare GPLv3 and LGPLv3", [["GPL-3"], ["LGPL-3"]]),
        ("What does the GPL say about patents?", [["GPL-2", "GPL-3"]]),
        ("what is in gpl-2?", [["GPL-2"]]),
        ("What does the BSD licence demand?", [["BSD"]]),
        ("What does the GPL version 1 say?", []),  # there is none
        ("What is an artistic work?", []),
        ("Who may sublicense?", []),
    ],
)
def test_names_select_their_documents(
    titles: dict[str, str], question: str, mentions: list[list[str]]
) -> None:
    assert focus_of(question, titles).mentions == mentions


@pytest.mark.parametrize(
    ("question", "compares"),
    [
        ("How do these licences differ?", True),
        ("Compare the stories.", True),
        ("What do all of the meetings say on money?", True),
        ("Which licences mention trademarks?", True),
        ("How does GPL-2 differ from GPL-3?", True),
        ("How did the opinions of Ann and Bob differ?", False),
        ("Compare the hull with the hatch.", False),
        ("What was decided across the river?", False),
        ("What does GPL-3 say?", False),
    ],
)
def test_comparisons_name_documents(question: str, compares: bool) -> None:
    assert focus_of(question, FILES).compares is compares


def test_leading_file_number_is_not_part_of_a_name() -> None:
    titles = {"05-quarry-landing": "05-quarry-landing", "06-second-thoughts": "06-second-thoughts"}
    focus = focus_of("What happened at the Quarry Landing on Monday?", titles)
    assert focus.mentions == [["05-quarry-landing"]]
    assert not focus_of("What happened at the quarry landing?", titles).mentions


def test_title_common_to_all_documents_selects_none() -> None:
    assert not focus_of("What is The Egg?", {"a": "The Egg", "b": "The Egg"}).mentions


def test_named_document_is_searched_without_its_name() -> None:
    question = "What must I do to distribute binaries under the GPL version 3?"
    assert focus_of(question, FILES).rest == "What must I do to distribute binaries under the ?"
    assert focus_of("GPL version 3?", FILES).rest == "GPL version 3?"


def test_mentions_alternate_starting_with_the_better_document() -> None:
    assert in_order([["a", "b"], ["c"]], ["c", "b", "a"]) == ["b", "c", "a"]


def test_each_document_gives_its_best_before_any_second_best() -> None:
    passages = [[{"n": 1}, {"n": 4}], [{"n": 2}], [{"n": 3}, {"n": 5}]]
    assert [one["n"] for one in spread(passages, 4)] == [1, 2, 3, 4]


@pytest.mark.parametrize(
    ("question", "mentions"),
    [
        ("Summarize the minutes of June.", [["a"]]),
        ("A summary of the June minutes, please.", [["a"]]),
        ("What is the letter to the editor about?", [["b"]]),
        ("What do the minutes of June say about the roof?", []),
        ("Summarize the minutes.", []),
        ("Summarize everything.", []),
    ],
)
def test_document_that_is_all_a_question_names_is_meant(
    question: str, mentions: list[list[str]]
) -> None:
    titles = {"a": "Minutes, June", "b": "letter to the editor", "c": "Minutes, May"}
    assert focus_of(question, titles).mentions == mentions


def test_request_for_all_of_a_document_has_no_words_to_search_for() -> None:
    focus = focus_of("Summarize the minutes of June.", {"a": "Minutes, June", "b": "organ"})
    assert focus.whole == "Summarize the document."
    assert not focus_of("What does the organ cost?", {"a": "Minutes, June", "b": "organ"}).whole
