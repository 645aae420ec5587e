"""Verdicts of judges: grades of an answer, and duels of two answers to one question."""

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from gsum_assets.evaluation.judges.bias import grouped

OVERALL = "overall"
_MAX_REASON = 280  # characters


class Grade(NamedTuple):
    """Verdicts of a judge on an answer, mostly one, in the order of the repetitions."""

    criterion: str
    verdicts: Sequence[str]
    reason: str
    is_own: bool
    share_shown: float | None


class Duel(NamedTuple):
    """Wins, ties, losses of `method` and unparsed replies on one question, by criterion.

    The reason is that for a verdict on the overall winner.
    """

    method: str
    opponent: str
    tallies: Mapping[str, tuple[int, int, int, int]]
    reason: str


def grades_of(rows: Sequence[dict]) -> dict[str, list[Grade]]:
    """Return grades by method, from rows of `judgements` of one question."""
    ratings = [row for row in rows if row["judge"] != "pairwise"]
    grades: dict[str, list[Grade]] = defaultdict(list)
    for (method, _, criterion), same in grouped(ratings, "method", "judge", "criterion").items():
        same.sort(key=lambda row: row["repeat"])
        verdicts = [row["verdict"] for row in same]
        reason, share = _shortened(same[0]["reason"]), same[0]["share_shown"]
        is_own = any(row["is_own"] for row in same)
        grades[method].append(Grade(criterion, verdicts, reason, is_own, share))
    return grades


def duels_of(rows: Sequence[dict]) -> list[Duel]:
    """Return duels in order of the methods' names, from rows of `judgements` of one question."""
    duels = []
    verdicts = [row for row in rows if row["judge"] == "pairwise"]
    for (method, opponent), same in grouped(verdicts, "method", "opponent").items():
        tallies = {}
        for (criterion,), of_criterion in grouped(same, "criterion").items():
            n = Counter(row["verdict"] for row in of_criterion)
            tallies[criterion] = (n["win"], n["tie"], n["loss"], n["unparsed"])
        parsed = [r for r in same if r["criterion"] == OVERALL and r["verdict"] != "unparsed"]
        first = min(parsed, key=lambda row: (row["repeat"], row["first"]), default={"reason": ""})
        duels.append(Duel(method, opponent, tallies, _shortened(first["reason"])))
    return duels


def duel_criteria(duels: Sequence[Duel]) -> list[str]:
    """Return the criteria of all verdicts, the overall winner first."""
    given = {criterion for duel in duels for criterion in duel.tallies}
    return sorted(given, key=lambda criterion: (criterion != OVERALL, criterion))


def _shortened(reason: str) -> str:
    text = " ".join(reason.split())
    return text if len(text) <= _MAX_REASON else f"{text[: _MAX_REASON - 1]}…"
