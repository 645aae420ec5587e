"""Errors of gsum as Dagster's `Failure`: every error page begins with the sentence of the error."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from gsum_resources.protocols.models import ModelUnavailableError

ERROR = "error"
"""Key of the metadata of a `Failure`: name of the class of the error."""

_PAUSES_S = (120.0, 240.0, 480.0)
"""Before a step tries again whose model's server was away."""


@contextmanager
def explained(attempt: int | None = None) -> Iterator[None]:
    """Raise errors as `dg.Failure`, those of gsum without a chain of causes.

    Dagster would show their messages below the stacks of its own errors. The stack is in the run's
    log, at the level debug. Also a decorator, but not of generators.

    Parameter `attempt`: number of earlier attempts of a step that tries again where a model's
    server is away; None: it fails. A `RetryPolicy` of Dagster would try again what was canceled,
    too.
    """
    try:
        yield
    except Exception as error:
        name = type(error).__name__
        if not type(error).__module__.startswith("gsum"):
            raise dg.Failure(f"{name}: {error}") from error
        dg.get_dagster_logger().debug("".join(traceback.format_exception(error)))
        failure = dg.Failure(str(error), metadata={ERROR: name})
        # a model may answer later; all else fails again until somebody acts
        is_away = isinstance(error, ModelUnavailableError)
        if is_away and attempt is not None and attempt < len(_PAUSES_S):
            raise dg.RetryRequested(len(_PAUSES_S), _PAUSES_S[attempt]) from failure
        raise failure from None
