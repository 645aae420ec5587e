"""Every table of LightPAL, as it is made; what takes longest is PromptRank.

GSUM_DATASETS=../shared/datasets python -m benchmarks.lightpal [TABLE ...]
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
