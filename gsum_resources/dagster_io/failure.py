"""Errors of a step as Dagster's `Failure`, whose first line is the reason and not a stack."""

import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import dagster as dg

from gsum_resources.protocols.models import ModelUnavailableError

ERROR = "error"
"""Key of the metadata of a `Failure`: name of the class of the error."""


@contextmanager
def explained(debug: Callable[[str], object]) -> Iterator[None]:
    """Raise errors of gsum as `dg.Failure` without a chain of causes; others pass.

    Their messages name object, value and remedy. Dagster would show them below the stacks of its
    own errors.

    Parameters
    ----------
    debug : called with the stack, for the run's log.
    """
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("gsum"):
            raise
        debug("".join(traceback.format_exception(error)))
        name = type(error).__name__
        # a model may answer later; all else fails again until somebody acts
        may_pass = isinstance(error, ModelUnavailableError)
        failure = dg.Failure(str(error), metadata={ERROR: name}, allow_retries=may_pass)
        raise failure from None
