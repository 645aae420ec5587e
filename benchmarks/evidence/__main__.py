"""Weights of `evidence`, and what it finds and answers on QMSum val.

    python -m benchmarks.evidence train ../shared/datasets/qmsum
    python -m benchmarks.evidence val ../shared/datasets/qmsum

`train` prints a cross-validation by meeting on train.jsonl.gz, and writes the packaged weights,
trained on all its meetings. `val` measures them on val.jsonl.gz; run it once, at the end. Most of
the time embeds sentences, ten minutes for train on one core; their vectors are kept in the system's
folder for temporary files.
"""

from pathlib import Path

from benchmarks.evidence import training, validation
from benchmarks.results import parser_of, publish
from gsum_assets.evidence.training import Recipe


def main() -> None:
    """Print the tables of a command."""
    parser = parser_of(__doc__, "python -m benchmarks.evidence")
    parser.add_argument("command", choices=["train", "val"])
    parser.add_argument("folder", type=Path, help="with the official files of QMSum")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seeds", type=int, default=Recipe().n_seeds, help="of train")
    chosen = parser.parse_args()
    if chosen.command == "train":
        tables = training.run(chosen.folder, chosen.precision, chosen.seeds)
    else:
        tables = validation.run(chosen.folder)
    publish(f"evidence-{chosen.command}", tables, chosen.store)


if __name__ == "__main__":
    main()
