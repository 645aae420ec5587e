"""Graph of Records compared with dense retrieval, ablations and baselines, over seeds.

    export GSUM_HOME=HOME
    gsum import qmsum FOLDER --corpus qmsum-60
    gsum import squality FOLDER --corpus squality-25
    gsum run qmsum-60 --methods gor,BASELINES && gsum run squality-25 --methods gor,BASELINES
    python -m benchmarks.gor --home HOME

with BASELINES those of `benchmarks.gor.tables`, and as FOLDER QMSum's val.jsonl.gz with the first
60 lines of its train.jsonl.gz, SQuALITY's dev.jsonl.gz with the first 25 of its train.jsonl.gz.
Networks are trained with several seeds on the documents of the split train, and measured on those
of val or dev. Where there is no split train, two networks learn from half of the documents each,
and are measured on the other half. Finished runs are kept in the home, so that a command that was
killed is resumed.

Everything takes about half an hour of one quiet core: few documents, few steps, small batches (the
method's own settings, 150 epochs in batches of 32, take hours for so many trainings).
"""

import argparse
from collections.abc import Iterator
from pathlib import Path

from benchmarks import Measurement
from benchmarks.gor.records import Records
from benchmarks.gor.runs import Trainer
from benchmarks.gor.tables import order_table, tables
from benchmarks.results import parser_of, publish


def measure(chosen: argparse.Namespace) -> Iterator[Measurement]:
    """The tables of each corpus, then the order of responses on the first."""
    corpora = [Records(chosen.home, name) for name in chosen.corpora.split(",")]
    for records in corpora:
        work = chosen.home / "benchmark-gor"
        trainer = Trainer(records, work, chosen.steps, chosen.batch)
        yield from tables(trainer, chosen.seeds)
    yield order_table(corpora[0])


if __name__ == "__main__":
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True, help="a home that `gsum run` filled")
    parser.add_argument("--corpora", default="qmsum-60,squality-25", help="comma-separated")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each method")
    parser.add_argument("--steps", type=int, default=150, help="of each training, at least")
    parser.add_argument("--batch", type=int, default=4, help="graphs a step")
    arguments = parser.parse_args()
    publish("gor", measure(arguments), arguments.store)
