"""Facts, elements and relations of a model's reply, cleaned."""

import json

from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.extract import extract
from gsum_assets.jerr.settings import IndexSettings
from tests.gor.toy_documents import Scripted
from tests.jerr.tower import SYNOPSES

ONE = SYNOPSES.slice(0, 1)
SETTINGS = IndexSettings(max_facts=2)


def reply(facts: list[str], elements: list[str], *relations: tuple[str, str, str]) -> str:
    named = [{"source": s, "relation": r, "target": t} for s, r, t in relations]
    return json.dumps({"facts": facts, "elements": elements, "relations": named})


def test_equal_spellings_count_once_and_the_first_three_are_used() -> None:
    said = reply([], ["The Lamp", "lamp", "**Ada**", "...", "storm", "night"])
    found = extract(ONE, Scripted(lambda _: said), SETTINGS).beside["elements"]
    assert found["element"].to_pylist() == ["The Lamp", "Ada", "storm"]
    assert found["element_key"].to_pylist() == ["lamp", "ada", "storm"]
    assert found["position"].to_pylist() == [0, 1, 2]


def test_relations_join_two_distinct_elements_in_three_words() -> None:
    said = reply(
        ["Ada lights  the lamp.", "Ada lights the lamp.", "It is dark.", "A third."],
        ["Ada", "the lamp"],
        ("Ada", "is the one lighting", "The lamp"),
        ("ada", "again", "lamp"),
        ("lamp", "is lit by", "Ada"),
        ("Ada", "is", "Ada"),
        ("Ada", "fears", "storm"),
        ("lamp", " ", "Ada"),
    )
    found = extract(ONE, Scripted(lambda _: said), SETTINGS)
    columns = ("source_key", "relation", "target_key")
    assert [tuple(row[c] for c in columns) for row in found.beside["relations"].to_pylist()] == [
        ("ada", "is the one", "lamp"),
        ("lamp", "is lit by", "ada"),
    ]
    assert found.rows["statement"].to_pylist() == ["Ada lights the lamp.", "It is dark."]


def test_failure_is_reported_and_the_rest_is_kept() -> None:
    replies = iter([None, reply(["A fact."], ["storm"]), reply([], [])])
    found = extract(SYNOPSES, Scripted(lambda _: next(replies)), SETTINGS)
    assert found.beside["elements"]["chunk_id"].to_pylist() == ["a2"]
    assert found.failures == [
        "document 'a', line chunk 0: no facts and elements: the server is tired"
    ]


names = st.lists(st.text(max_size=12), max_size=6)


@given(names, st.lists(st.tuples(*[st.text(max_size=12)] * 3), max_size=6))
def test_relations_join_elements_of_the_same_synopsis_for_any_reply(
    elements: list[str], relations: list[tuple[str, str, str]]
) -> None:
    said = reply(elements, elements, *relations)
    found = extract(ONE, Scripted(lambda _: said), SETTINGS)
    keys = found.beside["elements"]["element_key"].to_pylist()
    assert len(set(keys)) == len(keys) <= SETTINGS.n_elements
    ends = [(r["source_key"], r["target_key"]) for r in found.beside["relations"].to_pylist()]
    assert len(set(ends)) == len(ends)
    assert all(one != other and {one, other} <= set(keys) for one, other in ends)
