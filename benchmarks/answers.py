"""Answers to the questions of `tests/answers/` without a language model, graded by kind.

    python -m benchmarks.answers [--collection ferry] [--kind count] [--split dev] [--json FILE]
    python -m benchmarks.answers --folder DOCUMENTS --questions QUESTIONS.toml

imports each collection into a home, asks every question as `gsum ask` does, and prints how many
answers quote what they must, what else they quote, and which questions are refused.
"""

import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path

import pandas as pd

from benchmarks import Measurement
from benchmarks.answer_grades import GRADES, Question, graded, questions_in, records_of

ROOT = Path(__file__).parents[1]
COLLECTIONS = ROOT / "tests" / "answers"
MEANS = {"read": ".0%", "kept": ".0%", "foreign": ".0%", "words": ".0f", "seconds": ".2f"}
HEADER = ("", "questions", *GRADES, *MEANS)
NOTES = """Right: quotes all that it must and nothing misleading; half: a part of it, or something
misleading, too. Refused: though the documents answer it; not refused: though they do not. Read:
share of what must be quoted that the passages found have; kept: that the answer has. Foreign: share
of sentences that neither contain it nor are part of a record that does. Words: of answers that are
not refused."""


def measure() -> Iterator[Measurement]:
    """Yield the tables of all questions."""
    with tempfile.TemporaryDirectory() as home:
        yield from tables(ask_all(own_questions(), Path(home)))


def own_questions() -> list[Question]:
    """Return the questions of the project."""
    files = sorted(COLLECTIONS.glob("*.toml"))
    return [question for path in files for question in questions_in(path, path.with_suffix(""))]


def ask_all(questions: Sequence[Question], home: Path, tree: Path = ROOT) -> pd.DataFrame:
    """Import the folders of questions into a home, and return the questions with graded answers.

    Parameter `tree`: checkout whose code imports; it also answers if it is first in `sys.path`.
    """
    folders = {question.folder.name: question.folder for question in questions}
    for name, folder in folders.items():
        shutil.rmtree(home / "corpora" / name, ignore_errors=True)
        shutil.copytree(folder, home / "corpora" / name)
    environment = os.environ | {"GSUM_HOME": str(home), "PYTHONPATH": str(tree)}
    command = [sys.executable, "-P", "-m", "gsum_assets.cli.main", "run", *folders]
    subprocess.run(command, env=environment, check=True, stdout=sys.stderr)

    import gsum

    opened, rows = gsum.open(home), []
    for question in questions:
        start = time.perf_counter()
        answer = opened.ask(question.folder.name, question.ask)
        row = asdict(question) | {"seconds": time.perf_counter() - start, "answer": answer.text}
        row["collection"] = row.pop("folder").name
        row["words"] = None if answer.is_refusal else len(answer.text.split())
        row["read"] = graded(question, "\n".join(answer.sources["text"]), False, ()).kept
        quoted = without_labels(answer.text, answer.sources["title"])
        grade = graded(question, quoted, answer.is_refusal, records_of(question))
        rows.append(row | grade._asdict())
    return pd.DataFrame(rows)


def without_labels(answer: str, titles: Iterable[str]) -> str:
    """Return an answer without the lines that only name one of the documents."""
    names = tuple(titles)
    lines = answer.splitlines()
    return "\n".join(line for line in lines if not (line.endswith(":") and line.startswith(names)))


def tables(asked: pd.DataFrame) -> Iterator[Measurement]:
    """Yield the tables by kind of question, collection and split."""
    for name in ("kind", "collection", "split"):
        groups = [*asked.groupby(name, sort=False), ("all", asked)]
        rows = [[str(label), *cells_of(rows)] for label, rows in groups]
        yield Measurement(f"Answers without a language model, by {name}", NOTES, HEADER, rows)


def cells_of(asked: pd.DataFrame) -> list[str]:
    """Return the cells of `HEADER` for some questions; means are over those that have a value."""
    counts = [len(asked), *((asked["grade"] == grade).sum() for grade in GRADES)]
    means = asked[list(MEANS)].astype(float).mean().to_dict()
    shown = ("" if math.isnan(means[name]) else format(means[name], MEANS[name]) for name in MEANS)
    return [*map(str, counts), *shown]


def main() -> None:
    """Print the tables of the chosen questions."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--collection", help="name of one of the collections")
    parser.add_argument("--kind", help="kind of question")
    parser.add_argument("--split", help="dev or test")
    parser.add_argument("--folder", type=Path, help="documents of another collection")
    parser.add_argument("--questions", type=Path, help="its questions, TOML")
    parser.add_argument("--home", type=Path, help="home that stays: only changes are computed")
    parser.add_argument("--tree", type=Path, default=ROOT, help="checkout whose code answers")
    parser.add_argument("--json", type=Path, help="file for the answers with their grades")
    given = parser.parse_args()
    if (given.folder is None) != (given.questions is None):
        parser.error("--folder and --questions belong together")
    questions = own_questions()
    if given.folder:
        questions = questions_in(given.questions, given.folder.resolve())
    chosen = [
        question
        for question in questions
        if given.collection in (None, question.folder.name)
        and given.kind in (None, question.kind)
        and given.split in (None, question.split)
    ]
    if not chosen:
        parser.error("no question is of this collection, kind and split; see tests/answers/*.toml")
    sys.path.insert(0, str(given.tree.resolve()))
    with tempfile.TemporaryDirectory() as temporary:
        asked = ask_all(chosen, given.home or Path(temporary), given.tree.resolve())
    if given.json:
        asked.to_json(given.json, orient="records", indent=1, force_ascii=False)
    for table in tables(asked):
        table.show()


if __name__ == "__main__":
    main()
