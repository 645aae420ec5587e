"""A table that was never written is missing, and only one that was written empty is empty."""

import dagster as dg
import pytest

from gsum_assets.pipeline.tables import table_of
from gsum_assets.runner.run import register
from tests.conftest import CORPUS, House

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


def failure_of(house: House, asset: str, **others: str) -> str:
    """Materialize one partition of an asset as a person in the UI; return why this failed."""
    pipeline = house.pipeline()
    key = dg.AssetKey.from_user_string(asset)
    graph = pipeline.definitions.resolve_asset_graph()
    with house.instance() as instance:
        register(pipeline, instance, CORPUS)
        result = pipeline.definitions.resolve_implicit_global_asset_job_def().execute_in_process(
            instance=instance,
            asset_selection=list(graph.get(key).execution_set_asset_keys),
            partition_key=dg.MultiPartitionKey({"corpus": CORPUS, **others}) if others else CORPUS,
            raise_on_error=False,
        )
    assert not result.success
    (error,) = (event for event in result.all_events if event.is_step_failure)
    reason = error.step_failure_data.error
    while reason and reason.cause:
        reason = reason.cause
    assert reason
    return reason.message


@pytest.mark.parametrize(
    ("asset", "others", "missing"),
    [
        ("documents", {"bucket": "03"}, "source_documents of 'tales' were never made (1 of 1 bu"),
        ("chunks", {"bucket": "03"}, "documents of 'tales' were never made (1 of 1 buckets)"),
        ("graphrag/extractions", {"bucket": "03"}, "chunks of 'tales' were never made"),
        ("graphrag/entities", {}, "graphrag.entity_mentions of 'tales' were never made (8 of 8"),
        ("graphrag/index", {}, "of 'tales' were never made (8 of 8 buckets)"),
        ("retrieval/rankings", {"method": "bm25"}, "of 'tales' were never made"),
        ("retrieval/summaries", {"method": "bm25"}, "contexts of bm25 of 'tales' were never made"),
        ("leaderboard", {}, "scores and summaries of 'tales' were never made for any method"),
        ("judgements", {}, "summaries and "),
    ],
)
def test_step_without_its_inputs_fails_and_names_them(
    house: House, asset: str, others: dict[str, str], missing: str
) -> None:
    reason = failure_of(house, asset, **others)
    assert missing in reason
    assert "`gsum run tales`" in reason
    name = dg.AssetKey.from_user_string(asset).path
    assert not house.store.partitions(table_of(name))
