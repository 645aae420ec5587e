"""Every table of `gae`, as it is made.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.gae [TABLE ...]

About half an hour on two cores once vectors are kept, and twenty minutes more before.
"""

import argparse

from benchmarks.gae.tables import TABLES


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gae", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=TABLES, help="all unless told")
    for name in parser.parse_args().tables or TABLES:
        TABLES[name]().show()


if __name__ == "__main__":
    main()
