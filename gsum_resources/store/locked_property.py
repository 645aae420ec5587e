"""Attributes that several threads read and one of them computes."""

from collections.abc import Callable
from functools import cached_property, wraps
from threading import RLock
from typing import Any, TypeVar

Value = TypeVar("Value")


def locked_property(compute: Callable[[Any], Value]) -> cached_property[Value]:
    """Return a `cached_property` for which other threads wait while one computes it.

    Since Python 3.12 a plain `cached_property` is computed by each of them.
    """
    lock, name = RLock(), compute.__name__

    @wraps(compute)
    def once(owner: Any) -> Value:
        with lock:
            if name not in owner.__dict__:
                owner.__dict__[name] = compute(owner)
            return owner.__dict__[name]

    return cached_property(once)
