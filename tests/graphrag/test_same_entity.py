"""A language model says of names that are alike whether they are of one entity."""

import json
from collections.abc import Callable, Mapping, Sequence

import pyarrow as pa
import pytest

from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.aliases import resolve
from gsum_assets.graphrag.same_entity import model_judge
from gsum_assets.graphrag.settings import MergingSettings
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Request
from tests.gor.toy_documents import Lookup, Scripted
from tests.graphrag.test_aliases import chunks_of, merged
from tests.models import HashEmbedder

EAST, NEARLY_EAST, NORTH = (1.0, 0.0), (0.8, 0.6), (0.0, 1.0)
WATERS = {"Lower Mere": EAST, "Mere Reservoir": NEARLY_EAST, "Corley": NORTH}


def mentions_of(names: Mapping[str, str], model: str = "m") -> pa.Table:
    """One chunk, of a document of its own, for each name, with its type."""
    rows = [
        {"name_key": name_key(name), "name": name, "type": kind, "model": model}
        | {"description": f"About {name}.", "chunk_id": f"c{index}", "document_id": f"d{index}"}
        for index, (name, kind) in enumerate(names.items())
    ]
    return pa.Table.from_pylist(rows, pa.schema([(column, pa.string()) for column in rows[0]]))


def verdict(same: bool) -> str:
    return json.dumps({"reason": "Both are the lake.", "is_same": same})


def judged(
    say: Callable[[Request], str | None] = lambda request: verdict(True),
    kinds: tuple[str, str, str] = ("place", "place", "place"),
    least: float = 0.7,
    model: str = "m",
    **settings,
) -> tuple[dict[str, dict], Scripted, Sequence[str]]:
    mentions = mentions_of(dict(zip(WATERS, kinds, strict=True)), model)
    scripted = Scripted(say)
    judge = model_judge(mentions, scripted, Lookup(WATERS, 2), least)
    found = resolve(mentions, chunks_of({}), MergingSettings(**settings), judge)
    return {row["name_key"]: row for row in found.rows.to_pylist()}, scripted, found.failures


def test_names_that_the_model_takes_for_one_entity_are_merged() -> None:
    rows, model, failures = judged()
    (request,) = model.requests
    assert request.passages == (
        "Lower Mere: About Lower Mere.",
        "Mere Reservoir: About Mere Reservoir.",
    )
    assert merged(rows) == {frozenset({"lower mere", "mere reservoir"})}
    evidence = [row["evidence_chunk_ids"] for row in rows.values() if row["rule"] == "model"]
    assert (evidence, failures) == ([["c0", "c1"]], [])


@pytest.mark.parametrize(
    "others",
    [
        {"least": 0.9},  # not alike
        {"kinds": ("person", "place", "place")},
        {"apart": [["Lower Mere", "Mere Reservoir"]]},
        {"aliases": False},
        {"model": "extractive"},  # found by rules
    ],
)
def test_other_pairs_are_not_asked(others: dict) -> None:
    rows, model, _ = judged(**others)
    assert (merged(rows), model.requests) == (set(), [])


def test_no_and_lost_replies_leave_two_entities() -> None:
    lost = ["1 of 1 pairs of names are not compared (first: the server is tired)"]
    for reply, expected in ((verdict(False), []), (None, lost)):
        rows, _, failures = judged(lambda request, reply=reply: reply)
        assert (merged(rows), failures) == (set(), expected)


def test_the_extractive_model_is_not_asked() -> None:
    mentions = mentions_of(dict.fromkeys(WATERS, "place"))
    judge = model_judge(mentions, ExtractiveModel(HashEmbedder()), HashEmbedder(), 0.0)
    found = resolve(mentions, chunks_of({}), MergingSettings(), judge)
    assert len(set(found.rows["entity_id"])) == 3
