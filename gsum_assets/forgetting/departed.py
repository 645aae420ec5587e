"""Which documents have gone since what rested on them was last forgotten, kept in the store."""

import json
from collections.abc import Collection
from dataclasses import asdict, dataclass

from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import ParquetStore, version_of

_DOCUMENTS = TABLES["documents"]


@dataclass(frozen=True)
class Departed:
    """One corpus at one moment.

    Attributes
    ----------
    version : of its table `documents`.
    documents : ids in it.
    gone : ids that were in it once, and of which there may still be traces.
    """

    version: str = ""
    documents: Collection[str] = ()
    gone: Collection[str] = ()


class Departures:
    """The departed of every corpus, a file for each: `<root>/_departed/<corpus>.json`."""

    def __init__(self, store: ParquetStore) -> None:
        self._store = store

    def corpora(self) -> set[str]:
        """Those that were looked at before, also those that are no more."""
        paths = self._store.fs.glob(f"{self._store.root}/_departed/*.json")
        return {path.rpartition("/")[2].removesuffix(".json") for path in paths}

    def look(self, corpus: str) -> Departed:
        """Compare a corpus with the last look at it; what is gone stays gone until `clear`."""
        known = self._read(corpus)
        partitions = self._store.partitions(_DOCUMENTS, corpus)
        footers = {p: self._store.provenance(_DOCUMENTS, p) for p in partitions}
        version = version_of({p: footer.content_hash for p, footer in footers.items() if footer})
        if version == known.version:
            return known
        rows, hashes = self._store.read(_DOCUMENTS, partitions, ["document_id"])
        present = set(rows["document_id"].to_pylist())
        gone = (set(known.documents) | set(known.gone)) - present
        found = Departed(version_of(hashes), sorted(present), sorted(gone))
        self._write(corpus, found)
        return found

    def clear(self, corpus: str, forgotten: Departed) -> None:
        """Nothing is left of what had gone."""
        if forgotten.documents:
            self._write(corpus, Departed(forgotten.version, forgotten.documents))
        else:
            self._store.fs.rm_file(self._path(corpus))

    def _read(self, corpus: str) -> Departed:
        try:
            return Departed(**json.loads(self._store.fs.cat_file(self._path(corpus))))
        except FileNotFoundError:
            return Departed()

    def _write(self, corpus: str, departed: Departed) -> None:
        self._store.replace_file(self._path(corpus), json.dumps(asdict(departed)).encode())

    def _path(self, corpus: str) -> str:
        return f"{self._store.root}/_departed/{corpus}.json"
