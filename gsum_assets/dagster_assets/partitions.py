"""The one partition dimension of all assets, and names that several modules use."""

import dagster as dg

CORPORA = "corpora"
corpora = dg.DynamicPartitionsDefinition(name=CORPORA)
"""One partition for each folder under `corpora/`; the sensor or the command line adds it."""

PARTITION = "dagster/partition"
"""Dagster's tag of the partition of a run."""

COMMAND = "gsum/command"
"""Tag of a run that `gsum run` executes in its own process: the holder of the corpus's lock."""

GSUM = "gsum"
"""Key of the resource that opens the home for the steps of a run."""


def command_of(run: dg.DagsterRun) -> str | None:
    """Return the `COMMAND` of a run; None of another run, also of one that repeats a command's."""
    return None if run.parent_run_id else run.tags.get(COMMAND)
