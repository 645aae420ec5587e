"""Dagster's run launcher, which also cancels a run that is computed in the process of another."""

import dagster as dg

CONTINUES = "gsum/continues"
"""Tag of a run in the process of a run that the daemon has started: the id of that run."""


class RunLauncher(dg.DefaultRunLauncher):
    """Starts a process for each run; named in `dagster.yaml`."""

    def terminate(self, run_id: str) -> bool:
        """Cancel a run; one in the process of another run together with that."""
        run = self._instance.get_run_by_id(run_id)
        if run is None or run.is_finished or CONTINUES not in run.tags:
            return super().terminate(run_id)
        self._instance.report_run_canceling(run)
        return super().terminate(run.tags[CONTINUES])
