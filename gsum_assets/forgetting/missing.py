"""Since when the folders of corpora are missing, stored in the state database."""

from collections.abc import Collection

import sqlalchemy as sa

from gsum_resources.state.database import MISSING, insert_new, state_of
from gsum_resources.store.parquet_store import ParquetStore


class MissingCorpora:
    """The table `MISSING` of a store's state database."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def since(self) -> dict[str, float]:
        """Return when each missing corpus was first noted, Unix time."""
        with state_of(self._store).reading() as connection:
            rows = connection.execute(sa.select(MISSING.c.corpus, MISSING.c.since))
            return {row.corpus: row.since for row in rows}

    def note(self, corpora: Collection[str], now: float) -> None:
        """Note that folders are missing; an earlier note counts."""
        if corpora:
            rows = [{"corpus": corpus, "since": now} for corpus in sorted(corpora)]
            with state_of(self._store).writing() as connection:
                insert_new(connection, MISSING, rows)

    def clear(self, corpora: Collection[str]) -> None:
        """Remove the notes of corpora that are back, or forgotten."""
        if corpora:
            with state_of(self._store).writing() as connection:
                connection.execute(sa.delete(MISSING).where(MISSING.c.corpus.in_(list(corpora))))
