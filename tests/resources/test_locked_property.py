"""What threads share is computed once."""

import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from gsum_resources.store.locked_property import locked_property


class Settings:
    def __init__(self) -> None:
        self.attempts = 0

    @locked_property
    def value(self) -> object:
        """Documented."""
        self.attempts += 1
        time.sleep(0.02)  # meanwhile other threads ask for it
        return object()

    @locked_property
    def fails_once(self) -> int:
        self.attempts += 1
        if self.attempts == 1:
            raise ValueError("not yet")
        return 7


def test_threads_read_one_value_of_each_object() -> None:
    one, other = Settings(), Settings()
    with ThreadPoolExecutor(4) as pool:
        values = list(pool.map(lambda settings: settings.value, [one, one, other, one]))
    assert values[0] is values[1] is values[3] is one.value
    assert values[2] is other.value is not one.value
    assert (one.attempts, other.attempts) == (1, 1)
    assert Settings.value.__doc__ == "Documented."


def test_a_failure_is_not_kept() -> None:
    settings = Settings()
    with pytest.raises(ValueError, match="not yet"):
        _ = settings.fails_once
    assert settings.fails_once == 7
