"""The executor of runs: in one process, which may continue once the run's own steps have ended."""

import logging
from collections.abc import Callable, Iterator
from typing import Any

import dagster as dg

Continuation = Callable[[dg.DagsterInstance, dg.DagsterRun, logging.Logger], None]


class _Continued(dg.Executor):
    """Executes the steps in this process, and calls `proceed` unless one of them failed."""

    def __init__(self, inner: dg.Executor, proceed: Continuation) -> None:
        self._inner = inner
        self._proceed = proceed

    @property
    def retries(self) -> Any:
        """Whether steps are retried in this process."""
        return self._inner.retries

    def execute(self, plan_context: Any, execution_plan: Any) -> Iterator[dg.DagsterEvent]:
        """Yield the events of the steps."""
        has_failed = False
        for event in self._inner.execute(plan_context, execution_plan):
            has_failed |= event.is_failure
            yield event
        if not has_failed:
            self._proceed(plan_context.instance, plan_context.dagster_run, plan_context.log)


def continued_executor(proceed: Continuation) -> dg.ExecutorDefinition:
    """Return Dagster's executor of one process a run, so that models are loaded once.

    Parameters
    ----------
    proceed : called in that process, still within the run, once its steps have succeeded. Not
        called for a run that a command executes in its own process.
    """
    in_process = dg.in_process_executor
    schema: Any = in_process.config_schema

    @dg.executor(name=in_process.name, config_schema=schema)
    def continued(context: dg.InitExecutorContext) -> dg.Executor:
        assert in_process.executor_creation_fn
        return _Continued(in_process.executor_creation_fn(context), proceed)

    return continued
