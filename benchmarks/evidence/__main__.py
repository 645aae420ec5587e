"""Weights of `evidence`, and what it finds and answers on QMSum val.

    python -m benchmarks.evidence train ../shared/datasets/qmsum
    python -m benchmarks.evidence finetune ../shared/datasets/qmsum
    python -m benchmarks.evidence val ../shared/datasets/qmsum
    python -m benchmarks.evidence squality ../shared/datasets/squality

`train` prints a cross-validation by meeting on train.jsonl.gz, and writes the packaged weights,
trained on all its meetings. `finetune` measures on the same file what training on a corpus of its
own gives to weights that were trained on other kinds of meetings. `val` measures the packaged
weights on val.jsonl.gz, and `squality` on dev.jsonl.gz of stories; run each once, at the end. Most
of the time embeds sentences, ten minutes for train on one core; their vectors are kept in the
system's folder for temporary files.
"""

from dataclasses import replace
from pathlib import Path

from benchmarks.evidence import finetuning, training, validation
from benchmarks.evidence.meetings import load
from benchmarks.results import parser_of, publish
from gsum_assets.evidence.training import Recipe
from gsum_assets.evidence.weights import FILE


def main() -> None:
    """Print the tables of a command."""
    parser = parser_of(__doc__, "python -m benchmarks.evidence")
    parser.add_argument("command", choices=["train", "finetune", *validation.BENCHMARKS])
    parser.add_argument("folder", type=Path, help="with the official files")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seeds", type=int, default=Recipe().n_seeds, help="of train")
    chosen = parser.parse_args()
    if chosen.command in validation.BENCHMARKS:
        measured = validation.run(validation.BENCHMARKS[chosen.command], chosen.folder)
        publish(f"evidence-{chosen.command}", measured, chosen.store)
        return
    meetings = load(chosen.folder / "train.jsonl.gz", precision=chosen.precision)
    if chosen.command == "finetune":
        publish("evidence-finetune", finetuning.measure(meetings), chosen.store)
        return
    recipe = replace(Recipe(), n_seeds=chosen.seeds)
    # stored before the weights change, which belong to the state that is measured
    publish("evidence-train", training.measure(meetings, recipe), chosen.store)
    print(f"wrote {FILE}: {training.write(meetings, recipe)}")


if __name__ == "__main__":
    main()
