"""Number of buckets of each corpus, in the state database: fixed once, equal on every host."""

from weakref import WeakSet

import sqlalchemy as sa

from gsum_resources.parquet_store import ParquetStore
from gsum_resources.state import State, insert_new, state_of

_TABLES = sa.MetaData()
_COUNTS = sa.Table(
    "buckets",
    _TABLES,
    sa.Column("corpus", sa.Text, primary_key=True),
    sa.Column("n", sa.Integer, nullable=False),
)
_prepared: WeakSet[State] = WeakSet()


class BucketCounts:
    """The table of a store's state database; a database of an older gsum gets it on first use."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def get(self, corpus: str) -> int | None:
        """Return the number of buckets of a corpus, or None if it is not fixed."""
        query = sa.select(_COUNTS.c.n).where(_COUNTS.c.corpus == corpus)
        with self._state().reading() as connection:
            return connection.execute(query).scalar()

    def add(self, corpus: str, n: int) -> int:
        """Fix the number of buckets of a corpus; return it, or the one that was fixed before."""
        with self._state().writing() as connection:
            insert_new(connection, _COUNTS, [{"corpus": corpus, "n": n}])
            query = sa.select(_COUNTS.c.n).where(_COUNTS.c.corpus == corpus)
            return connection.execute(query).scalar_one()

    def remove(self, corpus: str) -> None:
        """Remove a deleted corpus."""
        with self._state().writing() as connection:
            connection.execute(sa.delete(_COUNTS).where(_COUNTS.c.corpus == corpus))

    def _state(self) -> State:
        state = state_of(self._store)
        if state not in _prepared:
            with state.reading() as connection:
                is_new = not sa.inspect(connection).has_table(_COUNTS.name)
            if is_new:
                with state.writing() as connection:
                    if connection.dialect.name != "sqlite":  # only one process creates the table
                        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(42)")
                    _TABLES.create_all(connection)
            _prepared.add(state)
        return state
