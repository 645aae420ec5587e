"""Verdicts of judges: grades of an answer, and duels of two answers to one question."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

OVERALL = "overall"
_MAX_REASON = 280  # characters


@dataclass(frozen=True)
class Grade:
    """Verdicts of a judge on an answer, mostly one, in the order of the repetitions.

    Attributes
    ----------
    share_shown : share of the answer's passages that the judge was shown; None: not shown any.
    """

    judge: str
    criterion: str
    verdicts: Sequence[str]
    reason: str
    is_own: bool = False
    share_shown: float | None = None


@dataclass(frozen=True)
class Duel:
    """Comparison of two methods on one question.

    Attributes
    ----------
    tallies : wins, ties, losses of `method` and unparsed replies, by criterion.
    reason : reason for a verdict on the overall winner.
    """

    method: str
    opponent: str
    tallies: Mapping[str, tuple[int, int, int, int]]
    reason: str


def grades_of(rows: Iterable[Mapping]) -> dict[str, list[Grade]]:
    """Return grades by method, from rows of `judgements` of one question."""
    by_key: dict[tuple[str, str, str], list[Mapping]] = defaultdict(list)
    for row in rows:
        if row["judge"] != "pairwise":
            by_key[row["method"], row["judge"], row["criterion"]].append(row)
    grades: dict[str, list[Grade]] = defaultdict(list)
    for (method, judge, criterion), same in sorted(by_key.items()):
        same.sort(key=lambda row: row["repeat"])
        verdicts = [row["verdict"] for row in same]
        reason, share = _shortened(same[0]["reason"]), same[0]["share_shown"]
        is_own = any(row["is_own"] for row in same)
        grades[method].append(Grade(judge, criterion, verdicts, reason, is_own, share))
    return grades


def duels_of(rows: Iterable[Mapping]) -> list[Duel]:
    """Return duels in order of the methods' names, from rows of `judgements` of one question."""
    by_pair: dict[tuple[str, str], list[Mapping]] = defaultdict(list)
    for row in rows:
        if row["judge"] == "pairwise":
            by_pair[row["method"], row["opponent"]].append(row)
    return [_duel(*pair, same) for pair, same in sorted(by_pair.items())]


def duel_criteria(duels: Sequence[Duel]) -> list[str]:
    """Return the criteria of all verdicts, the overall winner first."""
    given = {criterion for duel in duels for criterion in duel.tallies}
    return sorted(given, key=lambda criterion: (criterion != OVERALL, criterion))


def _duel(method: str, opponent: str, rows: Sequence[Mapping]) -> Duel:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row["criterion"]][row["verdict"]] += 1
    tallies = {
        criterion: (n["win"], n["tie"], n["loss"], n["unparsed"]) for criterion, n in counts.items()
    }
    parsed = [r for r in rows if r["criterion"] == OVERALL and r["verdict"] != "unparsed"]
    parsed.sort(key=lambda row: (row["repeat"], row["first"]))
    return Duel(method, opponent, tallies, _shortened(parsed[0]["reason"]) if parsed else "")


def _shortened(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= _MAX_REASON else f"{text[: _MAX_REASON - 1]}…"
