"""A child process that kills itself in the midst of its work, at a step that is given by number.

A step is any change of state: a file written, renamed or removed, a transaction (an event of
Dagster's log is one), a call of a model.
"""

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

from sqlalchemy.engine.default import DefaultDialect

from gsum_resources.scoring.unigram import UnigramScorer
from tests.growing.home import Faltering
from tests.models import HashEmbedder

_PATIENCE_S = 900.0
_STEPS = (
    (os, "replace"),
    (os, "rename"),
    (os, "unlink"),
    (DefaultDialect, "do_commit"),
    (HashEmbedder, "embed"),
    (Faltering, "complete"),
    (UnigramScorer, "score"),
)


def killed_at(number: int, is_done: bool, work: Callable[[], object]) -> bool:
    """Do `work` in a child that dies before its step `number`, or after; whether it died.

    Raises
    ------
    AssertionError
        If the child fails otherwise.
    """
    child = os.fork()
    if not child:
        _live(number, is_done, work)
    deadline = time.monotonic() + _PATIENCE_S
    while True:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            break
        if time.monotonic() > deadline:  # a fork can inherit a lock that is never released
            os.kill(child, signal.SIGKILL)
        time.sleep(0.01)
    if os.WIFSIGNALED(status):
        return True
    assert not os.WEXITSTATUS(status), "the child failed by itself"
    return False


def _live(number: int, is_done: bool, work: Callable[[], object]) -> None:
    """The child's life; it never returns."""
    left = [number]

    def counted(step: Callable[..., Any]) -> Callable[..., Any]:
        def take(*arguments: Any, **named: Any) -> Any:
            left[0] -= 1
            if not left[0] and not is_done:
                os.kill(os.getpid(), signal.SIGKILL)
            result = step(*arguments, **named)
            if not left[0]:
                os.kill(os.getpid(), signal.SIGKILL)
            return result

        return take

    for owner, name in _STEPS:
        setattr(owner, name, counted(getattr(owner, name)))
    try:
        work()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)
    os._exit(0)
