"""What judges said: grades of an answer, and duels of two answers to one question."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

OVERALL = "overall"
_MAX_REASON = 280  # characters


@dataclass(frozen=True)
class Grade:
    """What a judge said of an answer, mostly once; `verdicts` in the order of the repeats.

    Attributes
    ----------
    is_own : whether the judge wrote the answer.
    share_shown : of what the answer was written from; None: the judge was not shown that.
    """

    judge: str
    criterion: str
    verdicts: Sequence[str]
    reason: str
    is_own: bool = False
    share_shown: float | None = None


@dataclass(frozen=True)
class Duel:
    """Two methods on one question.

    Attributes
    ----------
    tallies : wins, ties, losses of `method` and unparsed replies, by criterion.
    reason : of a verdict on the overall winner.
    """

    method: str
    opponent: str
    tallies: Mapping[str, tuple[int, int, int, int]]
    reason: str


def grades_of(rows: Iterable[Mapping]) -> dict[str, list[Grade]]:
    """Grades by method, from rows of `judgements` of one question."""
    by_key: dict[tuple[str, str, str], list[Mapping]] = defaultdict(list)
    for row in rows:
        if row["judge"] != "pairwise":
            by_key[row["method"], row["judge"], row["criterion"]].append(row)
    found: dict[str, list[Grade]] = defaultdict(list)
    for (method, judge, criterion), same in sorted(by_key.items()):
        same.sort(key=lambda row: row["repeat"])
        verdicts = [row["verdict"] for row in same]
        reason, share = _shortened(same[0]["reason"]), same[0]["share_shown"]
        is_own = any(row["is_own"] for row in same)
        found[method].append(Grade(judge, criterion, verdicts, reason, is_own, share))
    return found


def duels_of(rows: Iterable[Mapping]) -> list[Duel]:
    """Duels in order of the methods' names, from rows of `judgements` of one question."""
    by_pair: dict[tuple[str, str], list[Mapping]] = defaultdict(list)
    for row in rows:
        if row["judge"] == "pairwise":
            by_pair[row["method"], row["opponent"]].append(row)
    return [_duel(*pair, same) for pair, same in sorted(by_pair.items())]


def duel_criteria(duels: Sequence[Duel]) -> list[str]:
    """The criteria that any of the duels has a verdict on, the overall winner first."""
    given = {criterion for duel in duels for criterion in duel.tallies}
    return sorted(given, key=lambda criterion: (criterion != OVERALL, criterion))


def _duel(method: str, opponent: str, rows: Sequence[Mapping]) -> Duel:
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for row in rows:
        counts[row["criterion"]][row["verdict"]] += 1
    tallies = {
        criterion: (n["win"], n["tie"], n["loss"], n["unparsed"]) for criterion, n in counts.items()
    }
    told = [r for r in rows if r["criterion"] == OVERALL and r["verdict"] != "unparsed"]
    told.sort(key=lambda row: (row["repeat"], row["first"]))
    return Duel(method, opponent, tallies, _shortened(told[0]["reason"]) if told else "")


def _shortened(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= _MAX_REASON else f"{text[: _MAX_REASON - 1]}…"
