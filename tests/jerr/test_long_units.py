"""Long units against answers worked out by hand, and invariants for any chunks."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.jerr.long_units import (
    LongUnits,
    Unit,
    long_units,
    rank_units,
    ranking_depth,
    unit_contexts,
)
from gsum_assets.retrieval.collection import Collection, Questions
from tests.retrieval.toys import CHUNKS, collection, toy_questions


def units_of(lengths: dict[str, list[int]], unit_tokens: int = 100) -> list[Unit]:
    """Units of documents with chunks of these lengths, each of one letter, with blanks between."""
    texts, rows = {}, []
    for document_id, sizes in lengths.items():
        pieces = [chr(ord("a") + i % 26) * size for i, size in enumerate(sizes)]
        texts[document_id], start = " ".join(pieces), 0
        for i, size in enumerate(sizes):
            rows.append({"chunk_id": f"{document_id}{i}", "document_id": document_id})
            rows[-1] |= {"position": i, "text": pieces[i], "end": start + size, "n_tokens": size}
            start += size + 1
    documents = pa.table({"document_id": list(texts), "text": list(texts.values())})
    return long_units(documents, pa.Table.from_pylist(rows), unit_tokens)


def test_chunks_are_packed_up_to_the_limit() -> None:
    units = units_of({"a": [60, 40, 30, 80], "b": [10], "c": [20, 150, 20]})
    assert [(unit.document_id, unit.position, unit.chunk_ids) for unit in units] == [
        ("a", 0, ("a0", "a1")),  # 100 fit
        ("a", 1, ("a2",)),  # 110 do not
        ("a", 2, ("a3",)),
        ("b", 0, ("b0",)),  # a short document is a unit
        ("c", 0, ("c0",)),
        ("c", 1, ("c1",)),  # a chunk that is too long by itself
        ("c", 2, ("c2",)),
    ]
    assert units[0].text == "a" * 60 + " " + "b" * 40


SIZES = st.lists(st.integers(1, 250), min_size=1, max_size=12)


@given(SIZES, st.integers(100, 400), SIZES)
def test_units_hold_every_chunk_once_in_order_independently(sizes, most, others) -> None:
    units = units_of({"d": sizes}, most)
    assert [i for unit in units for i in unit.chunk_ids] == [f"d{i}" for i in range(len(sizes))]
    tokens = {f"d{i}": size for i, size in enumerate(sizes)}
    filled = [sum(tokens[i] for i in unit.chunk_ids) for unit in units]
    assert all(n <= most or len(unit.chunk_ids) == 1 for unit, n in zip(units, filled, strict=True))
    for n, after in zip(filled, units[1:], strict=False):
        assert n + tokens[after.chunk_ids[0]] > most  # it would not have fitted
    more = units_of({"c": others, "d": sizes, "e": others}, most)
    assert [unit for unit in more if unit.document_id == "d"] == units
    assert len({unit.unit_id for unit in more}) == len(more)


def unit(document_id: str, position: int, *chunk_ids: str) -> Unit:
    text = " ".join(text for chunk_id, _, _, text, _ in CHUNKS if chunk_id in chunk_ids)
    return Unit(f"u-{document_id}-{position}", document_id, position, text, chunk_ids)


# "apples" is one unit of two chunks, "boats" two of one, "clouds" one
UNITS = [
    unit("apples", 0, "c-apple-1", "c-apple-2"),
    unit("boats", 0, "c-boat-1"),
    unit("boats", 1, "c-boat-2"),
    unit("clouds", 0, "c-cloud-1"),
]


def test_chunk_takes_the_score_of_its_unit_and_follows_better_ones() -> None:
    rows = rank_units(collection(), toy_questions(("?", None, 0)), UNITS, 4).to_pylist()
    nodes = {row["item_id"]: row["score"] for row in rows if row["level"] == "node"}
    # the second of the apples is itself no nearer than those behind it
    assert list(nodes) == ["c-apple-1", "c-apple-2", "c-boat-1", "c-boat-2", "c-cloud-1"]
    assert list(nodes.values()) == pytest.approx([1, 1, 0, 0, 0], abs=1e-6)
    assert nodes["c-apple-1"] > nodes["c-apple-2"]
    documents = [(row["item_id"], row["score"]) for row in rows if row["level"] == "document"]
    assert documents == [("apples", 1.0), ("boats", 0.0), ("clouds", 0.0)]


@given(st.lists(st.tuples(st.integers(0, 25), st.sampled_from("xyz")), min_size=2, max_size=6))
def test_chunk_scores_never_reorder_units(drawn) -> None:
    # cosines that differ by the last decimal that counts, or by less
    cosines = 0.5 + np.array([step for step, _ in drawn]) * 1e-7
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1)
    ids, owners = [f"c{i}" for i in range(len(drawn))], [owner for _, owner in drawn]
    scope = Collection(["d"], [""], ids, ids, np.array([0, len(ids)]), vectors)
    questions = Questions(["q"], ["?"], [None], np.array([[1.0, 0.0]]))
    scores = LongUnits(scope, dict(zip(ids, owners, strict=True))).scores(questions).nodes[0]
    rounded = np.round(cosines, 6)
    best = {owner: max(rounded[np.array(owners) == owner]) for owner in owners}
    for i, one in enumerate(owners):
        for j, other in enumerate(owners):
            if best[one] > best[other] or (one == other and rounded[i] > rounded[j]):
                assert scores[i] > scores[j]


QUERIES = pa.table({"query_id": ["q1", "q0"]})


def test_best_units_within_the_scope_are_read() -> None:
    asked = toy_questions(("?", None, 0), ("?", "boats", 1))
    rankings = rank_units(collection(), asked, UNITS, 4)
    rankings = rankings.take(list(range(rankings.num_rows))[::-1])  # rows come in any order
    rows = unit_contexts(QUERIES, UNITS, rankings, 2).to_pylist()
    names = ("query_id", "rank", "node_id", "score", "document_id", "position")
    assert [tuple(row[name] for name in names) for row in rows] == [
        ("q0", 1, "u-apples-0", 1.0, "apples", 0),
        ("q0", 2, "u-boats-0", 0.0, "boats", 0),
        ("q1", 1, "u-boats-0", 1.0, "boats", 0),
        ("q1", 2, "u-boats-1", 1.0, "boats", 1),
    ]
    assert rows[0]["text"] == UNITS[0].text


@given(st.lists(st.integers(1, 90), min_size=1, max_size=8), st.integers(1, 6), st.randoms())
def test_deep_enough_ranking_reaches_all_requested_units(sizes, n_units, random) -> None:
    ids = [tuple(f"{i}-{j}" for j in range(size)) for i, size in enumerate(sizes)]
    units = [Unit(f"u{i}", "d", i, "", of_unit) for i, of_unit in enumerate(ids)]
    order = [chunk_id for of_unit in ids for chunk_id in of_unit]
    random.shuffle(order)  # a unit's chunks need not even come together
    order = order[: ranking_depth(units, n_units)]
    rankings = pa.table(
        {"query_id": ["q0"] * len(order), "level": ["node"] * len(order)}
        | {"rank": list(range(1, len(order) + 1)), "item_id": order}
        | {"score": [1.0] * len(order)}
    )
    assert unit_contexts(QUERIES, units, rankings, n_units).num_rows == min(n_units, len(sizes))
