"""Every table of `gae`, as it is made.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.gae [TABLE ...]

About twenty minutes on two cores once vectors are kept, and twenty more before.
"""

import argparse
from collections.abc import Callable

from benchmarks import Measurement
from benchmarks.gae import refinement, retrieval, training

TABLES: dict[str, Callable[[], Measurement]] = {
    "training": training.measure,
    "stories": retrieval.stories,
    "meetings": retrieval.meetings,
    "refinement": refinement.measure,
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gae", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=TABLES, help="all unless told")
    for name in parser.parse_args().tables or TABLES:
        TABLES[name]().show()


if __name__ == "__main__":
    main()
