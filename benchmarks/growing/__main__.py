"""Cost of growth, one measurement at a time.

    python -m benchmarks.growing size --chunks 3000 10000

`change` needs ODSum-Story and QMSum, see `benchmarks/README.md`.
"""

import argparse
from importlib import import_module

MEASUREMENTS = ("change", "size")


def main() -> None:
    """Print the tables of one measurement; what follows its name is its own to read."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.growing", description=__doc__)
    parser.add_argument("name", choices=MEASUREMENTS)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    chosen = parser.parse_args()
    # not at the top: gsum reads the environment when imported, which `change` sets before
    import_module(f"benchmarks.growing.{chosen.name}").main(chosen.arguments)


if __name__ == "__main__":
    main()
