"""Train the packaged weights of `evidence` on QMSum train, after a cross-validation by meeting.

    python -m benchmarks.evidence train ../shared/datasets/qmsum --precision bfloat16

FOLDER has the official train.jsonl.gz. Embedding its sentences takes ten minutes on one core; their
vectors are kept in the system's folder for temporary files.
"""

from pathlib import Path

from benchmarks.evidence import training
from benchmarks.evidence.encoders import Recipe
from benchmarks.evidence.meetings import load
from benchmarks.results import parser_of, publish
from gsum_assets.evidence.network import packaged


def main() -> None:
    """Print the cross-validation and write the weights."""
    parser = parser_of(__doc__, "python -m benchmarks.evidence")
    parser.add_argument("command", choices=["train"])
    parser.add_argument("folder", type=Path, help="with the official files")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seeds", type=int, default=training.N_SEEDS)
    parser.add_argument("--weights", type=Path, default=packaged(), help="file that is written")
    chosen = parser.parse_args()
    meetings = load(chosen.folder / "train.jsonl.gz", chosen.precision)
    recipe = Recipe()
    publish("evidence-train", training.measure(meetings, recipe, chosen.seeds), chosen.store)
    # after the measurement, so that it is of the committed weights
    data = training.write(meetings, recipe, chosen.seeds, chosen.weights)
    print(f"wrote {chosen.weights}: {data}")


if __name__ == "__main__":
    main()
