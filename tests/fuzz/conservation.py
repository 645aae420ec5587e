"""Follows every word of generated files into the texts of their documents.

    python -m tests.fuzz.conservation [--documents 20] [--seed 0]

Prints for each format the share of the words that are kept, that are kept in order, that are
deleted, hidden or struck in the file and read as valid (revived), and of those left out that are
counted in `left_out`. Ends with status 1 if a word is lost or revived.
"""

import argparse
import random
import re
import sys
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence

from gsum_assets.corpus.conversion.formats import FORMATS, Converted
from gsum_assets.corpus.conversion.worker import convert
from tests.fuzz.word_files import KEPT, OUT, STRUCK, WRITERS, Part, document

DEPARTURES = {
    ".pdf": "lines that are drawn through text are not seen; nothing is deleted or hidden",
    ".xls": "not written: no library at hand writes it",
    ".xlsx": "hidden sheets are named, their words are not counted",
}


def words_in(*texts: str) -> list[str]:
    """Return the generated words of texts."""
    return re.findall("[a-z]+", " ".join(texts))


def shares(parts: Sequence[Part], read: Converted) -> tuple[Counter[str], dict[str, str]]:
    """Return the numbers of words of a file by their fate, and of each kind a word at fault."""
    positions = {word: index for index, word in enumerate(words_in(read.text))}
    marked = {*words_in(*re.findall("~~(.*?)~~", read.text, re.DOTALL))}
    counts, faults = Counter[str](), {}
    longest: list[int] = []  # run of words in order: the least ends of runs by their length
    for part in parts:
        for one in part.words:
            is_read, is_out = one in positions, part.kind in OUT
            is_revived = is_read and (is_out or (part.kind in STRUCK and one not in marked))
            counts["out"] += is_out
            counts["expected"] += not is_out
            counts["kept"] += is_read and not is_out
            counts["revived"] += is_revived
            counts["not valid"] += is_out or part.kind in STRUCK
            if is_revived or is_read == is_out or (part.kind in KEPT and one in marked):
                faults.setdefault(part.kind, one)
            if is_read and not is_out:
                at = bisect_left(longest, positions[one])
                longest[at : at + 1] = [positions[one]]
    numbers = re.findall(r"\(([\d,]+) words?\)", read.left_out)
    quoted = words_in(*re.findall('"([^"]*)"', read.left_out))
    n_named = sum(int(number.replace(",", "")) for number in numbers) + len(quoted)
    counts += Counter({"in order": len(longest), "named": min(n_named, counts["out"])})
    return counts, faults


def measured(suffix: str, n_documents: int, seed: int) -> tuple[Counter[str], dict[str, str]]:
    """Return the `shares` of generated files of one format together."""
    counts, faults = Counter[str](), {}
    for number in range(n_documents):
        written = WRITERS[suffix](document(random.Random(f"{seed} {number}")))
        of_file, more = shares(written.parts, convert(suffix, written.content))
        counts, faults = counts + of_file, {**more, **faults}
    return counts, faults


def main() -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.conservation", description=__doc__)
    parser.add_argument("--documents", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    columns = {"kept": "expected", "in order": "kept", "revived": "not valid", "named": "out"}
    print(f"| format | words | {' | '.join(columns)} | departure |\n{'|---' * 7}|")
    status = 0
    for suffix in FORMATS:
        counts, faults = Counter[str](), {}
        if suffix in WRITERS:
            counts, faults = measured(suffix, arguments.documents, arguments.seed)
        shown = (
            f"{counts[n] / counts[of]:.1%}" if counts[of] else "–" for n, of in columns.items()
        )
        said = [f"{kind}: {word}" for kind, word in faults.items()]
        said += [DEPARTURES[suffix]] if suffix in DEPARTURES else []
        n_words = counts["expected"] + counts["out"]
        print(f"| {suffix} | {n_words:,} | {' | '.join(shown)} | {'; '.join(said)} |")
        status |= bool(faults)
    return status


if __name__ == "__main__":
    sys.exit(main())
