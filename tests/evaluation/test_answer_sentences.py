"""Sentences of answers, and the numbers of passages in them."""

import pytest

from gsum_assets.evaluation.answer_sentences import lines_of, said_sentences, without_citations


@pytest.mark.parametrize(
    ("reply", "text", "cited"),
    [
        ("It sank [1]. Ann paid.[2][3]", "It sank. Ann paid.", {1: [1], 2: [2, 3]}),
        ("It sank. [1] Ann paid. [2]", "It sank. Ann paid.", {1: [1], 2: [2]}),
        ("It sank [1, 4-6] in May.", "It sank in May.", {1: [1, 4, 5, 6]}),
        ("It sank. [passages 1 and 2]", "It sank.", {1: [1, 2]}),
        ("- It sank. [1]\n- Ann paid. [2]", "- It sank.\n- Ann paid.", {1: [1], 2: [2]}),
        ("It sank. Ann paid.\n\n[2]", "It sank. Ann paid.", {2: [2]}),
        ("## The boat [3]\nIt sank.[1]She paid.", "## The boat\nIt sank. She paid.", {1: [1]}),
        ("It was built [1846].", "It was built [1846].", {}),
        ("It sank.", "It sank.", {}),
        ("它沉了【1】。安付了钱[2]。", "它沉了。安付了钱。", {1: [1], 2: [2]}),
    ],
)
def test_numbers_are_taken_out(reply: str, text: str, cited: dict) -> None:
    assert without_citations(reply) == (text, cited)


def test_only_sentences_with_words_are_numbered() -> None:
    answer = "## What happened\n– It sank. …\n\n1. Ann paid.\nTwo things:\n- the rent"
    shown = [(line.mark, [(s.number, s.text) for s in line.sentences]) for line in lines_of(answer)]
    assert shown == [
        ("## ", [(0, "What happened")]),
        ("– ", [(1, "It sank. …")]),
        ("", []),
        ("1. ", [(2, "Ann paid.")]),
        ("", [(0, "Two things:")]),
        ("- ", [(3, "the rent")]),
    ]


def test_only_known_names_are_split_off() -> None:
    names = frozenset(["Dov", "Ann Lee"])
    (said,) = said_sentences("Dov: Ann Lee (chair): We go: now.", names)
    assert (said.names, said.words) == (("Dov", "Ann Lee"), "We go: now.")
    (said,) = said_sentences("Note: we go.", names)
    assert (said.names, said.words) == ((), "Note: we go.")
