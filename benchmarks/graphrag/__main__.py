"""Indexing overhead of gsum and of the `graphrag` package, or of one of them.

    GSUM_MS_GRAPHRAG_PYTHON=DIR/bin/python python -m benchmarks.graphrag [--only SIDE] [--same]

Seven minutes on two quiet cores, nearly all of them the package's.
"""

import tempfile
from pathlib import Path

from benchmarks import MissingDataError
from benchmarks.graphrag import ours, overhead, theirs
from benchmarks.results import parser_of, publish


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, "python -m benchmarks.graphrag")
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
        publish("graphrag-same" if same else "graphrag", overhead.measure(same), arguments.store)
        return
    with tempfile.TemporaryDirectory() as root:
        folder = Path(root, only)
        if only == "graphrag":
            tables = [overhead.compared([overhead.run_theirs(folder, same)])]
        else:
            side = overhead.run_ours(folder, same)
            tables = [
                overhead.compared([side]),
                overhead.by_step(ours.spent(folder, side.usage)),
            ]
    publish(f"graphrag-{only}", tables, arguments.store)


if __name__ == "__main__":
    main()
