"""A step reads what it declares; a table that was never written is missing, and not empty."""

from dataclasses import replace

import pyarrow as pa
import pytest

from gsum_assets.corpus import observe
from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES, table_of
from gsum_assets.refresh.inputs import Run
from gsum_assets.refresh.step import refresh_step
from gsum_assets.registry.declared import ORDERED, STEPS, Declared
from gsum_resources.state.database import MemoryStore
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.partition import StoreError
from tests.conftest import CORPUS, House

DOCUMENT = pa.table({"corpus": ["tales"], "document_id": ["a"], "chunk_id": ["a1"]})


@pytest.fixture(params=STEPS, ids=lambda declared: declared.name)
def declared(request: pytest.FixtureRequest) -> Declared:
    return request.param


@pytest.fixture
def inputs(declared: Declared) -> Inputs:
    """The inputs that a run gives to a step, of which more is there than the step declares."""
    by_bucket = "bucket" in declared.table(declared.step.table).dimensions
    by_method = "method" in declared.table(declared.step.table).dimensions
    partition = Partition("tales", "00" if by_bucket else None, "m" if by_method else None)
    names = {*TABLES, *declared.reads, *MODELS, SETTINGS}
    read = {name: Lazy.of(DOCUMENT) for name in names}
    step = replace(
        declared.step, make=lambda _: DOCUMENT, aggregates_methods=False
    )  # needs no method
    tried = replace(declared, step=step, prepare=lambda inputs: inputs)
    return tried.run(read, [partition], Inputs({}, "", store=MemoryStore()))[0]


def test_inputs_hold_only_what_the_step_declares(declared: Declared, inputs: Inputs) -> None:
    assert set(inputs.tables) == set(declared.reads)
    with pytest.raises(StoreError, match="'surprise', which it does not declare; add it to"):
        inputs.table("surprise")


def test_optional_inputs_are_declared(declared: Declared) -> None:
    assert set(declared.step.optional) <= set(declared.step.reads)


BY_NAME = {declared.name: declared for declared in ORDERED}


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        ("documents", "source_documents of 'tales' were never made (8 of 8 bu"),
        ("chunks", "documents of 'tales' were never made (8 of 8 buckets)"),
        ("graphrag/entities", "graphrag.entity_mentions of 'tales' were never made (8 of 8"),
        ("leaderboard", "scores and summaries of 'tales' were never made for any method"),
        ("judgements", "summaries and "),
    ],
)
def test_step_without_its_inputs_fails_and_names_them(
    house: House, step: str, missing: str
) -> None:
    declared, methods = BY_NAME[step], ["bm25", "graphrag-c0"]
    if declared.for_questions:  # of which there must be some
        observe.sources(house.store, house.home.corpora, CORPUS)
        for before in ORDERED:
            if before.group == "corpus":
                refresh_step(house.workspace, before, CORPUS, methods, Run())
    with pytest.raises(StoreError, match="`gsum run tales`") as raised:
        refresh_step(house.workspace, declared, CORPUS, methods, Run())
    assert missing in str(raised.value)
    assert not house.store.partitions(table_of(declared.path(declared.step.table)))


def test_steps_of_questions_are_not_due_before_questions_are_read(house: House) -> None:
    observe.sources(house.store, house.home.corpora, CORPUS)
    done = refresh_step(
        house.workspace, BY_NAME["retrieval/rankings"], CORPUS, ["bm25"], Run(force=True)
    )
    assert (done.needed, done.written) == ([], [])
