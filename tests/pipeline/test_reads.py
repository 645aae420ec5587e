"""A step reads what it declares, and nothing else."""

from dataclasses import replace

import pyarrow as pa
import pytest

from gsum_assets.pipeline.step import MODELS, SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import STEPS, Declared
from gsum_resources.state.database import MemoryStore
from gsum_resources.store.lazy import Lazy
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.partition import StoreError

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
