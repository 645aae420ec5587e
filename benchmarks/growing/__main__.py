"""Cost of growth, one measurement at a time.

    python -m benchmarks.growing size --chunks 3000 10000

`change` needs ODSum-Story and QMSum, see `benchmarks/README.md`.
"""

import argparse
from collections.abc import Callable, Sequence

# Each imports its module itself: gsum reads the environment when imported, where the folder of
# datasets that `change` needs is no setting of its own.


def _change(arguments: Sequence[str]) -> None:
    from benchmarks.growing import change

    change.main(arguments)


def _plan(arguments: Sequence[str]) -> None:
    from benchmarks.growing import plan

    plan.main(arguments)


def _size(arguments: Sequence[str]) -> None:
    from benchmarks.growing import size

    size.main(arguments)


MEASUREMENTS: dict[str, Callable[[Sequence[str]], None]] = {
    "change": _change,
    "plan": _plan,
    "size": _size,
}


def main() -> None:
    """Print the tables of one measurement; what follows its name is its own to read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growing", description=__doc__)
    parser.add_argument("name", choices=MEASUREMENTS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    MEASUREMENTS[chosen.name](chosen.arguments)


if __name__ == "__main__":
    main()
