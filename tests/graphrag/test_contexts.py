"""Contexts of answers are in scope, in a stable order, and fit the prompt."""

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions, answer_request, answer_room
from gsum_assets.evaluation.passages import Choose, Passage, context_rows
from gsum_assets.graphrag.communities import communities
from gsum_assets.graphrag.contexts import all_chunks, all_reports, nearest_chunks
from gsum_assets.graphrag.elements import chunk_of_claim
from gsum_assets.graphrag.index_tables import Index
from gsum_assets.graphrag.local import Around, Scopes
from gsum_assets.graphrag.selection import relevant_reports
from gsum_assets.graphrag.settings import AnswerSettings, CommunitySettings, LocalSettings
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted
from tests.graphrag.harbour import ALIASES, ANN, BOAT, CLAIMS, LAMP, LIN, table_of_rows
from tests.graphrag.harbour_index import CHUNK_TABLE, EMPTY, INDEX, rankings
from tests.graphrag.toys import graph, mapped, prompt_length

SETTINGS, LOCAL = AnswerSettings(), LocalSettings()
NO_CLAIMS = TABLES["graphrag.claims"].empty()
NAMES = table_of_rows(TABLES["graphrag.aliases"], ALIASES)
MAX_WORDS = 120
(ABOUT_ALL,) = queries({"q": "Who has the boat?"}).to_pylist()
X, Y, Z = np.eye(3)
LONG = "The harbour lamp was lit again by the clerk of the orchard. " * 4


def about(document_id: str | None) -> dict:
    return ABOUT_ALL | {"document_id": document_id}


def ids(choose: Choose, document_id: str | None = None) -> list[str]:
    return [passage.node_id for passage in choose(about(document_id))]


def prompts(choose: Choose, questions: list[dict]) -> list[int]:
    """Word pieces of the prompts that questions are really answered from."""
    model = Scripted(lambda request: "An answer.")
    table = pa.Table.from_pylist(questions, TABLES["queries"].schema)
    answer_questions(table, context_rows(table, choose), model, MAX_WORDS)
    return [prompt_length(request) for request in model.requests]


def test_contexts_are_numbered_by_question() -> None:
    questions = queries({"q2": "?", "q1": "?"}, document_id="d0")
    rows = context_rows(questions, all_chunks(CHUNK_TABLE, 0)).to_pylist()
    assert [(row["query_id"], row["rank"]) for row in rows] == [
        ("q1", 1),
        ("q1", 2),
        ("q2", 1),
        ("q2", 2),
    ]
    assert {row["node_kind"] for row in rows} == {"chunk"}


def test_all_reports_of_the_scope_are_read() -> None:
    choose = all_reports(INDEX, 0, 0, lambda _: [])
    assert sorted(ids(choose)) == ["k0", "k1"]
    assert ids(choose, "d0") == ["k0"]
    assert "Finding 1" not in choose(about("d0"))[0].text
    assert sorted(ids(choose, "d1")) == ["k0", "k1"]
    assert sorted(ids(all_reports(INDEX, 1, 0, lambda _: []))) == ["k1", "k2"]
    chunk = Passage("c", "chunk", "It leaked.")
    assert ids(all_reports(EMPTY, 0, 0, lambda _: [chunk])) == ["c"]  # no report of the scope
    lost = replace(INDEX, community_reports=EMPTY.community_reports, findings=EMPTY.findings)
    assert ids(all_reports(lost, 0, 0, lambda _: [chunk])) == []  # all reports failed


def relevant(
    index: Index, settings: AnswerSettings = SETTINGS, vector: np.ndarray = X, otherwise=()
) -> Choose:
    length = settings, MAX_WORDS, n_word_pieces
    return relevant_reports(index, {"q": vector}, *length, lambda _: otherwise)


def test_the_most_similar_reports_of_any_level_are_read() -> None:
    assert ids(relevant(INDEX)) == ["k2", "k0", "k1"]
    assert ids(relevant(INDEX, vector=Y)) == ["k0", "k1", "k2"]  # ties by id
    assert ids(relevant(INDEX, vector=Z)) == ["k1", "k0", "k2"]
    assert [round(report.score, 6) for report in relevant(INDEX)(ABOUT_ALL)] == [1.0, 0.6, 0.0]


def test_relevant_reports_of_a_document_are_its_findings() -> None:
    assert ids(relevant(INDEX), "d0") == ["k2", "k0"]
    assert ids(relevant(INDEX), "d1") == ["k0", "k1"]  # no finding of k2 is from it
    assert "Finding 0" not in relevant(INDEX)(about("d1"))[0].text


def test_without_a_report_of_the_scope_others_are_read() -> None:
    chunk = Passage("c", "chunk", "It leaked.")
    assert ids(relevant(INDEX, otherwise=[chunk]), "d9") == ["c"]
    assert ids(relevant(EMPTY, otherwise=[chunk])) == ["c"]
    lost = replace(INDEX, community_reports=EMPTY.community_reports, findings=EMPTY.findings)
    assert ids(relevant(lost, otherwise=[chunk])) == []  # all reports failed


def _chunks(n: int) -> pa.Table:
    rows = [
        {"chunk_id": f"c{i:02}", "document_id": f"d{i % 2}", "position": i, "text": f"{i}. {LONG}"}
        for i in range(n)
    ]
    return table_of_rows(TABLES["chunks"], rows)


def test_chunks_are_shuffled_by_seed_and_new_ones_move_none() -> None:
    shuffled = ids(all_chunks(_chunks(40), 0))
    assert sorted(shuffled) == [f"c{i:02}" for i in range(40)] != shuffled
    assert ids(all_chunks(_chunks(40)[::-1], 0)) == shuffled
    assert ids(all_chunks(_chunks(40), 1)) != shuffled
    more = ids(all_chunks(_chunks(41), 0))
    assert [chunk for chunk in more if chunk != "c40"] == shuffled
    of_one = [chunk for chunk in shuffled if int(chunk[1:]) % 2]
    assert ids(all_chunks(_chunks(40), 0), "d1") == of_one


@pytest.mark.parametrize("prompt_tokens", [500, 1000, 1777])
def test_nearest_chunks_fill_the_prompt(prompt_tokens: int) -> None:
    order = [f"c{i:02}" for i in range(39, -1, -1)]
    settings = AnswerSettings(prompt_tokens=prompt_tokens)
    chunks = _chunks(40)
    found = rankings({"q": order})
    choose = nearest_chunks(found, chunks, settings, MAX_WORDS, n_word_pieces)
    chosen = choose(ABOUT_ALL)
    assert [passage.node_id for passage in chosen] == order[: len(chosen)]
    assert 0 < len(chosen) < 40
    assert prompts(choose, [ABOUT_ALL])[0] <= prompt_tokens
    more = tuple(passage.text for passage in chosen) + (f"0. {LONG}",) * 2
    assert prompt_length(answer_request(ABOUT_ALL, more, MAX_WORDS)) > prompt_tokens
    assert ids(nearest_chunks(rankings({}), chunks, settings, MAX_WORDS, n_word_pieces)) == []


def local(
    index: Index,
    best: list[str],
    chunks: pa.Table = CHUNK_TABLE,
    settings: AnswerSettings = SETTINGS,
    vector: np.ndarray = X,
    kinds: LocalSettings = LOCAL,
    claims: pa.Table = NO_CLAIMS,
) -> Choose:
    found = rankings({"q": best})
    scopes, length = Scopes(index, chunks, claims, NAMES), (settings, MAX_WORDS, n_word_pieces)
    return Around(index, found, chunks, {"q": vector}, scopes, kinds, *length)


def test_a_local_answer_reads_entities_then_relationships_reports_and_chunks() -> None:
    two = LocalSettings(n_entities=2)
    chosen = local(INDEX, ["c1", "c0", "c2"], kinds=two)(ABOUT_ALL)
    assert [(passage.node_kind, passage.node_id) for passage in chosen] == [
        ("entity", LIN),
        ("entity", BOAT),
        ("relationship", "r-0"),  # between both
        ("relationship", "r-1"),
        ("report", "k2"),  # of both; k1 holds neither
        ("chunk", "c1"),
        ("chunk", "c0"),
        ("chunk", "c2"),
    ]
    assert [passage.text for passage in chosen[:3]] == [
        "Lin (person):\nAbout Lin.",
        "Boat (thing):\nAbout Boat.",
        "Lin and Boat:\nOne has the other.",
    ]
    assert [round(passage.score, 6) for passage in chosen[:2]] == [1.0, 0.6]


def test_claims_about_the_nearest_come_in_turn_with_relationships() -> None:
    rows = [
        CLAIMS[0]
        | {"position": position, "document_id": document, "chunk_id": chunk}
        | {"subject_key": subject, "description": description}
        for position, document, chunk, subject, description in (
            (0, "d0", "c1", "dr lin", "Lin owns the boat."),
            (1, "d0", "c1", "lin", "Lin sold it."),
            (0, "d1", "c2", "boat", "The boat leaks."),
            (1, "d1", "c2", "lin", "Lin owns the boat."),  # said before
        )
    ]
    claims = table_of_rows(TABLES["graphrag.claims"], rows)
    two = LocalSettings(n_entities=2)
    chosen = local(INDEX, [], kinds=two, claims=claims)(ABOUT_ALL)
    assert [passage.node_id for passage in chosen] == [
        *(LIN, BOAT, "r-0", "c1-0", "r-1", "c2-0", "c1-1", "k2")
    ]
    assert [chunk_of_claim(claim.node_id) for claim in chosen if claim.node_kind == "claim"] == [
        *("c1", "c2", "c1")
    ]
    assert chosen[3].text == "Claim about Lin:\nLin owns the boat. (1999)"
    of_one = local(INDEX, [], kinds=two, claims=claims)(about("d1"))
    assert [passage.node_id for passage in of_one if passage.node_kind == "claim"] == ["c2-0"]


def test_nearest_entities_depend_on_the_question() -> None:
    one = LocalSettings(n_entities=1)
    assert ids(local(INDEX, [], kinds=one, vector=Z)) == [ANN, "k1"]
    assert ids(local(INDEX, [], kinds=one, vector=Y)) == [LAMP, "r-1"]


def test_relationships_between_the_nearest_come_first_then_the_heaviest() -> None:
    two = LocalSettings(n_entities=2)
    assert ids(local(INDEX, [], kinds=two, vector=Y))[:4] == [LAMP, BOAT, "r-1", "r-0"]
    one, boat = LocalSettings(n_entities=1), np.array([0.6, 0.8, 0])
    assert ids(local(INDEX, [], kinds=one, vector=boat))[:3] == [BOAT, "r-0", "r-1"]
    weights = [{**row, "weight": 1.0} for row in INDEX.relationships.to_pylist()]
    weights[1]["weight"] = 5.0
    heavy = pa.Table.from_pylist(weights, INDEX.relationships.schema)
    index = replace(INDEX, relationships=heavy)
    assert ids(local(index, [], kinds=one, vector=boat))[:3] == [BOAT, "r-1", "r-0"]


def test_reports_on_most_of_the_nearest_come_first_then_the_best_rated() -> None:
    reports = INDEX.community_reports.to_pylist()
    reports[1]["rating"] = 9.0  # of Ann's community
    index = replace(
        INDEX, community_reports=pa.Table.from_pylist(reports, INDEX.community_reports.schema)
    )
    assert ids(local(index, []))[-2:] == ["k2", "k1"]  # two of the four nearest, one of them
    three = LocalSettings(n_entities=3)  # Ann, Boat and Lamp
    assert ids(local(index, [], kinds=three, vector=Z))[-2:] == ["k1", "k2"]
    assert ids(local(INDEX, [], kinds=three, vector=Z))[-2:] == ["k2", "k1"]


def test_local_question_about_a_document_stays_in_it() -> None:
    choose = local(INDEX, ["c0", "c1"])
    chosen = choose(about("d0"))
    assert [passage.node_id for passage in chosen] == [LIN, BOAT, "r-0", "k2", "c0", "c1"]
    other = local(INDEX, ["c2"])(about("d1"))
    assert [passage.node_id for passage in other] == [BOAT, ANN, LAMP, "r-1", "k1", "c2"]
    assert "Why, in d1." in other[4].text
    assert ids(choose, "d9") == ["c0", "c1"]  # what nothing is known of has its ranking alone


def test_local_answer_without_index_reads_the_chunks() -> None:
    assert ids(local(EMPTY, ["c1", "c0"])) == ["c1", "c0"]


def _town() -> tuple[Index, pa.Table]:
    """A hub with forty neighbours in two documents, split into reports, all of them long."""
    names = [f"leaf{i:02}" for i in range(40)]
    edges = [("hub", name) for name in names] + list(pairwise(names))
    given = graph(
        edges,
        descriptions={name: f"{name} is here. {LONG}" for name in ("hub", *names)},
        documents={name: f"d{i % 2}" for i, name in enumerate(names)},
    )
    found = communities(given.entities, given.relationships, CommunitySettings(max_size=5))
    reports = [
        {"community_id": i, "text": f"{title}. {LONG}", "title": title, "rating": 5.0}
        for i, title in mapped(found, "community_id", "title").items()
    ]
    findings = [
        {"community_id": i, "summary": f"{title} in {document}. {LONG}", "document_ids": [document]}
        for i, title in mapped(found, "community_id", "title").items()
        for document in ("d0", "d1")
    ]
    rng = np.random.default_rng(0)
    vectors = [
        {"kind": kind, "item_id": i, "embedding": vector / np.linalg.norm(vector)}
        for kind, ids in (
            ("entity", given.entities["entity_id"].to_pylist()),
            ("report", found["community_id"].to_pylist()),
        )
        for i, vector in zip(ids, rng.normal(size=(len(ids), 3)), strict=True)
    ]
    index = Index(
        given.entities,
        given.relationships,
        found,
        table_of_rows(TABLES["graphrag.community_reports"], reports),
        table_of_rows(TABLES["graphrag.findings"], findings),
        table_of_rows(TABLES["graphrag.embeddings"], vectors),
    )
    texts = [f"{text} {LONG}" for text in given.chunks["text"].to_pylist()]
    column = given.chunks.schema.get_field_index("text")
    return index, given.chunks.set_column(column, given.chunks.schema.field("text"), [texts])


INDEX_OF_TOWN, CHUNKS_OF_TOWN = _town()


def _town_choice(
    settings: AnswerSettings, document_id: str | None, kinds: LocalSettings = LOCAL
) -> Choose:
    best = [
        row["chunk_id"]
        for row in CHUNKS_OF_TOWN.to_pylist()
        if document_id in (None, row["document_id"])
    ]
    return local(INDEX_OF_TOWN, best, CHUNKS_OF_TOWN, settings, kinds=kinds)


def shares(
    prompt_tokens: int, kinds: LocalSettings, document_id: str | None = None
) -> dict[str, float]:
    """Of the room, what each kind of passage takes."""
    settings = AnswerSettings(prompt_tokens=prompt_tokens)
    room = answer_room(about(document_id), prompt_tokens, MAX_WORDS, n_word_pieces)
    taken: dict[str, float] = {}
    for passage in _town_choice(settings, document_id, kinds)(about(document_id)):
        size = n_word_pieces([passage.text])[0] + room.mark
        taken[passage.node_kind] = taken.get(passage.node_kind, 0) + size / room.tokens
    return taken


@pytest.mark.parametrize("document_id", [None, "d0"])
def test_every_kind_keeps_to_its_share(document_id: str | None) -> None:
    taken = shares(4000, LocalSettings(n_entities=20), document_id)
    largest = 150 / 3800  # a passage more would not fit
    assert 0.35 - largest < taken["entity"] + taken.get("relationship", 0) <= 0.35
    assert taken["report"] <= 0.15 + largest
    assert sum(taken.values()) <= 1
    assert taken["chunk"] > 0.5 - largest


def test_unused_share_goes_to_the_next_kind() -> None:
    few = shares(4000, LocalSettings(n_entities=1, share_reports=0))
    assert few["chunk"] > 0.5
    none = shares(4000, LocalSettings(share_chunks=1, share_reports=0))
    assert set(none) == {"chunk"}
    all_theirs = LocalSettings(share_chunks=0, share_reports=0, n_entities=40)
    assert shares(1500, all_theirs)["entity"] > 0.85


@pytest.mark.parametrize("prompt_tokens", [500, 1200, 8000])
@pytest.mark.parametrize("document_id", [None, "d0"])
def test_relevant_reports_fill_one_prompt(prompt_tokens: int, document_id: str | None) -> None:
    settings = AnswerSettings(prompt_tokens=prompt_tokens)
    choose = relevant(INDEX_OF_TOWN, settings)
    read = ids(choose, document_id)
    assert read
    assert prompts(choose, [about(document_id)])[0] <= prompt_tokens
    everything = ids(relevant(INDEX_OF_TOWN, AnswerSettings(prompt_tokens=100_000)), document_id)
    assert read == everything[: len(read)]
    assert sorted(everything) == sorted(
        report.community_id for report in INDEX_OF_TOWN.reports(None, document_id)
    )


def test_a_report_that_is_longer_than_the_prompt_is_read_alone() -> None:
    (row, *_) = INDEX.community_reports.to_pylist()
    long = pa.Table.from_pylist([row | {"text": LONG * 50}], INDEX.community_reports.schema)
    index = replace(INDEX, community_reports=long)
    assert ids(relevant(index, AnswerSettings(prompt_tokens=500))) == ["k0"]


@pytest.mark.parametrize("prompt_tokens", [500, 1200, 8000])
@pytest.mark.parametrize("document_id", [None, "d0"])
def test_local_prompts_are_never_too_long(prompt_tokens: int, document_id: str | None) -> None:
    settings = AnswerSettings(prompt_tokens=prompt_tokens)
    choose = _town_choice(settings, document_id, LocalSettings(n_entities=30))
    (length,) = prompts(choose, [about(document_id)])
    assert prompt_tokens - 300 < length <= prompt_tokens


def test_local_passages_keep_their_order_in_any_scope() -> None:
    model = Scripted(lambda request: "An answer.")
    for scope, best in ((None, ["c0", "c2"]), ("d0", ["c0", "c1"])):
        questions = queries({"q": "?"}, document_id=scope)
        rows = context_rows(questions, local(INDEX, best))
        answer_questions(questions, rows, model, MAX_WORDS)
        assert list(model.requests[-1].passages) == rows["text"].to_pylist()


def test_options_take_room_in_the_prompt() -> None:
    plain, longer = (
        answer_room(
            ABOUT_ALL | {"form": "choice", "options": [option, "No."]},
            SETTINGS.prompt_tokens,
            MAX_WORDS,
            n_word_pieces,
        )
        for option in ("Yes.", LONG)
    )
    added = n_word_pieces([LONG])[0] - n_word_pieces(["Yes."])[0]
    assert plain.tokens - longer.tokens == added
    assert replace(plain, tokens=0) == replace(longer, tokens=0)
