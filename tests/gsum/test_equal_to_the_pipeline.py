"""`gsum.run` makes the same tables as the pipeline, by every method of every family."""

import tomllib
from collections.abc import Iterator

import pandas as pd
import pytest

import gsum
from gsum.in_memory import CORPUS
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_resources.llm.extractive import ExtractiveModel
from tests.conftest import House
from tests.models import HashEmbedder, LetterHashes
from tests.pipeline.homes import house_at, write_lines

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
TEXTS = {
    "ferry": "The ferry broke its pump in March. Ann Marsh ordered a new pump from the yard at "
    "Quarry Landing. The yard asked for nine hundred pounds. Bob Teal paid the yard in April. "
    "The ferry sailed again in May with a full deck of walkers.",
    "library": "The library closed its reading room when the roof leaked. Cleo Hart counted forty "
    "ruined books. Dan Frost carried the dry books to the school at Quarry Landing. The council "
    "promised a slate roof. Cleo Hart opened a reading corner beside the climbing ropes.",
    "mill": "The mill at Quarry Landing stood empty for nine years. Ann Marsh bought it from the "
    "council. Dan Frost repaired the wheel with timber from the yard. The first flour was ground "
    "in May and sold to the walkers of the ferry.",
}
QUESTIONS = [
    {"query_id": "q1", "text": "Who paid for the pump?", "references": ["Bob Teal paid in April."]},
    {"query_id": "q2", "text": "What did Dan Frost do?"}
    | {"references": ["He carried books and repaired a wheel."]}
    | {"relevant_document_ids": ["library", "mill"]},
    {"query_id": "q3", "text": "What happened to the ferry?", "document_id": "ferry"}
    | {"references": ["Its pump broke, and it sailed again in May."]},
]
SETTINGS = """
[scores]
bertscore = false
[chunking]
max_tokens = 24
overlap_tokens = 0
[retrieval]
k = 2
[gor.simulation]
n_queries = 3
[gor.training]
epochs = 2
[gae.training]
epochs = 2
[graphrag.communities]
max_size = 4
"""
LISTS_OF_FILES = {"source_documents", "source_queries"}
MODELS = {"embedding_model": HashEmbedder(), "language_model": ExtractiveModel(LetterHashes())}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """All methods by the pipeline."""
    with house_at(tmp_path_factory.mktemp("all")) as made:
        folder = made.home.corpora / CORPUS
        folder.mkdir()
        rows = [{"document_id": name, "text": text} for name, text in TEXTS.items()]
        write_lines(folder / "documents.jsonl", rows)
        write_lines(folder / "queries.jsonl", QUESTIONS)
        (folder / "corpus.toml").write_text(SETTINGS)
        made.embedder = MODELS["embedding_model"]
        made.model = MODELS["language_model"]
        report = made.run(["all"], CORPUS)
        assert report.errors == [], report.errors
        yield made


def stored(house: House, name: str, method: str) -> pd.DataFrame | None:
    """Return what the pipeline made of a table, by the method where the table has one."""
    table = TABLES[name]
    partitions = [p for p in house.store.partitions(table, CORPUS) if p.method in (None, method)]
    if not partitions:
        return None
    rows = house.store.read(table, partitions)[0]
    return rows.select(table.schema.names).to_pandas().drop(columns=list(table.ignored_by_hash))


def test_every_method_makes_what_the_pipeline_makes(house: House) -> None:
    settings = tomllib.loads(SETTINGS)
    n_compared = 0
    for method in METHODS.known:
        result = gsum.run(method, TEXTS, QUESTIONS, settings, MODELS)
        for name in set(result.tables) - LISTS_OF_FILES:
            expected = stored(house, name, method)
            if expected is None:
                continue
            found = result.tables[name].drop(columns=list(TABLES[name].ignored_by_hash))
            pd.testing.assert_frame_equal(found, expected, obj=f"{name} of {method}")
            n_compared += len(found) > 0
    assert n_compared > 10 * len(METHODS.known)
