"""Corpora whose folder is missing: since when, and which are forgotten for it."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa

from gsum_assets.corpus.folder import is_removed
from gsum_resources.settings.paths import folders_in
from gsum_resources.state.database import MISSING, insert_new, state_of
from gsum_resources.store.parquet_store import ParquetStore


@dataclass(frozen=True)
class Missing:
    """Corpora whose folder is missing.

    Attributes
    ----------
    since : when each was first noted, Unix time.
    overdue : those of them that are missing for longer than the grace.
    notes : a line for each other one.
    """

    since: dict[str, float]
    overdue: list[str]
    notes: list[str]


def look_for_missing(
    root: Path, known: Collection[str], noted: Mapping[str, float], now: float, grace_h: float
) -> Missing:
    """Return which corpora have lost their folder; none if the folder of all may be unmounted.

    Parameters `noted`: when those that were missing before were first noted, Unix time, as `now`;
    `grace_h`: hours after which a corpus is forgotten.
    """
    present = set(folders_in(root))
    lost = [c for c in sorted({*known} - present) if is_removed(root / c)]
    if not (present or root.is_dir()):
        lost = []
    since = {corpus: noted.get(corpus, now) for corpus in lost}
    left_h = {corpus: grace_h - (now - first) / 3600 for corpus, first in since.items()}
    notes = [
        f"{corpus}: its folder is missing; the corpus is forgotten in {left:.1f} hours unless it "
        "comes back ([automation] forget_after_h)"
        for corpus, left in left_h.items()
        if left > 0
    ]
    return Missing(since, [corpus for corpus, left in left_h.items() if left <= 0], notes)


def missing_since(store: ParquetStore) -> dict[str, float]:
    """Return when each missing corpus was first noted in the state database, Unix time."""
    with state_of(store).reading() as connection:
        rows = connection.execute(sa.select(MISSING.c.corpus, MISSING.c.since))
        return {row.corpus: row.since for row in rows}


def note_missing(store: ParquetStore, since: Mapping[str, float]) -> None:
    """Replace the notes on missing corpora; an earlier note on the same corpus counts."""
    with state_of(store).writing() as connection:
        connection.execute(sa.delete(MISSING).where(MISSING.c.corpus.not_in(list(since))))
        if rows := [{"corpus": corpus, "since": first} for corpus, first in since.items()]:
            insert_new(connection, MISSING, rows)
