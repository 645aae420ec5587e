"""An indexed home, the verdicts on it, and defects planted in its files."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import dagster as dg
import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.dagster_assets.check_assets import subject_of
from gsum_assets.dagster_assets.evaluate import Verdict, evaluate
from gsum_assets.definitions import METHODS as ALL
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.checks import checks_for
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import Partition
from tests.conftest import House
from tests.pipeline.homes import house_at

METHODS = ("bm25", "dense")
Change = Callable[[pa.Table], pa.Table]


@contextmanager
def indexed(root: Path, furnish: Callable[[House], None]) -> Iterator[House]:
    """A home whose corpus has been indexed with two methods."""
    with house_at(root) as house:
        furnish(house)
        assert house.run(list(METHODS)).errors == []
        yield house


def verdicts(house: House, written: Sequence[Partition] | None = None) -> dict[str, Verdict]:
    """Return the verdict of every check by `asset:check`, by default over all partitions."""
    pipeline = house.pipeline()
    lineage = Lineage(pipeline.store, TABLES, lambda _: None, ALL.families)
    graph = pipeline.definitions.resolve_asset_graph()
    subjects = [
        subject_of(spec)
        for asset in graph.assets_defs
        if asset.is_materializable
        for spec in asset.specs
    ]
    return {
        f"{subject.name}:{verdict.check.name}": verdict
        for subject in subjects
        for verdict in evaluate(subject, checks_for(subject), pipeline.store, lineage, written)
    }


def failing(house: House, written: Sequence[Partition] | None = None) -> set[str]:
    """The checks that do not pass."""
    return {name for name, verdict in verdicts(house, written).items() if not verdict.passed}


def plant(house: House, table: str, partition: Partition, change: Change) -> None:
    """Change a file's rows behind the pipeline's back: its provenance stays as it was."""
    path = house.store.path(TABLES[table], partition)
    rows = pq.read_table(path, partitioning=None)
    pq.write_table(change(rows).replace_schema_metadata(rows.schema.metadata), path)


def with_column(name: str, values: Callable[[list], list]) -> Change:
    """Replace the values of a column."""

    def change(rows: pa.Table) -> pa.Table:
        field = rows.schema.field(name)
        column = pa.array(values(rows[name].to_pylist()), field.type)
        return rows.set_column(rows.schema.get_field_index(name), field, column)

    return change


def evaluations(
    instance: dg.DagsterInstance, run_id: str | None = None
) -> list[dg.AssetCheckEvaluation]:
    """The check results that Dagster has on record, run after run."""
    runs = [run.run_id for run in reversed(instance.get_runs())] if run_id is None else [run_id]
    kind = dg.DagsterEventType.ASSET_CHECK_EVALUATION
    return [
        event.get_dagster_event().asset_check_evaluation_data
        for run in runs
        for event in instance.all_logs(run, of_type=kind)
    ]
