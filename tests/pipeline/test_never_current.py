"""A partition that no writing makes current stops the run, instead of being paid for ever."""

from collections.abc import Mapping

import dagster as dg
import pytest

from gsum_resources.store.lineage import Reads, Step
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.table import Table
from tests.conftest import CORPUS, House
from tests.pipeline.homes import GOOD

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
WRITTEN = {"leaderboard", "curves", "comparisons", "costs"}
KEY = f"table:scores/corpus={CORPUS}/family=retrieval"


@pytest.fixture
def misread(changeable: House, monkeypatch: pytest.MonkeyPatch) -> House:
    """A home whose steps record another version of the scores than they read."""
    record = Reads.table

    def misrecord(
        self: Reads,
        step: Step,
        table: Table,
        hashes: Mapping[Partition, str],
        family: str | None = None,
    ) -> None:
        wrong = dict.fromkeys(hashes, "wrong") if table.name == "scores" else hashes
        record(self, step, table, wrong, family)

    monkeypatch.setattr(Reads, "table", misrecord)
    changeable.write_document(GOOD, f"A lamp met {GOOD}. " * 20)
    return changeable


def times_written(house: House, errors: int) -> int:
    """Return how often a run writes the leaderboard; it ends with so many errors."""
    report = house.run()
    assert len(report.errors) == errors
    for error in report.errors:
        step, named, problem = error.split(": ", 2)
        assert step == "leaderboard"
        assert named in {f"{table}, corpus={CORPUS}" for table in WRITTEN}
        assert f"still out of date: {KEY} differs" in problem
    return sum("leaderboard" in one.assets for one in report.results)


def test_run_stops_and_names_the_input(misread: House) -> None:
    assert times_written(misread, errors=1) == 2
    assert times_written(misread, errors=1) == 1  # a later run tries once


def test_person_may_write_again_what_is_current(changeable: House) -> None:
    assert changeable.run().n_partitions == 0
    job = changeable.pipeline().definitions.resolve_implicit_global_asset_job_def()
    for name in ("leaderboard", "chunks"):
        key = CORPUS if name == "leaderboard" else f"00|{CORPUS}"
        chosen = job.get_subset(asset_selection={dg.AssetKey(name)})
        with changeable.instance() as instance:
            assert chosen.execute_in_process(instance=instance, partition_key=key).success
    assert changeable.run().n_partitions == 0
