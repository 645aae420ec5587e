"""Of what the extractive model lists, names stay, and noun phrases that matter to the corpus."""

import pyarrow as pa
import pytest

from gsum_assets.corpus.names import name_key
from gsum_assets.graphrag.entity_names import mentioned_names, pruned
from gsum_resources.llm.extractive import NAME as EXTRACTIVE

FILLER = "He went along and said nothing of it to them then. " * 10


def left_out(texts: list[str], name: str, model: str = EXTRACTIVE, step: int = 2) -> bool:
    """Whether a name is pruned, mentioned by the chunks of two documents whose texts have it.

    Parameters
    ----------
    step : distance of the texts within their document; those between are fillers.
    """
    placed = [text for one in texts for text in (one, *[FILLER] * (step - 1))]
    half = -(-len(placed) // 2)
    rows = [
        {"chunk_id": f"c{i}", "document_id": f"d{i // half}", "position": i, "text": text}
        for i, text in enumerate(placed)
    ]
    mentions = [
        {"name_key": name_key(name), "name": name, "type": "concept", "model": model}
        | {key: row[key] for key in ("chunk_id", "document_id")}
        for row in rows
        if name in row["text"]
    ]
    columns = ("chunk_id", "document_id", "text")
    schema = pa.schema([*((c, pa.string()) for c in columns), ("position", pa.int32())])
    names = mentioned_names(pa.Table.from_pylist(mentions))
    return name_key(name) in pruned(names, pa.Table.from_pylist(rows, schema))


@pytest.mark.parametrize(
    ("texts", "name", "expected"),
    [
        (["It was in the bilge."] * 3, "bilge", False),  # rare in English
        (["It was in the bilge."] * 2, "bilge", True),
        (["They bilge it."] * 3, "bilge", True),  # no noun here
        (["It was the time."] * 3, "time", True),  # frequent in English
        (["The battery pack is new."] * 2, "battery pack", False),
        (["The battery pack is new."], "battery pack", True),
        (["They saw Sallowby."], "Sallowby", False),
        (["He is Longer.", "A longer day.", "The longer one."], "Longer", True),
        (["It said HALFWAY."], "HALFWAY", True),
        (["The NHS paid."], "NHS", False),
        (["They saw Longer Corin.", "A longer day."], "Longer Corin", False),
    ],
)
def test_what_is_left_out(texts: list[str], name: str, expected: bool) -> None:
    assert left_out(texts, name) == expected


def test_neighbours_are_one_occurrence_as_chunks_overlap() -> None:
    texts = ["The battery pack is new."] * 2
    assert left_out([*texts, FILLER, FILLER], "battery pack", step=1)


def test_names_of_language_models_are_kept() -> None:
    assert not left_out(["The man."], "man", model="a language model")
