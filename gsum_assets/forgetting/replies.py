"""Which remembered replies rest on documents that have gone, and what the ledger keeps of them.

A request about one document names it in the ledger. One about a whole corpus may have shown the
model any document: of those, only the requests stay that a table of today was made from.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

import pyarrow as pa
import sqlalchemy as sa

from gsum_resources.state import CALLS, EXPORTS, batches_of

FORGOTTEN = "(forgotten)"
"""Stands in the ledger for the id of a document that has gone."""


@dataclass(frozen=True)
class Present:
    """What there is of a corpus today.

    Attributes
    ----------
    documents : ids of its documents.
    runs : of each step, the ids of the runs that made its tables.
    """

    documents: Collection[str] = frozenset()
    runs: Mapping[str, Collection[str]] = field(default_factory=dict)

    def depends_on(self, row: Mapping[str, str | None]) -> bool:
        """Whether something that there is rests on the request of a row of `llm_calls`."""
        if row["document_id"]:
            return row["document_id"] in self.documents
        return row["run_id"] in self.runs.get(str(row["asset"]), ())


def replies_to_forget(
    ledgers: Mapping[str, pa.Table], present: Mapping[str, Present]
) -> frozenset[str]:
    """Prompt hashes on which nothing rests any more, in any corpus.

    Parameters
    ----------
    ledgers : rows of `llm_calls` by corpus.
    present : the corpora that lost documents; of the others, every request counts.
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
    """Remove ids of deleted documents from the calls of a corpus, and what was said of them.

    What was paid stays on record. A corpus without documents loses its calls.

    Parameters
    ----------
    documents : ids that are there.
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
    connection.execute(sa.delete(EXPORTS).where(EXPORTS.c.corpus == corpus))  # written anew
