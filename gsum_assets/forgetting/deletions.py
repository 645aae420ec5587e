"""Documents that were deleted since leftovers were last removed."""

from collections.abc import Collection
from dataclasses import dataclass

import sqlalchemy as sa

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.state.database import SEEN, SEEN_DOCUMENTS, note_documents, state_of
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.store.partition import version_of

_DOCUMENTS = TABLES["documents"]


@dataclass(frozen=True)
class DeletedDocuments:
    """Present and deleted documents of one corpus at one moment.

    Attributes
    ----------
    version : version of its table `documents`.
    documents : ids in this table.
    deleted : ids of deleted documents that may still have leftovers.
    """

    version: str = ""
    documents: Collection[str] = ()
    deleted: Collection[str] = ()


class Deletions:
    """The deleted documents of every corpus, kept in the state database."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def corpora(self) -> set[str]:
        """Return all corpora that were ever compared, including deleted ones."""
        with state_of(self._store).reading() as connection:
            return set(connection.execute(sa.select(SEEN.c.corpus)).scalars())

    def observe(self, corpus: str) -> DeletedDocuments:
        """Compare a corpus with the last time, and note its documents.

        Deleted ones are listed until `clear`. To be called before a run may rewrite `documents`.
        """
        columns = SEEN_DOCUMENTS.c
        seen = sa.select(columns.document_id, columns.is_deleted).where(columns.corpus == corpus)
        with state_of(self._store).reading() as connection:
            known_version = sa.select(SEEN.c.version).where(SEEN.c.corpus == corpus)
            last = connection.execute(known_version).scalar() or ""
            rows = connection.execute(seen.order_by(columns.document_id)).all()
        known = DeletedDocuments(
            last,
            [document_id for document_id, is_deleted in rows if not is_deleted],
            [document_id for document_id, is_deleted in rows if is_deleted],
        )
        partitions = self._store.stamped(_DOCUMENTS, corpus)
        footers = self._store.footers(_DOCUMENTS, partitions)
        version = version_of({p: footer.content_hash for p, footer in footers.items()})
        if version == known.version:
            return known
        stored, hashes = self._store.read(_DOCUMENTS, list(partitions), ["document_id"])
        present = set(stored["document_id"].to_pylist())
        deleted = (set(known.documents) | set(known.deleted)) - present
        found = DeletedDocuments(version_of(hashes), sorted(present), sorted(deleted))
        with state_of(self._store).writing() as connection:
            note_documents(connection, corpus, found.version, found.documents, found.deleted)
        return found

    @staticmethod
    def clear(connection: sa.Connection, corpus: str, forgotten: DeletedDocuments) -> None:
        """Note that the deleted documents have no leftovers any more."""
        note_documents(connection, corpus, forgotten.version, forgotten.documents)
