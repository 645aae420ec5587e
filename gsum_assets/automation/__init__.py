"""Automation: conditions, sensors, jobs and schedules.

`staleness` finds from the warehouse which partitions are due, `attempts` from Dagster's run log
which failed; `conditions` combines both into the automation condition that the daemon and
`gsum run` evaluate. `sensors` watches the corpora and only looks, `reconcile` does what it finds in
runs, `record` lets Dagster's record follow the warehouse. `jobs` contains jobs and schedules,
`freshness` confirms results that are up to date, which would be late otherwise.
"""
