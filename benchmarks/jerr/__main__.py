"""Every table of `jerr`, as it is made.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.jerr [TABLE ...]

Some ten minutes on two cores, most of them for the synopses of SQuALITY dev, which are kept.
"""

import argparse
from collections.abc import Callable

from benchmarks.jerr import near_duplicates, recall, tree_search

TABLES: dict[str, Callable[[], None]] = {
    "near_duplicates": near_duplicates.measure,
    "tree_search": tree_search.measure,
    "recall": lambda: recall.measure().show(),
}


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.jerr", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=TABLES, help="all unless told")
    for name in parser.parse_args().tables or TABLES:
        TABLES[name]()


if __name__ == "__main__":
    main()
