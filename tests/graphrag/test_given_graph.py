"""A graph from Parquet files is located in chunks by its rows, or by names in the text."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given as given_by
from hypothesis import strategies as st

from gsum_assets.corpus.names import holds, name_key, texts_holding
from gsum_assets.graphrag.given_graph import Given, extracted_from, read_given
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.result import Result
from gsum_resources.store.arrow import pc
from tests.graphrag.toys import tables_of

ENTITIES = [
    {"title": "LIN", "type": "PERSON", "description": "Runs the ferry."},
    {"title": "The Boat", "type": "thing", "description": "Leaks."},
    {"title": "Ann", "type": "person", "description": "A clerk."},
]
RELATIONSHIPS = [
    {"source": "LIN", "target": "The Boat", "description": "Lin mends it.", "weight": 7.0}
]
IDS = pa.list_(pa.binary())
SCHEMA = pa.schema(  # bytes that need not be UTF-8
    [(name, pa.binary()) for name in ENTITIES[0]] + [("text_unit_ids", IDS), ("document_ids", IDS)]
)
TEXTS = {
    "d0": ["Lin mended the boat.", "Ann and Annabel met Lin."],
    "d1": ["The boat leaks; Lin's brother, the boatman, swims."],
    "d2": ["Nothing."],
}


def chunk_of(document_id: str, position: int) -> str:
    return f"c{document_id.encode().hex():0>18}{position:02x}"


def chunks_of(texts: dict[str, list[str]]) -> pa.Table:
    rows = []
    for document, own in texts.items():
        end = 0
        for n, text in enumerate(own):
            row = {"chunk_id": chunk_of(document, n), "document_id": document, "position": n}
            rows.append({**row, "text": text, "start": end, "end": end + len(text)})
            end += len(text) + 1
    return pa.Table.from_pylist(rows)


def put(
    folder: Path, entities: pa.Table | list[dict], relationships: pa.Table | list[dict]
) -> Path:
    (folder / "graph").mkdir(exist_ok=True)
    for name, rows in (("entities", entities), ("relationships", relationships)):
        table = pa.Table.from_pylist(rows) if isinstance(rows, list) else rows
        pq.write_table(table, folder / "graph" / f"{name}.parquet")
    return folder


def graph_in(folder: Path) -> Given:
    found = read_given(folder)
    assert found is not None
    return found


def mentions(found: Result) -> set[tuple[str, str]]:
    rows = found.beside["entity_mentions"].to_pylist()
    return {(row["chunk_id"], row["name_key"]) for row in rows}


def locations(found: Result) -> set[tuple[str, str, str]]:
    rows = found.beside["relationship_mentions"].to_pylist()
    return {(row["chunk_id"], row["source_key"], row["target_key"]) for row in rows}


def test_package_output_is_located_by_name(tmp_path: Path) -> None:
    theirs = {"id": "9", "human_readable_id": 3, "text_unit_ids": ["ab" * 64], "degree": 2}
    put(tmp_path, [e | theirs for e in ENTITIES], [r | theirs for r in RELATIONSHIPS])
    found = extracted_from(graph_in(tmp_path), chunks_of(TEXTS))
    first, second, third = chunk_of("d0", 0), chunk_of("d0", 1), chunk_of("d1", 0)
    assert found.failures == []
    named = {first: ("lin", "the boat"), second: ("ann", "lin"), third: ("lin", "the boat")}
    assert mentions(found) == {(chunk, key) for chunk, keys in named.items() for key in keys}
    assert locations(found) == {(first, "lin", "the boat"), (third, "lin", "the boat")}
    assert found.beside["entity_mentions"].to_pylist()[0] == {
        **{"chunk_id": first, "document_id": "d0", "position": 0, "round": 0, "name": "LIN"},
        **{"name_key": "lin", "type": "person", "description": "Runs the ferry."},
        **{"is_verbatim": True, "model": ""},
    }
    assert set(found.beside["relationship_mentions"]["strength"].to_pylist()) == {7}
    assert found.beside["claims"].num_rows == 0
    extractions = found.rows.to_pylist()
    counts = [(row["n_entities"], row["n_relationships"]) for row in extractions]
    assert counts == [(2, 1), (2, 0), (2, 1), (0, 0)]
    spent = {(row["n_rounds"], row["model"], row["calls"], *row["problems"]) for row in extractions}
    assert spent == {(0, "", 0)}


def test_rows_of_one_name_are_combined_in_any_order(tmp_path: Path) -> None:
    entities = [*ENTITIES, {"title": "Lin", "type": "", "description": "Swims."}]
    ends = {"source": "the boat", "target": "lin"}
    backwards = ends | {"description": "It carries Lin.", "weight": 2.0}
    relationships = [*RELATIONSHIPS, backwards]
    put(tmp_path, entities, relationships)
    found = extracted_from(graph_in(tmp_path), chunks_of(TEXTS))
    lins = [row for row in found.beside["entity_mentions"].to_pylist() if row["name_key"] == "lin"]
    described = {(row["type"], row["description"]) for row in lins}
    assert described == {("person", "Runs the ferry. Swims.")}
    pairs = found.beside["relationship_mentions"].to_pylist()
    assert {r["description"] for r in pairs} == {"It carries Lin. Lin mends it."}
    put(tmp_path, entities[::-1], relationships[::-1])
    again = extracted_from(graph_in(tmp_path), chunks_of(TEXTS)[::-1])
    assert tables_of(again) == tables_of(found)


def test_ids_of_our_chunks_limit_the_location(tmp_path: Path) -> None:
    here = {"text_unit_ids": [chunk_of("d2", 0), "ab" * 64]}
    put(tmp_path, [ENTITIES[0] | here, *ENTITIES[1:]], [RELATIONSHIPS[0] | here])
    found = extracted_from(graph_in(tmp_path), chunks_of(TEXTS))
    nothing = chunk_of("d2", 0)
    assert {chunk for chunk, key in mentions(found) if key == "lin"} == {nothing}
    assert locations(found) == {(nothing, "lin", "the boat")}
    assert (nothing, "the boat") in mentions(found)  # the end of that message
    rows = found.beside["entity_mentions"].to_pylist()
    assert {r["is_verbatim"] for r in rows if r["chunk_id"] == nothing} == {False}
    assert {r["description"] for r in rows if r["name_key"] == "the boat"} == {"Leaks."}


def test_homonyms_are_located_by_their_rows(tmp_path: Path) -> None:
    first, second = chunk_of("d0", 0), chunk_of("d1", 0)
    rows = [
        {"title": title, "type": kind, "description": kind, "text_unit_ids": chunk_ids}
        for title, kind, chunk_ids in (
            *(("Lin", "person", [first]), ("Lin", "geo", [second])),
            *(("Boat", "thing", None), ("Ann", "person", None)),
        )
    ]
    pairs = [{**RELATIONSHIPS[0], "source": "Lin", "target": end} for end in ("Boat", "Ann")]
    graph = put(tmp_path, rows, pairs)
    found = extracted_from(
        graph_in(graph), chunks_of({"d0": ["Lin met Ann."], "d1": ["A boat is in Lin."]})
    )
    mentions = found.beside["entity_mentions"].to_pylist()
    types = [(row["chunk_id"], row["type"]) for row in mentions if row["name_key"] == "lin"]
    assert types == [(first, "person"), (second, "geo")]
    related = found.beside["relationship_mentions"].to_pylist()
    assert [row["chunk_id"] for row in related] == [first, second]
    assert related[1]["source_type"] == "geo"


def test_documents_limit_the_search_for_a_name(tmp_path: Path) -> None:
    there = {"document_ids": ["d1"]}
    put(tmp_path, ENTITIES, [RELATIONSHIPS[0] | there])
    found = extracted_from(graph_in(tmp_path), chunks_of(TEXTS))
    assert locations(found) == {(chunk_of("d1", 0), "lin", "the boat")}
    put(tmp_path, [ENTITIES[0] | there, *ENTITIES[1:]], RELATIONSHIPS)
    found = extracted_from(graph_in(tmp_path), chunks_of(TEXTS))
    assert {chunk for chunk, key in mentions(found) if key == "lin"} == {chunk_of("d1", 0)}


def test_passages_limit_the_location(tmp_path: Path) -> None:
    first, second, third = chunk_of("d0", 0), chunk_of("d0", 1), chunk_of("d1", 0)
    both = {"passages": [{"document_id": "d0", "start": 3, "end": 40}]}
    far = {"passages": [{"document_id": "d1", "start": 0, "end": 9}]}
    unnamed = {"title": "Quarrel", "type": "event", "description": "Annabel met somebody."} | both
    put(tmp_path, [ENTITIES[0] | both, ENTITIES[1] | far, unnamed], [RELATIONSHIPS[0] | both])
    found = extracted_from(graph_in(tmp_path), chunks_of(TEXTS))
    assert mentions(found) >= {(first, "lin"), (second, "lin"), (third, "the boat")}
    assert (third, "lin") not in mentions(found)
    # no chunk of the passage has the name: the one that is worded most alike
    assert {chunk for chunk, key in mentions(found) if key == "quarrel"} == {second}
    assert {chunk for chunk, *_ in locations(found)} == {first}


def test_unlocated_items_are_skipped_and_reported(tmp_path: Path) -> None:
    lost = {"title": "Zorn", "type": "person", "description": "Unheard of."}
    ends = ({"source": "Ann"}, {"target": "Zorn"})
    put(tmp_path, [*ENTITIES, lost], [*RELATIONSHIPS, *(RELATIONSHIPS[0] | end for end in ends)])
    graph, chunks = graph_in(tmp_path), chunks_of(TEXTS)
    found = extracted_from(graph, chunks)
    assert {key for _, key in mentions(found)} == {"lin", "the boat", "ann"}
    assert {(source, target) for _, source, target in locations(found)} == {("lin", "the boat")}
    entities, relationships = found.failures
    assert "graph/entities.parquet: 1 of 4 entities" in entities
    assert "graph/relationships.parquet: 2 of 3 relationships" in relationships
    assert "Zorn" not in entities + relationships  # which Dagster keeps
    assert extracted_from(graph, chunks, is_whole=False).failures == []


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"title": " "}, "'title': the name ' ' holds no letter or digit"),
        ({"title": None}, "'title' is missing"),
        ({"title": "x" * 10_000}, "10,000 characters"),
        ({"title": b"\xff\xfe"}, "'title'"),
        ({"type": "x" * 10_000}, "'type'"),
        ({"text_unit_ids": [None]}, "'text_unit_ids'"),
        ({"document_ids": [b"\xff"]}, "'document_ids'"),
    ],
)
def test_bad_entity_affects_only_itself(tmp_path: Path, bad: dict, said: str) -> None:
    rows = [*ENTITIES, {"title": "Bad", "type": "person", "description": "Bad."} | bad]
    table = pa.Table.from_pylist(rows, SCHEMA)
    named = table["title"].combine_chunks().view(pa.string())  # Arrow does not validate the bytes
    put(tmp_path, table.set_column(0, "title", named), RELATIONSHIPS)
    graph = graph_in(tmp_path)
    assert list(graph.entities) == ["ann", "lin", "the boat"]
    (problem,) = graph.failures
    assert "graph/entities.parquet: 1 of 4 rows left out (row 4: " in problem
    assert said in problem
    assert problem in extracted_from(graph, chunks_of(TEXTS)).failures


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ({"target": "lin!"}, "related to itself"),
        ({"source": None}, "'source' is missing"),
        ({"target": "*"}, "'target': the name '*' holds no letter or digit"),
        ({"weight": "high"}, "'weight'"),
    ],
)
def test_bad_relationships_affect_only_themselves(tmp_path: Path, bad: dict, said: str) -> None:
    put(tmp_path, ENTITIES, [RELATIONSHIPS[0] | bad] * 2000)
    graph = graph_in(tmp_path)
    assert (len(graph.entities), len(graph.relationships)) == (3, 0)
    (problem,) = graph.failures
    assert "graph/relationships.parquet: 2,000 of 2,000 rows left out (row 1: " in problem
    assert said in problem
    assert len(problem) < 500


@pytest.mark.parametrize(
    ("weight", "strength"),
    [(None, 1), (0.0, 1), (-3.0, 1), (3.4, 3), (42.0, 10), (float("inf"), 10), (float("nan"), 1)],
)
def test_weight_becomes_strength(tmp_path: Path, weight, strength: int) -> None:
    heavy = pa.table(
        {name: [value] for name, value in RELATIONSHIPS[0].items() if name != "weight"}
        | {"weight": pa.array([weight], pa.float64())}
    )
    put(tmp_path, ENTITIES, heavy)
    pairs = extracted_from(graph_in(tmp_path), chunks_of(TEXTS)).beside["relationship_mentions"]
    assert set(pairs["strength"].to_pylist()) == {strength}


@pytest.mark.parametrize("name", ["entities", "relationships"])
def test_a_file_that_is_missing_or_no_parquet_is_one_error(tmp_path: Path, name: str) -> None:
    put(tmp_path, ENTITIES, RELATIONSHIPS)
    for content in (b"", b"title,type\n", b"PAR1" + b"\0" * 60 + b"PAR1"):
        (tmp_path / "graph" / f"{name}.parquet").write_bytes(content)
        with pytest.raises(CorpusError, match=rf"graph/{name}\.parquet is not readable as Parquet"):
            read_given(tmp_path)
    (tmp_path / "graph" / f"{name}.parquet").unlink()
    with pytest.raises(CorpusError, match=f"exists without graph/{name}.parquet"):
        read_given(tmp_path)


@pytest.mark.parametrize("column", [*ENTITIES[0], "source", "target"])
def test_missing_column_is_one_error(tmp_path: Path, column: str) -> None:
    entities, relationships = (
        [{name: value for name, value in row.items() if name != column} for row in rows]
        for rows in (ENTITIES, RELATIONSHIPS)
    )
    put(tmp_path, entities, relationships)
    with pytest.raises(CorpusError, match=rf"\.parquet has no column '{column}'.*; add it"):
        read_given(tmp_path)


def test_documents_located_separately_equal_those_located_together(tmp_path: Path) -> None:
    placed = {"text_unit_ids": [chunk_of("d1", 0)]}
    put(tmp_path, [ENTITIES[0] | placed, *ENTITIES[1:]], [RELATIONSHIPS[0] | placed])
    graph, chunks = graph_in(tmp_path), chunks_of(TEXTS)
    whole = extracted_from(graph, chunks)
    assert locations(whole)
    own = [chunks.filter(pc.equal(chunks["document_id"], document)) for document in TEXTS]
    splits = [tables_of(extracted_from(graph, of_document, False)) for of_document in own]
    for name, table in tables_of(whole).items():
        assert pa.concat_tables(tables[name] for tables in splits) == table


TEXT = st.text(alphabet="ab1 -éя京", max_size=30)


@given_by(st.lists(TEXT, max_size=5), st.lists(TEXT, max_size=5), st.data())
def test_index_equals_a_search_of_every_text(texts, names, data) -> None:
    for text in filter(None, texts):  # names that occur in the texts, cut at any character
        start = data.draw(st.integers(0, len(text) - 1))
        names.append(text[start : start + data.draw(st.integers(1, 8))])
    keys = {key for key in map(name_key, names) if any(c.isalnum() for c in key)}
    text_keys = [name_key(text) for text in texts]
    expected = {key: {n for n, text in enumerate(text_keys) if holds(text, key)} for key in keys}
    assert texts_holding(keys, text_keys) == expected
