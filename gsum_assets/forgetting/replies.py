"""Stored replies that depend on deleted documents, and their entries in the ledger.

A request about one document names it in the ledger. A request about a whole corpus may have shown
the model any document: of these, only those that a current table depends on are kept.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import sqlalchemy as sa

from gsum_resources.state.database import CALLS, EXPORTS, batches_of

FORGOTTEN = "(forgotten)"
"""Replaces the id of a deleted document in the ledger."""


@dataclass(frozen=True)
class Present:
    """Current documents and runs of a corpus.

    Attributes `documents`: ids of its documents; `runs`: ids of the runs that wrote the tables of
    each step.
    """

    documents: Collection[str] = frozenset()
    runs: Mapping[str, Collection[str]] = field(default_factory=dict)

    def depends_on(self, row: Mapping[str, str | None]) -> bool:
        """Return whether a current document or table depends on a row of `llm_calls`."""
        if row["document_id"]:
            return row["document_id"] in self.documents
        return row["run_id"] in self.runs.get(str(row["asset"]), ())


def replies_to_forget(
    ledgers: Mapping[str, pa.Table], present: Mapping[str, Present]
) -> frozenset[str]:
    """Return the prompt hashes on which nothing depends any more, in any corpus.

    Parameters
    ----------
    ledgers : rows of `llm_calls` by corpus.
    present : corpora with deleted documents; every request of other corpora is kept.
    """
    alive: set[str | None] = set()
    dead: set[str | None] = set()
    for corpus, rows in ledgers.items():
        columns = rows.select(["prompt_hash", "asset", "document_id", "run_id"])
        for row in columns.group_by(columns.column_names).aggregate([]).to_pylist():
            is_alive = corpus not in present or present[corpus].depends_on(row)
            (alive if is_alive else dead).add(row["prompt_hash"])
    return frozenset(hash_ for hash_ in dead - alive if hash_)


def forget_names(connection: sa.Connection, corpus: str, documents: Collection[str]) -> None:
    """Remove the ids of deleted documents, and errors about them, from the calls of a corpus.

    Costs are kept. All calls of a corpus without documents are deleted.

    Parameter `documents`: ids of the present documents.
    """
    of_corpus = CALLS.c.corpus == corpus
    if not documents:
        connection.execute(sa.delete(CALLS).where(of_corpus))
    named = sa.select(CALLS.c.document_id).where(of_corpus).distinct()
    deleted = set(connection.execute(named).scalars()) - {*documents, "", FORGOTTEN}
    for some in batches_of(deleted):
        error = sa.case((CALLS.c.error.is_not(None), FORGOTTEN))
        change = sa.update(CALLS).where(of_corpus, CALLS.c.document_id.in_(some))
        connection.execute(change.values(document_id=FORGOTTEN, error=error))
    connection.execute(sa.delete(EXPORTS).where(EXPORTS.c.corpus == corpus))  # to be rewritten
