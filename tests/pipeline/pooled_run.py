"""`python -m tests.pipeline.pooled_run FILE TAGGED`: holds a slot of a pool until killed."""

import sys
import time
from pathlib import Path

import dagster as dg

from gsum_assets.automation import processes
from gsum_resources.dagster_io.instance import open_instance
from gsum_resources.settings.home import Home
from gsum_resources.state.leases import Leases

CORPUS = "tales"


def pooled(stall: Path | None) -> dg.Definitions:
    """An asset in the pool; with `stall` it says in that file that it began, and does not end."""

    @dg.asset(pool="llm", partitions_def=dg.StaticPartitionsDefinition([CORPUS]))
    def pooled_asset() -> None:
        if stall:
            stall.touch()
            time.sleep(600)

    return dg.Definitions([pooled_asset])


def run(instance: dg.DagsterInstance, stall: Path | None, tagged: bool) -> bool:
    """Make the asset, as the command line (with a lease) or as a daemon's worker."""
    job = pooled(stall).resolve_implicit_global_asset_job_def()
    leases = Leases(Home.from_environment().open_store())
    tags = {processes.FENCE: str(leases.take(CORPUS).fence)} if tagged else {}
    result = job.execute_in_process(
        instance=instance, partition_key=CORPUS, tags=tags, raise_on_error=False
    )
    return result.success


if __name__ == "__main__":
    with open_instance(Home.from_environment()) as opened:
        run(opened, Path(sys.argv[1]), sys.argv[2] == "tagged")
