"""Types of arguments of the commands."""

from typing import Any

import click


class PassageNumbers(click.ParamType):
    """Numbers from 1, separated by commas."""

    name = "numbers"

    def convert(self, value: Any, param: Any, ctx: Any) -> list[int]:
        """Return the distinct numbers, ascending."""
        numbers = [number.strip() for number in str(value).split(",")]
        if not all(number.isdecimal() and int(number) > 0 for number in numbers):
            self.fail(f"'{value}' is no list of numbers from 1, like 1,3,6", param, ctx)
        return sorted({int(number) for number in numbers})


def listed(names: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]
