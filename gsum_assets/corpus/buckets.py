"""Buckets of a corpus, by a hash of document ids; their number is fixed with a new corpus.

It is stored in the state database, else it follows from the files of `source_documents`.
"""

from pathlib import Path

import sqlalchemy as sa

from gsum_assets.corpus.folder import is_other_type, is_own
from gsum_assets.corpus.listing import list_files
from gsum_assets.corpus.load import FEWEST_BUCKETS, MOST_BUCKETS
from gsum_assets.pipeline.corpus_settings import CorpusError, load_settings, settings_file
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.state.database import BUCKETS, insert_new, state_of
from gsum_resources.store.parquet_store import ParquetStore

# A run of 8 buckets of this size takes about 1.2 GiB, see docs/growing.md.
DOCUMENTS_PER_BUCKET = 2_000
BYTES_PER_BUCKET = 8 * 2**20
_COMPRESSED = (".gz", ".parquet")
_RATIO = 4  # bytes of text per compressed byte, about


class Buckets:
    """Numbers of buckets of the corpora of one store; found ones are cached until `reread`."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store
        self._known: dict[str, int] = {}

    def of(self, corpus: str) -> int:
        """Return the number of buckets of a corpus; the smallest if it is not fixed yet."""
        return self._n_stored(corpus) or FEWEST_BUCKETS

    def needed(self, corpus: str, folder: Path) -> int:
        """Return the number of buckets of a corpus: the fixed one, or the one of a new corpus.

        Raises `CorpusError` if the settings cannot be read, or request another number.
        """
        requested = load_settings(folder).buckets
        n = self._n_stored(corpus) or requested or n_buckets_for(*size_of(folder))
        if requested not in (None, n):
            raise CorpusError(
                f"{settings_file(folder)}: buckets = {requested}, but corpus '{corpus}' has {n} "
                f"buckets since it was created; set buckets = {n} or remove the key. For another "
                "number rename the folder: the corpus is then created anew, and its replies and "
                "vectors are reused"
            )
        return n

    def fix(self, corpus: str, folder: Path) -> int:
        """Return the number of buckets of a corpus, fixed now if it is new; see `needed`."""
        n = self.needed(corpus, folder)
        if self._n_stored(corpus) is None:
            with state_of(self._store).writing() as connection:
                insert_new(connection, BUCKETS, [{"corpus": corpus, "n": n}])
            self._known.pop(corpus, None)
            n = self.needed(corpus, folder)  # another process may have fixed it in this moment
        return n

    def forget(self, corpus: str) -> None:
        """Remove a deleted corpus."""
        with state_of(self._store).writing() as connection:
            connection.execute(sa.delete(BUCKETS).where(BUCKETS.c.corpus == corpus))
        self._known.pop(corpus, None)

    def reread(self) -> None:
        """Discard cached numbers: another process may have deleted and created a corpus."""
        self._known.clear()

    def _n_stored(self, corpus: str) -> int | None:
        if corpus not in self._known:
            n = None
            if self._store.state_url:
                query = sa.select(BUCKETS.c.n).where(BUCKETS.c.corpus == corpus)
                with state_of(self._store).reading() as connection:
                    n = connection.execute(query).scalar()
            listed = [] if n else self._store.partitions(TABLES["source_documents"], corpus)
            if listed:
                n = power_of_two(1 + max(int(partition.bucket or 0) for partition in listed))
            if n is None:
                return None
            self._known[corpus] = n
        return self._known[corpus]


def n_buckets_for(n_documents: int, n_bytes: int) -> int:
    """Return the number of buckets of a new corpus, a power of two."""
    needed = max(-(-n_documents // DOCUMENTS_PER_BUCKET), -(-n_bytes // BYTES_PER_BUCKET))
    return power_of_two(needed)


def power_of_two(needed: int) -> int:
    """Return the smallest allowed number of buckets that is `needed` at least, or the largest."""
    return min(max(1 << max(needed - 1, 0).bit_length(), FEWEST_BUCKETS), MOST_BUCKETS)


def size_of(folder: Path) -> tuple[int, int]:
    """Return number and bytes of the documents of a corpus folder, without opening a file.

    A file of many documents counts as one document, by its bytes; compressed ones count fourfold.
    """
    n_documents = n_bytes = 0
    for file in list_files(folder):
        if file.problem or is_own(file.name) or is_other_type(file.name):
            continue
        is_compressed = file.name.lower().endswith(_COMPRESSED)
        n_documents += 1
        n_bytes += file.size * (_RATIO if is_compressed else 1)
    return n_documents, n_bytes
