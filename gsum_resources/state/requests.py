"""Methods that were requested for corpora, and are therefore kept up to date."""

from collections.abc import Collection

import sqlalchemy as sa

from gsum_resources.state.database import REQUESTS, insert_new, state_of
from gsum_resources.store.parquet_store import ParquetStore


class Requests:
    """The methods requested for each corpus, stored in the state database."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def of(self, corpus: str) -> frozenset[str] | None:
        """Return the methods requested for a corpus, or None if nothing was."""
        query = sa.select(REQUESTS.c.method).where(REQUESTS.c.corpus == corpus)
        with state_of(self._store).reading() as connection:
            methods = set(connection.execute(query).scalars())
        return frozenset(methods - {""}) if methods else None

    def add(self, corpus: str, methods: Collection[str]) -> None:
        """Request the corpus's own tables and these methods, in addition to earlier requests."""
        known = self.of(corpus)
        if known is None or set(methods) - known:
            rows = [{"corpus": corpus, "method": method} for method in sorted({"", *methods})]
            with state_of(self._store).writing() as connection:
                insert_new(connection, REQUESTS, rows)

    def withdraw(self, corpus: str, methods: Collection[str]) -> None:
        """End the requests of methods; those of the corpus's own tables remain."""
        of_methods = (REQUESTS.c.corpus == corpus) & REQUESTS.c.method.in_(sorted(methods))
        with state_of(self._store).writing() as connection:
            connection.execute(sa.delete(REQUESTS).where(of_methods))

    def corpora(self) -> frozenset[str]:
        """Return the corpora that something was requested for."""
        with state_of(self._store).reading() as connection:
            return frozenset(connection.execute(sa.select(REQUESTS.c.corpus)).scalars())

    def forget(self, corpus: str) -> None:
        """Remove all requests of a corpus."""
        with state_of(self._store).writing() as connection:
            connection.execute(sa.delete(REQUESTS).where(REQUESTS.c.corpus == corpus))
