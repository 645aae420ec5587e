"""Errors of gsum as Dagster's `Failure`, whose first line is the reason and not a stack.

Whatever Dagster calls in a run is wrapped by `explained`: only so every error page begins with the
sentence of the error.
"""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager

import dagster as dg

from gsum_resources.protocols.models import ModelUnavailableError

ERROR = "error"
"""Key of the metadata of a `Failure`: name of the class of the error."""


@contextmanager
def explained(may_wait: bool = False) -> Iterator[None]:
    """Raise errors as `dg.Failure`, those of gsum without a chain of causes.

    Their messages name object, value and remedy. Dagster would show them below the stacks of its
    own errors. The stack is in the run's log, at the level debug. Other errors keep their stack;
    Dagster would try them again, too. Also a decorator, but not of generators.

    Parameters
    ----------
    may_wait : whether a step may try again later whose model's server was away.
    """
    try:
        yield
    except Exception as error:
        name = type(error).__name__
        if not type(error).__module__.startswith("gsum"):
            raise dg.Failure(f"{name}: {error}", allow_retries=False) from error
        dg.get_dagster_logger().debug("".join(traceback.format_exception(error)))
        # a model may answer later; all else fails again until somebody acts
        may_pass = may_wait and isinstance(error, ModelUnavailableError)
        failure = dg.Failure(str(error), metadata={ERROR: name}, allow_retries=may_pass)
        raise failure from None
