"""Train the packaged weights of `evidence` on QMSum train, after a cross-validation by meeting.

    python -m benchmarks.evidence train ../shared/datasets/qmsum --precision bfloat16

FOLDER has the official train.jsonl.gz. Embedding its sentences takes ten minutes on one core; their
vectors are kept in the system's folder for temporary files.
"""

from dataclasses import replace
from pathlib import Path

from benchmarks.evidence import training
from benchmarks.evidence.meetings import load
from benchmarks.results import parser_of, publish
from gsum_assets.evidence.training import Recipe
from gsum_assets.evidence.weights import packaged


def main() -> None:
    """Print the cross-validation and write the weights."""
    parser = parser_of(__doc__, "python -m benchmarks.evidence")
    parser.add_argument("command", choices=["train"])
    parser.add_argument("folder", type=Path, help="with the official files")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seeds", type=int, default=Recipe().n_seeds)
    parser.add_argument("--weights", type=Path, default=packaged(), help="file that is written")
    chosen = parser.parse_args()
    meetings = load(chosen.folder / "train.jsonl.gz", chosen.precision)
    recipe = replace(Recipe(), n_seeds=chosen.seeds)
    publish("evidence-train", training.measure(meetings, recipe), chosen.store)
    # after the measurement, so that it is of the committed weights
    print(f"wrote {chosen.weights}: {training.write(meetings, recipe, chosen.weights)}")


if __name__ == "__main__":
    main()
