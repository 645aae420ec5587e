"""Whatever of gsum fails in a run, the error page begins with the sentence of the error."""

from typing import Any

import pytest

from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.refresh.step import Refreshed
from gsum_resources.models.by_work import Models
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import StoreError
from tests.conftest import CORPUS, House

pytestmark = pytest.mark.usefixtures("only_tables")
SENTENCE = "a file of 'tales' cannot be read; restore it"


def fail(*_: Any, **__: Any) -> Any:
    raise StoreError(SENTENCE)


@pytest.mark.parametrize(
    ("broken", "asset"),
    [
        ((ParquetStore, "footers"), "retrieval/rankings"),
        ((ParquetStore, "write"), "chunks"),
        ((Models, "version"), "source_documents"),
        ((Refreshed, "raise_failed"), "retrieval/scores"),
    ],
    ids=lambda value: value[1] if isinstance(value, tuple) else value,
)
def test_error_page_begins_with_the_sentence(
    changeable: House, monkeypatch: pytest.MonkeyPatch, broken: tuple[type, str], asset: str
) -> None:
    changeable.write_document("new")
    definitions = changeable.pipeline().definitions
    graph = definitions.resolve_asset_graph()
    key = next(key for key in graph.get_all_asset_keys() if key.to_user_string() == asset)
    monkeypatch.setattr(*broken, fail)
    with changeable.instance() as instance:
        instance.add_dynamic_partitions("corpora", [CORPUS])
        result = definitions.resolve_job_def(INDEX_JOB).execute_in_process(
            instance=instance,
            raise_on_error=False,
            partition_key=CORPUS,
            asset_selection=[*graph.get(key).execution_set_asset_keys],
            run_config={"resources": {"gsum": {"config": {"force": True}}}},
        )
    (event,) = (event for event in result.all_events if event.is_step_failure)
    data = event.step_failure_data
    assert data.error is not None
    assert data.error.message.strip().endswith(f"Failure: {SENTENCE}")
    assert data.error.cause is data.error.context is None
    assert data.user_failure_data is not None
    assert data.user_failure_data.description == SENTENCE
