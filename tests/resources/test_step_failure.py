"""An error of a step in Dagster: its sentence comes first, and nothing hides it."""

import dagster as dg
import pytest

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.dagster_io.failure import explained
from gsum_resources.protocols.models import JudgeUnavailableError

AWAY = "server 'm' does not answer; check that it runs"


def _failed(error: Exception) -> dg.DagsterEvent:
    """Return the failure of an asset that raises an error from another one."""

    @dg.asset
    def asset() -> None:
        with explained():
            try:
                raise OSError("connection refused")
            except OSError as cause:
                raise error from cause

    instance = dg.DagsterInstance.ephemeral()
    result = dg.materialize([asset], raise_on_error=False, instance=instance)
    (event,) = (e for e in result.all_events if e.is_step_failure)
    return event


def test_an_unknown_error_keeps_its_stack() -> None:
    data = _failed(ZeroDivisionError("division by zero")).step_failure_data
    assert data.user_failure_data is not None
    assert data.user_failure_data.description == "ZeroDivisionError: division by zero"
    assert data.error is not None
    assert data.error.cause is not None
    assert data.error.cause.cls_name == "ZeroDivisionError"


@pytest.mark.parametrize(
    ("error", "attempt", "raised"),
    [
        (CorpusError(AWAY), 0, dg.Failure),
        (OSError(AWAY), 0, dg.Failure),
        (JudgeUnavailableError(AWAY), 0, dg.RetryRequested),
        (JudgeUnavailableError(AWAY), 2, dg.RetryRequested),
        (JudgeUnavailableError(AWAY), 3, dg.Failure),
        (JudgeUnavailableError(AWAY), None, dg.Failure),
    ],
)
def test_only_a_model_that_may_answer_later_is_tried_again(
    error: Exception, attempt: int | None, raised: type[Exception]
) -> None:
    with pytest.raises(raised), explained(attempt):
        raise error
