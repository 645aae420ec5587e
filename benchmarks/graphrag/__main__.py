"""Indexing overhead of gsum and of the `graphrag` package, or of one of them.

    GSUM_MS_GRAPHRAG_PYTHON=DIR/bin/python python -m benchmarks.graphrag [--only gsum|graphrag]

Ten minutes where other work goes on, nearly all of it the package's.
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
    only = parser.parse_args().only
    if only != "gsum":
        try:
            theirs.python()
        except MissingDataError as error:
            parser.error(str(error))
    if only is None:
        for table in overhead.measure():
            table.show()
        return
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, only)
        if only == "graphrag":
            overhead.compared([overhead.run_theirs(folder)]).show()
            return
        side = overhead.run_ours(folder)
        overhead.compared([side]).show()
        overhead.by_step(ours.spent(folder, side.usage)).show()


if __name__ == "__main__":
    main()
