"""Every table of LightPAL, as it is made.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.lightpal [TABLE ...]

About ten minutes on two cores once vectors are kept, and twenty more before.
"""

import argparse

from benchmarks.lightpal.tables import TABLES


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lightpal", description=__doc__)
    parser.add_argument("tables", nargs="*", choices=TABLES, help="all unless told")
    for name in parser.parse_args().tables or TABLES:
        TABLES[name]().show()


if __name__ == "__main__":
    main()
