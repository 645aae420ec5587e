"""Contexts of answers are in scope, in a stable order, and fit the prompt."""

from dataclasses import replace
from functools import cache, partial
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.answer import answer_questions, answer_request
from gsum_assets.evaluation.passages import Choose, Passage, context_rows
from gsum_assets.graphrag import contexts
from gsum_assets.graphrag.communities import communities
from gsum_assets.graphrag.contexts import (
    AnswerPrompt,
    Neighbourhood,
    all_chunks,
    all_reports,
    around,
    nearest_chunks,
    relevant_reports,
    reports_or,
)
from gsum_assets.graphrag.elements import chunk_of_claim
from gsum_assets.graphrag.rank import Index
from gsum_assets.graphrag.settings import CommunitySettings
from gsum_assets.pipeline.tables import TABLES
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted
from tests.graphrag.harbour import (
    ALIASES,
    ANN,
    BOAT,
    CHUNK_TABLE,
    CLAIMS,
    EMPTY,
    INDEX,
    LAMP,
    LIN,
    rankings,
    table_of_rows,
)
from tests.graphrag.toys import graph, mapped, prompt_length

NO_CLAIMS = TABLES["graphrag.claims"].empty()
NAMES = table_of_rows(TABLES["graphrag.aliases"], ALIASES)
MAX_WORDS = 120
PROMPT = AnswerPrompt(8000, MAX_WORDS)
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


def test_all_reports_of_the_scope_are_read() -> None:
    choose = all_reports(INDEX, 0)  # `test_rank.py` has the scopes
    assert sorted(ids(choose)) == ["k0", "k1"]
    assert ids(choose, "d0") == ["k0"]


def relevant(index: Index, prompt: AnswerPrompt = PROMPT, vector: np.ndarray = X) -> Choose:
    return relevant_reports(index, {"q": vector}, prompt)


def test_the_most_similar_reports_of_any_level_are_read() -> None:
    assert ids(relevant(INDEX)) == ["k2", "k0", "k1"]
    assert ids(relevant(INDEX, vector=Y)) == ["k0", "k1", "k2"]  # ties by id
    assert ids(relevant(INDEX, vector=Z)) == ["k1", "k0", "k2"]
    assert [round(report.score, 6) for report in relevant(INDEX)(ABOUT_ALL)] == [1.0, 0.6, 0.0]
    assert ids(relevant(INDEX), "d0") == ["k2", "k0"]
    assert ids(relevant(INDEX), "d1") == ["k0", "k1"]  # no finding of k2 is from it
    assert "Finding 0" not in relevant(INDEX)(about("d1"))[0].text
    (row, *_) = INDEX.community_reports.to_pylist()
    long = pa.Table.from_pylist([row | {"text": LONG * 50}], INDEX.community_reports.schema)
    index = replace(INDEX, community_reports=long)
    assert ids(relevant(index, AnswerPrompt(500, MAX_WORDS))) == ["k0"]  # it is cut for its map


def test_without_a_report_of_the_scope_others_are_read() -> None:
    lost = replace(INDEX, community_reports=EMPTY.community_reports, findings=EMPTY.findings)
    for reports in (relevant, lambda index: all_reports(index, 0)):

        def read(index: Index, document_id: str | None = None, reports=reports) -> list[str]:
            chunk = Passage("c", "chunk", "It leaked.")
            return ids(reports_or(index, reports(index), lambda: lambda _: [chunk]), document_id)

        assert "c" not in read(INDEX)
        assert read(INDEX, "d9") == read(EMPTY) == ["c"]
        assert read(lost) == []  # all reports failed


def _chunks(n: int) -> pa.Table:
    rows = [
        {"chunk_id": f"c{i:02}", "document_id": f"d{i % 2}", "position": i, "text": f"{i}. {LONG}"}
        for i in range(n)
    ]
    return table_of_rows(TABLES["chunks"], rows)


def test_chunks_are_shuffled_and_new_ones_move_none() -> None:
    shuffled = ids(all_chunks(_chunks(40)))
    assert sorted(shuffled) == [f"c{i:02}" for i in range(40)] != shuffled
    assert ids(all_chunks(_chunks(40)[::-1])) == shuffled
    more = ids(all_chunks(_chunks(41)))
    assert [chunk for chunk in more if chunk != "c40"] == shuffled
    of_one = [chunk for chunk in shuffled if int(chunk[1:]) % 2]
    assert ids(all_chunks(_chunks(40)), "d1") == of_one


@pytest.mark.parametrize("prompt_tokens", [500, 1000, 1777])
def test_nearest_chunks_fill_the_prompt(prompt_tokens: int) -> None:
    order = [f"c{i:02}" for i in range(39, -1, -1)]
    prompt = AnswerPrompt(prompt_tokens, MAX_WORDS)
    chunks = _chunks(40)
    found = rankings({"q": order})
    choose = nearest_chunks(found, chunks, prompt)
    chosen = choose(ABOUT_ALL)
    assert [passage.node_id for passage in chosen] == order[: len(chosen)]
    assert 0 < len(chosen) < 40
    assert prompts(choose, [ABOUT_ALL])[0] <= prompt_tokens
    more = tuple(passage.text for passage in chosen) + (f"0. {LONG}",) * 2
    assert prompt_length(answer_request(ABOUT_ALL, more, MAX_WORDS)) > prompt_tokens
    assert ids(nearest_chunks(rankings({}), chunks, prompt)) == []


def local(
    index: Index,
    best: list[str],
    chunks: pa.Table = CHUNK_TABLE,
    prompt: AnswerPrompt = PROMPT,
    vector: np.ndarray = X,
    n_entities: int = 10,
    claims: pa.Table = NO_CLAIMS,
) -> Choose:
    known = cache(partial(Neighbourhood, index, chunks, claims, NAMES))
    return around(known, rankings({"q": best}), chunks, {"q": vector}, n_entities, prompt)


def test_a_local_answer_reads_entities_then_relationships_reports_and_chunks() -> None:
    chosen = local(INDEX, ["c1", "c0", "c2"], n_entities=2)(ABOUT_ALL)
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
    texts = ["Lin (person):\nAbout Lin.", "Lin and Boat:\nOne has the other."]
    assert [passage.text for passage in chosen[:3:2]] == texts
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
    chosen = local(INDEX, [], n_entities=2, claims=claims)(ABOUT_ALL)
    order = [LIN, BOAT, "r-0", "c1-0", "r-1", "c2-0", "c1-1", "k2"]
    assert [passage.node_id for passage in chosen] == order
    claimed = [passage.node_id for passage in chosen if passage.node_kind == "claim"]
    assert list(map(chunk_of_claim, claimed)) == ["c1", "c2", "c1"]
    assert chosen[3].text == "Claim about Lin:\nLin owns the boat. (1999)"
    of_one = local(INDEX, [], n_entities=2, claims=claims)(about("d1"))
    assert [passage.node_id for passage in of_one if passage.node_kind == "claim"] == ["c2-0"]


def test_relationships_between_the_nearest_come_first_then_the_heaviest() -> None:
    assert ids(local(INDEX, [], n_entities=2, vector=Y))[:4] == [LAMP, BOAT, "r-1", "r-0"]
    boat = np.array([0.6, 0.8, 0])
    assert ids(local(INDEX, [], n_entities=1, vector=boat))[:3] == [BOAT, "r-0", "r-1"]
    weights = [{**row, "weight": 1.0} for row in INDEX.relationships.to_pylist()]
    weights[1]["weight"] = 5.0
    heavy = pa.Table.from_pylist(weights, INDEX.relationships.schema)
    index = replace(INDEX, relationships=heavy)
    assert ids(local(index, [], n_entities=1, vector=boat))[:3] == [BOAT, "r-1", "r-0"]


def test_reports_on_most_of_the_nearest_come_first_then_the_best_rated() -> None:
    reports = INDEX.community_reports.to_pylist()
    reports[1]["rating"] = 9.0  # of Ann's community
    index = replace(
        INDEX, community_reports=pa.Table.from_pylist(reports, INDEX.community_reports.schema)
    )
    assert ids(local(index, []))[-2:] == ["k2", "k1"]  # two of the four nearest, one of them
    assert ids(local(index, [], n_entities=3, vector=Z))[-2:] == ["k1", "k2"]
    assert ids(local(INDEX, [], n_entities=3, vector=Z))[-2:] == ["k2", "k1"]


def test_local_question_about_a_document_stays_in_it() -> None:
    choose = local(INDEX, ["c0", "c1"])
    chosen = choose(about("d0"))
    assert [passage.node_id for passage in chosen] == [LIN, BOAT, "r-0", "k2", "c0", "c1"]
    other = local(INDEX, ["c2"])(about("d1"))
    assert [passage.node_id for passage in other] == [BOAT, ANN, LAMP, "r-1", "k1", "c2"]
    assert "Why, in d1." in other[4].text
    assert ids(choose, "d9") == ["c0", "c1"]  # what nothing is known of has its ranking alone
    assert ids(local(EMPTY, ["c1", "c0"])) == ["c1", "c0"]


def _town() -> tuple[Index, pa.Table]:
    """A hub with forty neighbours in two documents, split into reports, all of them long."""
    names = [f"leaf{i:02}" for i in range(40)]
    given = graph(
        [("hub", name) for name in names] + list(pairwise(names)),
        descriptions={name: f"{name} is here. {LONG}" for name in ("hub", *names)},
        documents={name: f"d{i % 2}" for i, name in enumerate(names)},
    )
    found = communities(given.entities, given.relationships, CommunitySettings(max_size=5))
    titles = mapped(found, "community_id", "title")
    reports = [
        {"community_id": i, "text": f"{title}. {LONG}", "title": title, "rating": 5.0}
        for i, title in titles.items()
    ]
    findings = [
        {"community_id": i, "summary": f"{title} in {document}. {LONG}", "document_ids": [document]}
        for i, title in titles.items()
        for document in ("d0", "d1")
    ]
    rng = np.random.default_rng(0)
    items = [("entity", i) for i in given.entities["entity_id"].to_pylist()]
    items += [("report", i) for i in titles]
    vectors = [
        {"kind": kind, "item_id": i, "embedding": vector / np.linalg.norm(vector)}
        for (kind, i), vector in zip(items, rng.normal(size=(len(items), 3)), strict=True)
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


def _town_choice(prompt: AnswerPrompt, document_id: str | None, n_entities: int = 10) -> Choose:
    documents = mapped(CHUNKS_OF_TOWN, "chunk_id", "document_id")
    best = [chunk for chunk, document in documents.items() if document_id in (None, document)]
    return local(INDEX_OF_TOWN, best, CHUNKS_OF_TOWN, prompt, n_entities=n_entities)


def shares(prompt_tokens: int, n_entities: int, document_id: str | None = None) -> dict[str, float]:
    """Of the room, what each kind of passage takes."""
    prompt = AnswerPrompt(prompt_tokens, MAX_WORDS)
    room = prompt.room(about(document_id))
    taken: dict[str, float] = {}
    for passage in _town_choice(prompt, document_id, n_entities)(about(document_id)):
        size = n_word_pieces([passage.text])[0] + room.mark
        taken[passage.node_kind] = taken.get(passage.node_kind, 0) + size / room.tokens
    return taken


@pytest.mark.parametrize("document_id", [None, "d0"])
def test_every_kind_keeps_to_its_share(document_id: str | None) -> None:
    taken = shares(4000, 20, document_id)
    largest = 150 / 3800  # a passage more would not fit
    assert 0.35 - largest < taken["entity"] + taken.get("relationship", 0) <= 0.35
    assert taken["report"] <= 0.15 + largest
    assert sum(taken.values()) <= 1
    assert taken["chunk"] > 0.5 - largest


def test_unused_share_goes_to_the_next_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(contexts, "SHARE_REPORTS", 0)
    assert shares(4000, 1)["chunk"] > 0.5
    monkeypatch.setattr(contexts, "SHARE_CHUNKS", 1)
    assert set(shares(4000, 10)) == {"chunk"}
    monkeypatch.setattr(contexts, "SHARE_CHUNKS", 0)
    assert shares(1500, 40)["entity"] > 0.85


@pytest.mark.parametrize("prompt_tokens", [500, 1200, 8000])
@pytest.mark.parametrize("document_id", [None, "d0"])
def test_relevant_reports_fill_one_prompt(prompt_tokens: int, document_id: str | None) -> None:
    prompt = AnswerPrompt(prompt_tokens, MAX_WORDS)
    choose = relevant(INDEX_OF_TOWN, prompt)
    read = ids(choose, document_id)
    assert read
    assert prompts(choose, [about(document_id)])[0] <= prompt_tokens
    everything = ids(relevant(INDEX_OF_TOWN, AnswerPrompt(100_000, MAX_WORDS)), document_id)
    assert read == everything[: len(read)]
    assert sorted(everything) == sorted(
        report.node_id for report in INDEX_OF_TOWN.reports(None, document_id)
    )


@pytest.mark.parametrize("prompt_tokens", [500, 1200, 8000])
@pytest.mark.parametrize("document_id", [None, "d0"])
def test_local_prompts_are_never_too_long(prompt_tokens: int, document_id: str | None) -> None:
    prompt = AnswerPrompt(prompt_tokens, MAX_WORDS)
    choose = _town_choice(prompt, document_id, 30)
    (length,) = prompts(choose, [about(document_id)])
    assert prompt_tokens - 300 < length <= prompt_tokens
