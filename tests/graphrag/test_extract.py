"""Extraction through a real server: items of each chunk, number of requests, and what is cached."""

import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.graphrag.extract import extract as extract_of
from gsum_assets.graphrag.extract import joined_windows
from gsum_assets.graphrag.prompts import example
from gsum_assets.graphrag.schemas import extraction_schema
from gsum_assets.graphrag.settings import ExtractionSettings
from gsum_assets.pipeline.result import Result
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import LanguageModel
from tests.evaluation.judges.scripted_judges import judging
from tests.gor.toy_documents import Scripted
from tests.graphrag.toys import tables_of
from tests.llm.embedders import WordEmbedder

Says = Callable[[str, int], str]
"""The reply about a chunk's text, in the n-th round."""
_LISTED = "\n\nThese entities and pairs of the passage are listed already:"


def chunkwise(**fields: Any) -> ExtractionSettings:
    """Settings by which each chunk is read alone."""
    return ExtractionSettings(passage_tokens=0, claims=fields.pop("claims", True), **fields)


ONCE = chunkwise(gleanings=0)


def chunks_of(*texts: str, per_document: int = 2) -> pa.Table:
    """Chunk `c0` of document `d0`, and so on."""
    rows, ends = [], [0]
    for i, text in enumerate(texts):
        start = ends[-1] + 1 if i % per_document else 0
        ends.append(start + len(text))
        rows.append(
            {"chunk_id": f"c{i}", "document_id": f"d{i // per_document}"}
            | {"position": i % per_document, "text": text, "start": start, "end": ends[-1]}
            | {"n_tokens": len(text.split())}
        )
    return pa.Table.from_pylist(rows)


def documents_of(chunks: pa.Table) -> pa.Table:
    """The documents of `chunks_of`, a line a chunk."""
    lines: dict[str, list[str]] = {}
    for row in chunks.sort_by("chunk_id").to_pylist():
        lines.setdefault(row["document_id"], []).append(row["text"])
    rows = [
        {"document_id": document_id, "title": f"Title of {document_id}", "text": "\n".join(texts)}
        for document_id, texts in lines.items()
    ]
    return pa.Table.from_pylist(rows)


def extract(chunks: pa.Table, model: LanguageModel, settings: ExtractionSettings) -> Result:
    return extract_of(chunks, documents_of(chunks), model, settings)


def entity(name: Any, kind: Any = "person", description: str = "") -> dict:
    return {"name": name, "type": kind, "description": description or f"{name} is there."[:60]}


def related(source: str, target: str, description: str = "They met.") -> dict:
    return {"source": source, "target": target, "description": description}


def claim(subject: str, description: str, **fields: str) -> dict:
    return {"subject": subject, "description": description} | fields


def reply(entities: Sequence[dict] = (), related: Sequence[dict] = (), **more: Any) -> str:
    lists = {"entities": entities, "relationships": related} | more
    return json.dumps(lists, ensure_ascii=False)


def speaking(says: Says, received: list[dict] | None = None) -> Callable[[dict], str]:
    """Return the server's reply to a body, appended to `received`; re-asks count as rounds."""
    n_requests: Counter[str] = Counter()

    def said(body: dict) -> str:
        text = body["messages"][1]["content"].removeprefix("[1]\n").partition(_LISTED)[0]
        text = text.removesuffix(unlisted(""))
        n_requests[text] += 1
        if received is not None:
            received.append(body)
        return says(text, n_requests[text] - 1)

    return said


def unlisted(text: str) -> str:
    """A text with a name that no reply lists, so that a gleaning is due."""
    return f"{text} and Bernt Aas"


def names_in(found: Result, chunk: str, table: str = "entity_mentions", column: str = "name"):
    return [row[column] for row in tables_of(found)[table].to_pylist() if row["chunk_id"] == chunk]


GOOD = reply(
    [entity("Lin"), entity("Boat", "thing")],
    [related("Lin", "Boat", "Lin owns the boat.")],
    claims=[claim("Lin", "Lin paid for the boat.", object="Boat", status="true")],
)


def test_one_chunk_fills_four_tables(tmp_path: Path) -> None:
    said = reply(
        [entity("**Dr Lin**", description="A doctor.\nOf York."), entity("Tall Ship", "THING ")],
        [related("dr lin", "York")],
        claims=[
            claim("Dr Lin", "Lin\npaid.", object="Tall Ship", status="true", type="Payment"),
            claim("Ann", "Ann lied.", object="-", start_date=" 1901 "),
            claim("Ann", "Ann lied."),
        ],
    )
    with judging(tmp_path, speaking(lambda text, nth: said)) as (model, _):
        found = extract(chunks_of("DR LIN came to Yorkshire."), model, ONCE)
    assert found.failures == []
    own = {"chunk_id": "c0", "document_id": "d0", "round": 0, "model": "judge"}
    (first, *others) = found.beside["entity_mentions"].to_pylist()
    assert first == own | {
        "position": 0,
        "name": "Dr Lin",
        "name_key": "dr lin",
        "type": "person",
    } | {"description": "A doctor. Of York.", "is_verbatim": True}
    assert [(row["name"], row["type"], row["is_verbatim"]) for row in others] == [
        ("Tall Ship", "thing", False),
        ("York", "", False),  # named by a relationship alone
        ("Ann", "", False),  # by a claim alone
    ]
    assert found.beside["relationship_mentions"].to_pylist() == [
        own
        | {"position": 0, "source_key": "dr lin", "target_key": "york", "source_type": "person"}
        | {"target_type": "", "description": "They met.", "strength": 1}  # it is not requested
    ]
    paid, lied = found.beside["claims"].to_pylist()
    columns = ("description", "object_key", "type", "status", "start_date", "end_date", "quote")
    assert [paid[name] for name in columns[:4]] == ["Lin paid.", "tall ship", "payment", "true"]
    assert [lied[name] for name in columns[1:]] == [None, "", "suspected", "1901", None, ""]
    (extraction,) = found.rows.to_pylist()
    assert extraction["n_rounds"] == extraction["calls"] == 1
    counts = [extraction[f"n_{name}"] for name in ("entities", "relationships", "claims")]
    assert (counts, extraction["tokens_out"] > 50) == ([4, 1, 2], True)


def test_duplicates_within_a_reply_are_merged_unless_homonyms(tmp_path: Path) -> None:
    said = reply(
        [
            *(entity("Lin", description="A doctor."), entity("LIN", "thing", "Rich.")),
            *(entity("Lin", "place", "A town."), entity("Ann")),
        ],
        [related("Lin", "Ann", "They met."), related("ann", "lin", "They fought.")],
    )
    with judging(tmp_path, speaking(lambda text, nth: said)) as (model, _):
        found = extract(chunks_of("Lin"), model, ONCE)
    mentions = found.beside["entity_mentions"].select(["name", "type", "description"])
    assert [tuple(row.values()) for row in mentions.to_pylist()][:2] == [
        ("Lin", "person", "A doctor. Rich."),
        ("Lin", "place", "A town."),
    ]
    (one,) = found.beside["relationship_mentions"].to_pylist()
    assert (one["source_key"], one["source_type"], one["target_key"]) == ("lin", "person", "ann")
    assert one["description"] == "They met. They fought."


def test_valid_items_of_a_malformed_reply_are_kept(tmp_path: Path) -> None:
    malformed = {  # `tests/llm` has more
        "prose": ("I cannot do that.", [], "holds no JSON.*nothing of it could be used"),
        "cut off": (GOOD[: GOOD.index("relationships")], ["Lin", "Boat"], "is cut off"),
        "loop": (reply([entity("Lin")], [related("Lin", "lin")]), ["Lin"], "related to itself"),
    }
    texts = ["good", *malformed]
    says = speaking(lambda text, nth: malformed.get(text, (GOOD,))[0])
    with judging(tmp_path, says, max_repairs=1) as (model, _):
        found = extract(chunks_of(*texts), model, ONCE)
    assert names_in(found, "c0") == ["Lin", "Boat"]
    for n, (_, names, pattern) in enumerate(malformed.values(), start=1):
        assert names_in(found, f"c{n}") == names
        (problem,) = names_in(found, f"c{n}", "extractions", "problems")
        assert found.failures[n - 1] == f"document 'd{n // 2}', chunk 'c{n}': {problem[0]}"
        assert re.search(pattern, problem[0])
        assert names_in(found, f"c{n}", "extractions", "n_rounds") == [0]
        assert names_in(found, f"c{n}", "extractions", "calls") == [2]


def rounds(*replies: str) -> Says:
    """Return these replies in turn; after the last, a request misses nothing."""
    return lambda text, nth: replies[nth] if nth < len(replies) else NOTHING


NOTHING = reply()
MISSED = reply([entity("LIN", description="New words."), entity("Ann")], [related("Ann", "Lin")])


def test_gleanings_add_new_items_with_their_round(tmp_path: Path) -> None:
    received: list[dict] = []
    says = rounds(GOOD, MISSED, reply([entity("Bo")], claims=[claim("Bo", "Bo lied.")]))
    with judging(tmp_path, speaking(says, received), max_repairs=0) as (model, _):
        found = extract(chunks_of(unlisted("Lin")), model, chunkwise(gleanings=2))
    named = [(row["name"], row["round"]) for row in found.beside["entity_mentions"].to_pylist()]
    assert named == [("Lin", 0), ("Boat", 0), ("Ann", 1), ("Bo", 2)]
    assert names_in(found, "c0", column="description")[0] == "Lin is there."
    rounds_of = [names_in(found, "c0", t, "round") for t in ("relationship_mentions", "claims")]
    assert rounds_of == [[0, 1], [0, 2]]
    assert (found.rows["n_rounds"].to_pylist(), found.rows["calls"].to_pylist()) == ([3], [3])
    shown = [body["messages"][1]["content"] for body in received]
    assert "- Lin" not in shown[0]
    # a gleaning continues the first request, so that a server may keep what it read
    assert len({body["messages"][0]["content"] for body in received}) == 1
    assert all(text.startswith(shown[0]) for text in shown)
    assert "\n- Lin\n- Boat\n" in shown[1]
    assert "\n- Lin\n- Boat\n- Ann\n" in shown[2]
    assert "\n- Lin / Boat\n" in shown[1]
    assert all("which are not listed:\n- Bernt Aas\n" in text for text in shown[1:])


# gleanings, the requested replies, and how many names they add
GLEANINGS = [
    (0, [GOOD], 2),
    (1, [GOOD, MISSED], 3),
    (3, [GOOD, NOTHING], 2),
    (3, [GOOD, GOOD], 2),
    (3, [GOOD, MISSED, MISSED], 3),
    (1, [GOOD, reply([], [related("Lin", "Oar")])], 3),
    (3, [NOTHING], 0),
    (3, [GOOD, "I cannot do that."], 2),
    (3, [GOOD, reply([entity("Ann"), entity("")])], 3),
    (3, ["no"], 0),
]


def test_gleaning_ends_at_an_empty_or_malformed_reply(tmp_path: Path) -> None:
    says = {str(i): rounds(*replies) for i, (_, replies, _) in enumerate(GLEANINGS)}
    speaker = speaking(lambda text, nth: says[text](text, nth))
    with judging(tmp_path, speaker, max_repairs=0) as (model, server):
        for i, (gleanings, replies, n_names) in enumerate(GLEANINGS):
            before = len(server.lines())
            settings = chunkwise(gleanings=gleanings)
            found = extract(chunks_of(unlisted(str(i))), model, settings)
            assert len(server.lines()) - before == len(replies), i
            assert len(names_in(found, "c0")) == n_names, i


LISTED = (
    ("Lin met Ann.", False),  # both are listed, "Lin" within "Dr Lin"
    ("Lin met Ann in March. Oh, Good Heavens, no.", False),
    ("Lin met Bo.", False),  # a single word in a single sentence may be none
    ("Lin met Bo. Then Ann and Bo left.", True),
    ("Lin met Ann at Quarry Landing.", True),
    ("李雷和韩梅梅在北京见面。", True),  # rules find no names in a script without capitals
)


@pytest.mark.parametrize(("text", "is_due"), LISTED)
def test_gleaning_is_sent_where_a_name_is_missing(tmp_path: Path, text: str, is_due: bool) -> None:
    said = reply([entity("Dr Lin"), entity("Ann")])
    with judging(tmp_path, speaking(rounds(said))) as (model, server):
        found = extract(chunks_of(text), model, ExtractionSettings())
        assert len(server.lines()) == 1 + is_due
    assert found.rows["calls"].to_pylist() == [1 + is_due]


PARTS = (
    "Marit: I bought the Paper Heron. It leaks.",
    "Ines told her so.\nInes: Teo warned Marit of the hull.",
    "Teo: I did, and Ines laughed at the harbour.",
)


def test_items_of_a_window_are_assigned_to_the_chunks_that_name_them(tmp_path: Path) -> None:
    said = reply(
        [
            *(entity(name) for name in ("Marit", "Ines", "Teo")),
            entity("Paper Heron", "thing", "A boat that leaks."),
            entity("the leaking hull", "concept", "Teo warned Marit of the hull."),
        ],
        [
            related("Teo", "Ines", "Ines laughed at him."),
            related("Marit", "Teo", "Teo warned Marit of the hull."),
            related("Paper Heron", "Teo", "He warned of its hull."),
        ],
        claims=[claim("Teo", "Teo warned Marit of the hull.", object="Marit")],
    )
    received: list[dict] = []
    settings = ExtractionSettings(gleanings=0, claims=True)
    with judging(tmp_path, lambda body: received.append(body) or said) as (model, _):
        found = extract(chunks_of(*PARTS, per_document=3)[::-1], model, settings)
    (body,) = received
    assert body["messages"][1]["content"] == (
        "[1] Title of d0; speakers: Marit, Ines, Teo\n" + "\n".join(PARTS)
    )
    assert names_in(found, "c0") == ["Marit", "Paper Heron"]
    assert names_in(found, "c1") == ["Marit", "Ines", "Teo", "the leaking hull", "Paper Heron"]
    assert names_in(found, "c2") == ["Ines", "Teo"]
    verbatim = names_in(found, "c1", column="is_verbatim")
    assert verbatim == [True, True, True, False, False]
    columns = ("source_key", "target_key")
    pairs = {
        (row["chunk_id"], *(row[column] for column in columns))
        for row in found.beside["relationship_mentions"].to_pylist()
    }
    assert pairs == {
        ("c1", "teo", "ines"),
        ("c2", "teo", "ines"),
        ("c1", "marit", "teo"),
        ("c1", "paper heron", "teo"),  # no chunk names both: the one that is worded most alike
    }
    assert names_in(found, "c1", "claims", "subject_key") == ["teo"]
    assert found.beside["claims"].num_rows == 1
    # the first chunk has what the request cost, all have its rounds
    assert found.rows["calls"].to_pylist() == [1, 0, 0]
    assert found.rows["n_rounds"].to_pylist() == [1, 1, 1]


@pytest.mark.parametrize("context", [None, 2048, 2600, 4096])
def test_windows_leave_room_for_their_replies(context: int | None) -> None:
    words = "The harbour master wrote to the clerk of the orchard about the lamp. "
    model, window = Scripted(lambda request: NOTHING), Window("m", n_word_pieces, context)
    model.window = window  # type: ignore[attr-defined]
    chunks = chunks_of(*[words * 18] * 12, per_document=12)  # of 250 word pieces
    chunks = chunks.set_column(
        chunks.column_names.index("n_tokens"),
        "n_tokens",
        pa.array(n_word_pieces(chunks["text"].to_pylist())),
    )
    extract(chunks, model, ExtractionSettings(gleanings=0))
    assert {window.excess(request) for request in model.requests} == {""}
    n_requests = len(model.requests)
    assert n_requests == 12 if context == 2048 else n_requests < 12


def test_windows_hold_the_text_between_their_chunks_once() -> None:
    text = " ".join(f"word{n}" for n in range(40))
    starts = [0, 60, 120, 180]
    chunks = [
        {"chunk_id": f"c{i}", "document_id": "d", "start": start, "end": min(start + 80, len(text))}
        for i, start in enumerate(starts)
    ]
    rows = [{**row, "text": text[row["start"] : row["end"]]} for row in chunks]
    documents = pa.table({"document_id": ["d"], "title": ["T"], "text": [text]})

    def count(texts: Sequence[str]) -> list[int]:
        return [len(one) for one in texts]

    for most, expected in ((10**6, [4]), (201, [3, 1]), (141, [2, 2]), (1, [1, 1, 1, 1])):
        windows = list(joined_windows(rows, documents, most, count))
        assert [len(window.chunks) for window in windows] == expected
        for window in windows:
            assert window.text == text[window.chunks[0]["start"] : window.chunks[-1]["end"]]
            assert len(window.chunks) == 1 or len(window.text) < most
            assert window.label == "T"


def test_windows_say_who_speaks_where_they_begin() -> None:
    text = "Ann: One. Two.\nBo: Three. Four."
    documents = pa.table({"document_id": ["d"], "title": ["T"], "text": [text]})
    rows = [
        {"chunk_id": "c", "document_id": "d", "start": start, "end": len(text), "text": "x"}
        for start in (0, text.index("Two"), text.index("Bo"), text.index("Four"))
    ]
    labels = [
        window.label
        for row in rows
        for window in joined_windows([row], documents, 99, lambda texts: [1] * len(texts))
    ]
    everyone = "T; speakers: Ann, Bo"
    assert labels == [
        everyone,
        f"{everyone}; it begins while Ann speaks",
        everyone,
        f"{everyone}; it begins while Bo speaks",
    ]


def test_settings_decide_what_is_requested(tmp_path: Path) -> None:
    received: list[dict] = []
    settings = ExtractionSettings(entity_types=["boat", "{oar}"], claims=False, gleanings=0)
    said = reply([entity("Lin", "boat"), entity("Ann", "dog")], claims=[claim("Lin", "so")])
    with judging(tmp_path, speaking(lambda text, nth: said, received)) as (model, _):
        found = extract(chunks_of("Lin"), model, settings)
    assert names_in(found, "c0", column="type") == ["boat", "other"]
    assert found.beside["claims"].num_rows == 0
    assert "boat, {oar}, other" in received[0]["messages"][0]["content"]
    schema = received[0]["response_format"]["json_schema"]["schema"]
    assert "claims" not in schema["properties"]
    assert schema["$defs"]["Entity"]["properties"]["type"]["enum"] == ["boat", "{oar}", "other"]


SAMPLE = (
    "Captain Ines Moor bought the steel boat from Dov Aldous in Vessen Harbour. "
    "Dov Aldous told Ines Moor that the boat was sound, and the Harbour Committee agreed. "
    "Ines Moor sailed the boat from Vessen Harbour to Sallowby in March. "
    "In Sallowby the Harbour Committee accused Dov Aldous of fraud."
)


def test_embedded_model_fills_all_four_tables() -> None:
    model: LanguageModel = ExtractiveModel(WordEmbedder())
    found = extract(chunks_of(SAMPLE, "Um.", ""), model, ExtractionSettings())
    assert all(table.num_rows for table in tables_of(found).values())
    assert {"Ines Moor", "Dov Aldous", "Sallowby"} <= set(names_in(found, "c0"))
    assert all(found.beside["entity_mentions"]["is_verbatim"].to_pylist())
    # a gleaning would repeat the first reply
    assert names_in(found, "c0", "extractions", "n_rounds") == [1]
    (problem,) = found.failures
    assert "c1" in problem


@pytest.mark.parametrize("claims", [True, False])
def test_example_is_valid_and_uses_allowed_types(claims: bool) -> None:
    for types in (tuple(ExtractionSettings().entity_types), ("boat",)):
        schema: Any = extraction_schema(types, claims)
        found = schema.model_validate_json(example([*types, "other"], "other", claims))
        assert {one.type for one in found.entities} <= {*types, "other"}
        assert {one.type for one in found.entities} != {"other"} or types == ("boat",)
        assert bool(getattr(found, "claims", ())) is claims
