"""Mentions become entities and relationships; only differing descriptions need a request."""

import random
from collections.abc import Callable, Sequence
from itertools import permutations
from statistics import mean

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.graphrag import descriptions
from gsum_assets.graphrag.aliases import resolve
from gsum_assets.graphrag.descriptions import Described, merge_descriptions, packs
from gsum_assets.graphrag.merge import merge_entities, merge_relationships
from gsum_assets.graphrag.settings import MergingSettings
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Request
from tests.gor.toy_documents import Scripted
from tests.graphrag.harbour import Rows, table_of_rows
from tests.graphrag.toys import prompt_length

NAMES = {"lin": ["dr lin"], "boat": [], "lamp": []}


@pytest.fixture(autouse=True)
def _nothing_is_joined(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "JOINED_WORDS", 0)


@pytest.fixture
def small_prompts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptions, "PROMPT_TOKENS", 500)
    monkeypatch.setattr(descriptions, "MAX_WORDS", 30)


small = pytest.mark.usefixtures("small_prompts")


def mention(name: str, chunk: str, kind: str = "", description: str = "") -> dict:
    """A mention in a chunk named by its document and position: d0.1"""
    key, document = name.casefold(), chunk.split(".")[0]
    own = {"name": name, "name_key": key, "chunk_id": chunk, "document_id": document}
    return own | {"type": kind, "description": description, "is_verbatim": True}


def row_of(source: str, target: str, chunk: str, description: str = "", strength: int = 5) -> dict:
    own = {"source_key": source, "target_key": target, "strength": strength}
    where = {"chunk_id": chunk, "document_id": chunk.split(".")[0]}
    return own | where | {"description": description}


def aliases(names: dict[str, list[str]]) -> pa.Table:
    """Other names of each entity, whose id is e-name."""
    rows: Rows = [
        {"name_key": key, "name": key.title(), "entity_id": f"e-{name}"}
        | {"rule": "own" if key == name else "title"}
        for name, others in names.items()
        for key in (name, *others)
    ]
    return table_of_rows(TABLES["graphrag.aliases"], rows)


def entities(
    mentions: Rows,
    related: Sequence[dict] = (),
    say: Callable[[Request], str | None] = lambda request: "Merged.",
) -> tuple[Result, Scripted]:
    model = Scripted(say)
    merged = merge_entities(
        table_of_rows(TABLES["graphrag.entity_mentions"], mentions),
        table_of_rows(TABLES["graphrag.relationship_mentions"], list(related)),
        aliases(NAMES),
        model,
    )
    return merged, model


def relationships(mentions: Rows, related: Rows) -> tuple[dict[tuple[str, str], dict], Scripted]:
    """Rows by their ends."""
    model = Scripted(lambda request: "Merged.")
    merged = merge_relationships(
        table_of_rows(TABLES["graphrag.relationship_mentions"], related),
        aliases(NAMES),
        entities(mentions, related)[0].rows,
        model,
    )
    assert not merged.failures
    return {(row["source_id"], row["target_id"]): row for row in merged.rows.to_pylist()}, model


def by_id(merged: Result) -> dict[str, dict]:
    return {row["entity_id"]: row for row in merged.rows.to_pylist()}


ALL = [mention(name, "d0.0") for name in ("Lin", "Boat", "Lamp")]


def test_most_frequent_type_wins_and_others_are_kept() -> None:
    kinds = ["thing", "place", "", "thing", "event"]
    merged, _ = entities([mention("Boat", f"d0.{i}", kind) for i, kind in enumerate(kinds)])
    assert by_id(merged)["e-boat"]["type"] == "thing"
    assert by_id(merged)["e-boat"]["type_variants"] == ["thing: 2", "event: 1", "place: 1"]


def test_aliases_count_as_mentions_of_one_entity() -> None:
    merged, model = entities(
        [
            mention("Lin", "d1.0", "person", "She sails."),
            mention("Dr Lin", "d0.0", "person", "A doctor."),
            mention("Lin", "d0.0", "person", "A doctor."),
        ]
    )
    (row,) = merged.rows.to_pylist()
    assert (row["name"], row["name_key"], row["description"]) == ("Lin", "lin", "Merged.")
    assert (row["n_mentions"], row["n_descriptions"]) == (2, 2)
    assert (row["chunk_ids"], row["document_ids"]) == (["d0.0", "d1.0"], ["d0", "d1"])
    assert (row["calls"], row["model"]) == (1, "scripted")
    (request,) = model.requests
    assert request.passages == ("A doctor.", "She sails.")
    assert ": Lin" in request.ending


def test_degree_counts_distinct_neighbours_without_itself() -> None:
    related = [
        row_of("lin", "boat", "d0.0"),
        row_of("boat", "dr lin", "d0.1"),
        row_of("lin", "dr lin", "d0.1"),
        row_of("boat", "lamp", "d0.0"),
    ]
    rows = by_id(entities([*ALL, mention("Dr Lin", "d0.1")], related)[0])
    assert {i: row["degree"] for i, row in rows.items()} == {"e-lin": 1, "e-boat": 2, "e-lamp": 1}
    assert set(relationships(ALL, related)[0]) == {("e-boat", "e-lin"), ("e-boat", "e-lamp")}


def test_relationship_weight_is_its_number_of_mentions() -> None:
    related = [
        row_of("lin", "boat", "d0.0", "Lin has it.", 9),
        row_of("boat", "lin", "d0.1", "Lin has it.", 2),
        row_of("dr lin", "boat", "d1.0", "Lin sold it.", 1),
        row_of("lin", "boat", "d1.0", "Lin sold it.", 4),  # by both names in one chunk
        row_of("lamp", "boat", "d0.0", "Aboard.", 3),
    ]
    rows, model = relationships(ALL, related)
    row = rows["e-lin", "e-boat"]  # the direction of three mentions of four
    assert (row["weight"], row["strength"], row["combined_degree"]) == (4.0, 4.0, 3)
    assert (row["chunk_ids"], row["document_ids"]) == (["d0.0", "d0.1", "d1.0"], ["d0", "d1"])
    assert (row["n_descriptions"], row["description"]) == (2, "Merged.")
    assert rows["e-lamp", "e-boat"]["description"] == "Aboard."
    assert [request.passages for request in model.requests] == [("Lin has it.", "Lin sold it.")]
    assert ": Lin and Boat" in model.requests[0].ending


def test_document_order_does_not_matter() -> None:
    kinds = ("person", "thing", "person")
    ends = (("lin", "boat"), ("boat", "lin"), ("dr lin", "boat"))

    def merged(order: tuple[int, ...]) -> tuple[pa.Table, dict, list, list]:
        mentions = [mention("Lin", f"d{i}.0", kinds[i], f"She is {i}.") for i in order]
        mentions += [mention("Boat", f"d{i}.1", "thing", "Old.") for i in order]
        related = [row_of(*ends[i], f"d{i}.0", f"In {i}.", i + 1) for i in order]
        found, model = entities(mentions, related)
        rows, other = relationships(mentions, related)
        return found.rows, rows, model.requests, other.requests

    first = merged((0, 1, 2))
    assert all(merged(order) == first for order in permutations(range(3)))
    assert first[2][0].passages == ("She is 0.", "She is 1.", "She is 2.")


def test_single_repeated_description_needs_no_request() -> None:
    merged, model = entities([mention("Lin", f"d0.{i}", "", "A doctor.") for i in range(5)])
    assert model.requests == []
    row = by_id(merged)["e-lin"]
    assert (row["description"], row["n_descriptions"]) == ("A doctor.", 1)
    assert (row["model"], row["calls"], row["tokens_in"]) == ("", 0, 0)


def test_descriptions_of_few_words_are_joined_without_a_request(monkeypatch) -> None:
    monkeypatch.setattr(descriptions, "JOINED_WORDS", 100)
    lin = [mention("Lin", f"d0.{i}", "", f"{'word ' * 24}{i}.") for i in range(4)]
    boat = [mention("Boat", f"d0.{i}", "", f"{'word ' * 25}{i}.") for i in range(4)]
    merged, model = entities([*lin, *boat])
    assert len(model.requests) == 1
    rows = by_id(merged)
    assert rows["e-boat"]["description"] == "Merged."  # of 104 words
    assert rows["e-lin"]["description"] == " ".join(row["description"] for row in lin)
    assert (rows["e-lin"]["n_descriptions"], rows["e-lin"]["calls"]) == (4, 0)


def _described(n: int, words: int = 30) -> list[str]:
    rng = random.Random(0)
    vocabulary = ["boat", "lamp", "harbour", "orchard", "letter", "mirror", "signal"]
    return [f"Fact {i}: {' '.join(rng.choices(vocabulary, k=words))}." for i in range(n)]


@small
def test_many_descriptions_are_merged_in_batches_within_the_prompt() -> None:
    texts = _described(200)
    thing = Described("Lin", texts)
    model = Scripted(lambda request: " ".join(["word"] * 60))  # twice as long as requested
    assert merge_descriptions({"e": thing}, model) == []
    assert thing.text == " ".join(["word"] * 60)
    assert max(map(prompt_length, model.requests)) <= 500
    assert sorted(t for r in model.calls[0] for t in r.passages) == sorted(texts)
    assert [len(call) for call in model.calls] == sorted(map(len, model.calls), reverse=True)
    assert len(model.calls[-1]) == 1
    assert thing.usage["calls"] == len(model.requests) > 20


@small
def test_one_more_description_leaves_most_batches_unchanged() -> None:
    texts = _described(200)
    batches = []
    for more in ([], ["Something new is said here."]):
        model = Scripted(lambda request: "Short.")
        thing = Described("Lin", [*texts[:100], *more, *texts[100:]])
        merge_descriptions({"e": thing}, model)
        batches.append(set(model.calls[0]))
    assert len(batches[1] - batches[0]) < len(batches[0]) / 3


@small
@pytest.mark.parametrize(
    ("name", "texts"),
    [
        ("Lin", _described(2, 3000)),
        ("Lin", [*_described(9), *_described(1, 3000)]),
        *((name, _described(20)) for name in ("林" * 400, "각하 " * 132, "Zwölf Boxkämpfer " * 24)),
    ],
)
def test_long_names_and_descriptions_fit_the_prompt(name: str, texts: list[str]) -> None:
    model = Scripted(lambda request: "Short.")
    merge_descriptions({"e": Described(name, list(texts))}, model)
    assert max(map(prompt_length, model.requests)) <= 500
    assert sum(len(request.passages) for request in model.calls[0]) in (len(texts), len(texts) - 1)


@pytest.mark.parametrize("reply", [None, "  \n "])
def test_failed_merge_joins_and_cuts_descriptions(monkeypatch, reply: str | None) -> None:
    monkeypatch.setattr(descriptions, "MAX_WORDS", 30)
    lin = [mention("Lin", f"d0.{i}", "", f"Lin is {i}.") for i in range(2)]
    boat = [mention("Boat", f"d0.{i}", "", text) for i, text in enumerate(_described(5))]
    lamp = [mention("Lamp", f"d0.{i}", "", f"Lamp is {i}.") for i in range(2)]

    def say(request: Request) -> str | None:
        return "Merged." if "Lamp" in request.ending else reply

    merged, _ = entities([*lin, *boat, *lamp], say=say)
    rows = by_id(merged)
    assert rows["e-lin"]["description"] == "Lin is 0. Lin is 1."
    assert 30 < n_word_pieces([rows["e-boat"]["description"]])[0] <= 60
    assert rows["e-lamp"]["description"] == "Merged."
    cause = "the server is tired" if reply is None else "the reply is empty"
    assert merged.failures == [
        f"descriptions of '{entity}' are not merged: {cause}" for entity in ("e-boat", "e-lin")
    ]


def test_homonyms_have_their_own_mentions_and_relationships() -> None:
    mentions = [
        mention("Washington", "d0.0", "person", "He led."),
        mention("Army", "d0.0", "organization"),
        mention("Washington", "d1.0", "place", "It is a city."),
        mention("River", "d1.0", "thing"),
    ]
    related = [
        row_of("washington", "army", "d0.0", "He led it.") | {"source_type": "person"},
        row_of("river", "washington", "d1.0", "It flows there.") | {"target_type": "place"},
    ]
    mentioned = table_of_rows(
        TABLES["graphrag.entity_mentions"], [row | {"model": "m"} for row in mentions]
    )
    names = resolve(mentioned, TABLES["chunks"].empty(), MergingSettings())
    pairs = table_of_rows(TABLES["graphrag.relationship_mentions"], related)
    model = Scripted(lambda request: "Merged.")
    found = merge_entities(mentioned, pairs, names, model).rows
    by_name = {row["name"]: row for row in found.to_pylist()}
    assert by_name["Washington"]["type_variants"] == ["person: 1"]
    assert by_name["Washington (place)"]["description"] == "It is a city."
    joined = merge_relationships(pairs, names, found, model).rows
    name_of = {row["entity_id"]: name for name, row in by_name.items()}
    assert {
        frozenset(name_of[row[f"{end}_id"]] for end in ("source", "target"))
        for row in joined.to_pylist()
    } == {frozenset({"Washington", "Army"}), frozenset({"Washington (place)", "River"})}


@given(st.lists(st.integers(0, 130)), st.integers(-5, 100))
def test_packs_keep_order_and_room_and_lose_nothing(sizes: list[int], room: int) -> None:
    found = packs([str(i) for i in range(len(sizes))], sizes, room)
    assert [index for pack in found for index in pack] == list(range(len(sizes)))
    assert all(found)
    for pack in found:
        assert sum(sizes[index] for index in pack) <= room or len(pack) == 1


def test_texts_of_exactly_the_room_form_one_pack() -> None:
    keys = next(k for i in range(99) if len(packs(k := [f"{i}a", f"{i}b"], [80, 20], 100)) == 1)
    assert packs(keys, [80, 21], 100) == [[0], [1]]


def test_one_more_text_changes_few_packs() -> None:
    """Plainly filled packs all shift behind a new text: about half of them, on the mean."""
    rng = random.Random(0)
    texts = [(f"text {i}", rng.randint(20, 300)) for i in range(300)]

    def packed(of: list[tuple[str, int]]) -> list[tuple[str, ...]]:
        keys, sizes = zip(*of, strict=True)
        return [tuple(keys[i] for i in pack) for pack in packs(keys, sizes, 2000)]

    before, changes = packed(texts), []
    for at in range(0, 301, 3):
        after = packed([*texts[:at], ("new", 150), *texts[at:]])
        changes.append(len(set(after) - set(before)))
    assert mean(changes) < len(before) / 5
    assert sorted(changes)[len(changes) // 2] <= 3
