"""Documents, rejected documents, index tables and costs of a corpus."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from gsum_assets.evaluation.costs import is_of_index, spent_by_asset
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.appended import APPENDED, LEDGERS, read_appended
from gsum_resources.store.parquet_store import ParquetStore

_IN_THE_FOLDER = ("documents", "rejected_documents")
_LATER_TABLES = (
    "leaderboard",
    "curves",
    "comparisons",
    "costs",
    "win_rates",
    "generated_questions",
    "assertions",
)


class IndexTable(NamedTuple):
    """A table that does not depend on questions; `row` completes "One row per …"."""

    name: str
    row: str
    n: int


class Spent(NamedTuple):
    """Cost of an asset's distinct requests to models; `calls` counts language models only."""

    asset: str
    calls: int
    tokens_in: int
    tokens_out: int
    seconds: float
    dollars: float


class Rejected(NamedTuple):
    """A document that could not be read."""

    file: str
    reason: str


@dataclass(frozen=True)
class Corpus:
    """Information about a corpus that does not depend on questions."""

    n_words: int
    n_chunks: int
    rejected: Sequence[Rejected]
    index: Sequence[IndexTable]
    spent: Sequence[Spent]


def read_corpus(store: ParquetStore, corpus: str) -> Corpus:
    """Read the information about a corpus, without texts."""
    words, _ = store.read(
        TABLES["documents"], store.partitions(TABLES["documents"], corpus), ["n_words"]
    )
    columns = ["file", "reason"]
    table = TABLES["rejected_documents"]
    rejected, _ = store.read(table, store.partitions(table, corpus), columns)
    ledgers = (read_appended(store, TABLES[name], corpus) for name in LEDGERS)
    index = []
    for name, table in TABLES.items():
        is_index = is_of_index(table) and not name.startswith("source_")
        if is_index and name not in (*_IN_THE_FOLDER, *_LATER_TABLES, *APPENDED):
            n = store.count(table, corpus)
            index += [IndexTable(name, table.row, n)] if n else []
    return Corpus(
        n_words=sum(words["n_words"].to_pylist()),
        n_chunks=store.count(TABLES["chunks"], corpus),
        rejected=sorted(Rejected(row["file"], row["reason"]) for row in rejected.to_pylist()),
        index=index,
        spent=[
            Spent(asset, *amounts) for asset, amounts in sorted(spent_by_asset(*ledgers).items())
        ],
    )
