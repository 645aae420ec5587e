"""What one run may ask for: options of the resource `gsum`."""

from collections.abc import Sequence
from typing import Any

import dagster as dg
import pytest

from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_resources.llm.ledgered_model import LedgeredModel
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
