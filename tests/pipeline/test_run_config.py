"""Runs of the job: what one may ask for, and the error page of a failed one."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pytest

from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.refresh.step import Refreshed
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.models.by_work import Models
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import StoreError
from tests.conftest import CORPUS, House

pytestmark = pytest.mark.usefixtures("only_tables")
ANSWERS = [dg.AssetKey(["retrieval", name]) for name in ("answer_sources", "summaries")]


def written(house: House, keys: Sequence[dg.AssetKey], **options: Any) -> set[str]:
    """Materialize assets with these options; return what their pages say was written."""
    with house.instance() as instance:
        instance.add_dynamic_partitions("corpora", [CORPUS])
        result = (
            house.pipeline()
            .definitions.resolve_job_def(INDEX_JOB)
            .execute_in_process(
                run_config={"resources": {"gsum": {"config": options}}},
                instance=instance,
                partition_key=CORPUS,
                asset_selection=keys,
            )
        )
    events = result.get_asset_materialization_events()
    return {str(event.materialization.metadata["written"].value) for event in events}


def test_tables_that_are_up_to_date_are_written_again_if_asked(changeable: House) -> None:
    assert written(changeable, ANSWERS) == {"nothing: every file is up to date"}
    assert written(changeable, ANSWERS, force=True) == {"methods bm25"}
    chunks = [dg.AssetKey("chunks")]
    assert written(changeable, chunks, force=True) == {"8 of 8 buckets"}


@pytest.mark.parametrize("again", [False, True])
def test_known_failures_are_tried_again_if_asked(
    changeable: House, monkeypatch: pytest.MonkeyPatch, again: bool
) -> None:
    asked: list[bool] = []
    opened = LedgeredModel.__init__

    def opening(self: LedgeredModel, *given: Any) -> None:
        asked.append(given[-1])
        opened(self, *given)

    monkeypatch.setattr(LedgeredModel, "__init__", opening)
    written(changeable, ANSWERS, force=True, retry_failures=again)
    assert asked == [again]


def test_other_options_are_refused_before_the_run(changeable: House) -> None:
    with pytest.raises(dg.DagsterInvalidConfigError, match='unexpected config entry "forced"'):
        written(changeable, ANSWERS, forced=True)


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
