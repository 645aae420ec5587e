"""Grades of answers that quote documents, by what they must and must not contain.

Texts are compared by their words and numbers: case, punctuation and the separators of thousands do
not count, so that "children: 24" is found in "| Children | 24 |", and "21,730" in "21730".
"""

import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

GRADES = ("right", "half", "wrong", "refused", "not refused")
_THOUSANDS = re.compile(r"(?<=\d)[.,](?=\d{3}\b)")
_TOKEN = re.compile(r"\d+(?:[.,:]\d+)*|[^\W\d_]+")
_SENTENCE_END = re.compile(r"(?<=\w{3}[.!?])\s+(?=[^\W_a-z])|\n+")
_OF_RECORD = 0.8  # share of a sentence's words that a record has if the sentence is part of it


@dataclass(frozen=True)
class Question:
    """A question with what a right answer contains.

    Attributes
    ----------
    folder : of the documents.
    kind : what makes it difficult: "record", "time", "negation" …
    split : "dev" for those that methods may be tuned on, else "test".
    must : what must be quoted, alternatives separated by " | ", "#" for any number; empty: the
        documents do not answer the question, and it must be refused.
    must_not : what must not be quoted, because it misleads.
    at : parts of the paths of the files with the answer; empty: foreign sentences are not counted.
    """

    folder: Path
    ask: str
    kind: str
    split: str
    must: Sequence[str] = ()
    must_not: Sequence[str] = ()
    at: Sequence[str] = ()


class Graded(NamedTuple):
    """One of `GRADES`, and two shares, of which each is None where it does not apply.

    `kept` is that of `must` that is quoted, `foreign` that of sentences that are foreign.
    """

    grade: str
    kept: float | None
    foreign: float | None


def questions_in(path: Path, folder: Path) -> list[Question]:
    """Return the questions of a TOML file about a folder; its tables are named `[[SPLIT.KIND]]`.

    Raise `ValueError` for a question that has not either `must` or `refuse = true`.
    """
    questions = []
    for split, kinds in tomllib.loads(path.read_text("utf-8")).items():
        for kind, row in ((kind, row) for kind, rows in kinds.items() for row in rows):
            if row.pop("refuse", False) == bool(row.get("must")):
                raise ValueError(f"{path}: {row['ask']!r} needs either 'must' or 'refuse = true'")
            questions.append(Question(folder, kind=kind, split=split, **row))
    return questions


def graded(question: Question, answer: str, is_refusal: bool, records: Sequence[str]) -> Graded:
    """Return the grade of an answer.

    It is right if it quotes all that must be quoted and nothing that must not, and half right if it
    quotes a part, or something that must not be quoted, too. A sentence is foreign if it contains
    nothing that must be quoted, and no record that does has 80% of its words.

    Parameters
    ----------
    records : of the files with the answer, see `records_of`.
    """
    if not question.must:
        return Graded("right" if is_refusal else "not refused", None, None)
    kept = sum(has(answer, text) for text in question.must) / len(question.must)
    misleads = any(has(answer, text) for text in question.must_not)
    if kept:
        grade = "right" if kept == 1 and not misleads else "half"
    else:
        grade = "refused" if is_refusal else "wrong"
    sentences = [text for text in _SENTENCE_END.split(answer) if tokens(text)]
    if is_refusal or not question.at or not sentences:
        return Graded(grade, kept, None)
    needed = [set(tokens(text)) for text in records if any(has(text, m) for m in question.must)]
    n_own = 0
    for sentence in sentences:
        words = tokens(sentence)
        n_shared = max((sum(w in record for w in words) for record in needed), default=0)
        is_quoted = any(has(sentence, text) for text in question.must)
        n_own += is_quoted or n_shared >= _OF_RECORD * len(words)
    return Graded(grade, kept, 1 - n_own / len(sentences))


def has(text: str, needed: str) -> bool:
    """Return whether a text contains one of the alternatives of `needed` as whole words."""
    words = f" {' '.join(tokens(text))} "
    alternatives = (map(tokens, one.split("#")) for one in needed.split(" | "))
    patterns = (r" \d+ ".join(re.escape(" ".join(part)) for part in one) for one in alternatives)
    return any(re.search(f" {pattern.strip()} ", words) for pattern in patterns)


def tokens(text: str) -> list[str]:
    """Return the words and numbers of a text in lower case, numbers without separators."""
    return _TOKEN.findall(_THOUSANDS.sub("", text.casefold()))


def records_of(question: Question) -> list[str]:
    """Return the records of the text files with the answer, each with the name of its file."""
    return [
        f"{path.stem}\n{record}"
        for path in sorted(question.folder.rglob("*.*"))
        if any(part in str(path.relative_to(question.folder)) for part in question.at)
        for record in records_in(path.read_text("utf-8", errors="ignore"), path.suffix == ".csv")
    ]


def records_in(text: str, is_table: bool = False) -> Iterator[str]:
    """Yield the records of a text with its first line and their heading.

    A record is a row of a table with the header, or what stands between blank lines, with the line
    before if that ends with a colon.
    """
    text = re.sub(r"<[^>\n]*?(?: ([^>\n]*))?>", r" \1 ", text).strip()  # markup
    first, heading, lead = text.partition("\n")[0], "", ""
    for block in re.split(r"\n\s*\n", text):
        if block.startswith("#"):
            heading = block
        elif block.rstrip().endswith(":"):
            lead = block
            continue
        header, *rows = block.split("\n")
        is_rows = is_table or header.startswith("|")
        for record in rows if is_rows else [block]:
            yield "\n".join((first, heading, lead, header if is_rows else "", record))
        lead = ""
