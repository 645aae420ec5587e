"""Indexing overhead of gsum and of the `graphrag` package, or of one of them.

    GSUM_MS_GRAPHRAG_PYTHON=DIR/bin/python python -m benchmarks.graphrag [--only SIDE] [--same]

Seven minutes on two quiet cores, nearly all of them the package's.
"""

import argparse
import tempfile
from pathlib import Path

from benchmarks import MissingDataError
from benchmarks.graphrag import ours, overhead, theirs


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.graphrag", description=__doc__)
    parser.add_argument("--only", choices=["gsum", "graphrag"], help="one side, without ratios")
    parser.add_argument(
        "--same", action="store_true", help="every passage names the same few things"
    )
    arguments = parser.parse_args()
    only, same = arguments.only, arguments.same
    if only != "gsum":
        try:
            theirs.python()
        except MissingDataError as error:
            parser.error(str(error))
    if only is None:
        for table in overhead.measure(same):
            table.show()
        return
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, only)
        if only == "graphrag":
            overhead.compared([overhead.run_theirs(folder, same)]).show()
            return
        side = overhead.run_ours(folder, same)
        overhead.compared([side]).show()
        overhead.by_step(ours.spent(folder, side.usage)).show()


if __name__ == "__main__":
    main()
