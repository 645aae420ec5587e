"""Weights of `evidence`, and what it finds and answers on QMSum val.

    python -m benchmarks.evidence train ../shared/datasets/qmsum
    python -m benchmarks.evidence tried ../shared/datasets/qmsum
    python -m benchmarks.evidence prose ../shared/datasets/squality
    python -m benchmarks.evidence general ../shared/datasets/qmsum
    python -m benchmarks.evidence finetune ../shared/datasets/qmsum
    python -m benchmarks.evidence val ../shared/datasets/qmsum
    python -m benchmarks.evidence squality ../shared/datasets/squality

`train` prints a cross-validation by meeting on train.jsonl.gz, and writes the packaged weights,
trained on all its meetings. `tried` compares other models, losses and features on the same file,
and `prose` on train.jsonl.gz of stories. `general` chooses sets of passages for
questions about everything, of train.jsonl.gz of meetings or stories. `finetune` measures what
training on a corpus of its own gives to weights that were trained on other kinds of meetings. `val`
measures the packaged weights on val.jsonl.gz, and `squality` on dev.jsonl.gz of stories; run each
once, at the end. Most of the time embeds sentences, ten minutes for train on one core; their
vectors are kept in the system's folder for temporary files.
"""

from dataclasses import replace
from pathlib import Path

from benchmarks.evidence import finetuning, prose, sets, training, tried, validation
from benchmarks.evidence.meetings import load
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.importers.qmsum import read_qmsum
from gsum_assets.corpus.importers.squality import read_squality
from gsum_assets.evidence.training import Recipe
from gsum_assets.evidence.weights import FILE

ON_TRAIN = {
    "train": read_qmsum,
    "tried": read_qmsum,
    "prose": read_squality,
    "general": lambda file: (read_squality if "squality" in str(file) else read_qmsum)(file),
    "finetune": read_qmsum,
}
"""Commands that read a train split, with its reader."""


def main() -> None:
    """Print the tables of a command."""
    parser = parser_of(__doc__, "python -m benchmarks.evidence")
    parser.add_argument("command", choices=[*ON_TRAIN, *validation.BENCHMARKS])
    parser.add_argument("folder", type=Path, help="with the official files")
    parser.add_argument("--precision", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--seeds", type=int, default=Recipe().n_seeds, help="of train and tried")
    chosen = parser.parse_args()
    if chosen.command in validation.BENCHMARKS:
        measured = validation.run(validation.BENCHMARKS[chosen.command], chosen.folder)
        publish(f"evidence-{chosen.command}", measured, chosen.store)
        return
    read = ON_TRAIN[chosen.command]
    file, is_general = chosen.folder / "train.jsonl.gz", chosen.command == "general"
    meetings = load(file, read, chosen.precision, with_sentences=not is_general)
    recipe = replace(Recipe(), n_seeds=chosen.seeds)
    measures = {
        "train": lambda: training.measure(meetings, recipe),
        "tried": lambda: tried.run(meetings, recipe),
        "prose": lambda: prose.measure(meetings),
        "general": lambda: sets.measure(meetings),
        "finetune": lambda: finetuning.measure(meetings),
    }
    publish(f"evidence-{chosen.command}", measures[chosen.command](), chosen.store)
    if chosen.command == "train":  # after the measurement, so that it is of the committed weights
        print(f"wrote {FILE}: {training.write(meetings, recipe)}")


if __name__ == "__main__":
    main()
