"""Whatever of gsum fails in a run, the error page begins with the sentence of the error."""

from typing import Any

import dagster as dg
import pytest

from gsum_assets.runner.run import register
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.settings_io import SettingsIO
from gsum_resources.dagster_io.warehouse_io import WarehouseIO
from gsum_resources.models.by_work import Models
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import StoreError
from tests.conftest import CORPUS, House

SENTENCE = "a file of 'tales' cannot be read; restore it"


def fail(*_: Any, **__: Any) -> Any:
    raise StoreError(SENTENCE)


def failure_of(house: House, asset: str, job_name: str = "", **others: str) -> dg.DagsterEvent:
    """Run one asset or a job; return the failure of its first step."""
    definitions = house.pipeline().definitions
    key = dg.AssetKey.from_user_string(asset)
    graph = definitions.resolve_asset_graph()
    job = definitions.resolve_implicit_global_asset_job_def()
    chosen: dict[str, Any] = {"partition_key": CORPUS, "asset_selection": [key]}
    if others:
        chosen["partition_key"] = dg.MultiPartitionKey({"corpus": CORPUS, **others})
        chosen["asset_selection"] = [*graph.get(key).execution_set_asset_keys]
    if job_name:
        job, chosen = definitions.resolve_job_def(job_name), {}
    with house.instance() as instance:
        register(house.pipeline(), instance, CORPUS)
        result = job.execute_in_process(instance=instance, raise_on_error=False, **chosen)
    return next(event for event in result.all_events if event.is_step_failure)


@pytest.mark.parametrize(
    ("broken", "asset", "others"),
    [
        ((WarehouseIO, "existing"), "retrieval/rankings", {"method": "bm25"}),
        ((WarehouseIO, "rows"), "retrieval/rankings", {"method": "bm25"}),
        ((WarehouseIO, "keep"), "chunks", {"bucket": "03"}),
        ((WarehouseIO, "footers"), "retrieval/index", {}),
        ((ModelsIO, "model"), "retrieval/summaries", {"method": "bm25"}),
        ((Models, "version"), "retrieval/summaries", {"method": "bm25"}),
        ((SettingsIO, "version"), "corpus_settings", {"job_name": "observe_sources"}),
        ((Models, "version"), "embedding_model", {"job_name": "observe_sources"}),
        ((ParquetStore, "stamped"), "documents", {"job_name": "reconcile_corpora"}),
        ((ParquetStore, "alone"), "chunks", {"bucket": "03"}),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else str(value),
)
def test_error_page_begins_with_the_sentence(
    changeable: House,
    monkeypatch: pytest.MonkeyPatch,
    broken: tuple[type, str],
    asset: str,
    others: dict[str, str],
) -> None:
    changeable.pipeline()  # before anything is broken
    monkeypatch.setattr(*broken, fail)
    data = failure_of(changeable, asset, **others).step_failure_data
    assert data.error is not None
    assert data.error.message.strip().endswith(f"Failure: {SENTENCE}")
    assert data.error.cause is data.error.context is None
    assert data.user_failure_data is not None
    assert data.user_failure_data.description == SENTENCE
