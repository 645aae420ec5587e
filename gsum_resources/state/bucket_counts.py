"""Number of buckets of each corpus, in the state database: fixed once, equal on every host."""

import sqlalchemy as sa

from gsum_resources.state.database import BUCKETS, insert_new, state_of
from gsum_resources.store.parquet_store import ParquetStore


class BucketCounts:
    """The table `BUCKETS` of a store's state database."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def get(self, corpus: str) -> int | None:
        """Return the number of buckets of a corpus, or None if it is not fixed."""
        query = sa.select(BUCKETS.c.n).where(BUCKETS.c.corpus == corpus)
        with state_of(self._store).reading() as connection:
            return connection.execute(query).scalar()

    def add(self, corpus: str, n: int) -> int:
        """Fix the number of buckets of a corpus; return it, or the one that was fixed before."""
        with state_of(self._store).writing() as connection:
            insert_new(connection, BUCKETS, [{"corpus": corpus, "n": n}])
            query = sa.select(BUCKETS.c.n).where(BUCKETS.c.corpus == corpus)
            return connection.execute(query).scalar_one()

    def remove(self, corpus: str) -> None:
        """Remove a deleted corpus."""
        with state_of(self._store).writing() as connection:
            connection.execute(sa.delete(BUCKETS).where(BUCKETS.c.corpus == corpus))
