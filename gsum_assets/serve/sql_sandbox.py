"""Read-only SQL for clients: over some corpora, within limits of rows, time and memory.

Each query runs in a process of its own (`sql_child.py`), which is killed at its deadline and can
read the tables' files of these corpora only.
"""

import json
import logging
import subprocess
import sys
import tempfile
import uuid
from collections.abc import Collection
from dataclasses import asdict, dataclass
from pathlib import Path
from threading import Lock
from typing import Any

import duckdb

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import views
from gsum_assets.serve.sql_child import ROOT, CorpusFiles, too_long
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import ParquetStore

_log = logging.getLogger(__name__)
_GRACE_S = 10.0  # to start the process, and to end a query by itself


class SqlError(ValueError):
    """A query that is refused, fails or exceeds a limit."""


@dataclass(frozen=True)
class SqlLimits:
    """Limits of a query: `characters` of the rows as JSON, `memory_mib` of DuckDB."""

    rows: int = 1000
    characters: int = 200_000
    seconds: float = 10.0
    memory_mib: int = 1024


class SqlSandbox:
    """Runs queries over the tables of a store, as `gsum sql` shows them."""

    def __init__(self, store: ParquetStore, limits: SqlLimits | None = None) -> None:
        self._store = store
        self._limits = limits or SqlLimits()
        self._folder = tempfile.TemporaryDirectory(prefix="gsum-sql-")
        self._catalogues: dict[frozenset[str], tuple[set[str], Path]] = {}
        self._lock = Lock()

    def run(self, query: str, corpora: Collection[str]) -> dict[str, Any]:
        """Return `columns`, `types` and `rows` of a SELECT over the tables of some corpora.

        `is_truncated`: it has more rows than the limits allow.

        Raise `SqlError` if it is no single SELECT, fails, reads no table, or exceeds a limit.
        """
        limits = self._limits
        try:
            ended = subprocess.run(
                [sys.executable, "-P", "-m", "gsum_assets.serve.sql_child"],
                input=json.dumps(self.job(query, corpora)).encode(),
                capture_output=True,
                timeout=limits.seconds + _GRACE_S,
                check=False,
            )
        except subprocess.TimeoutExpired as error:
            raise SqlError(f"SQL: {too_long(limits.seconds)}") from error
        if ended.returncode:
            last = ended.stderr.decode(errors="replace")[-500:]
            _log.warning("the process of a query ended with %s: %s", ended.returncode, last)
            memory = f"{limits.memory_mib} MiB"
            raise SqlError(f"SQL: the process ended, probably for more than {memory}")
        reply = json.loads(ended.stdout)
        if error := reply.get("error"):
            raise SqlError(f"SQL: {error}")
        return reply

    def job(self, query: str, corpora: Collection[str]) -> dict[str, Any]:
        """Return what the process of a query is given, see `sql_child.py`."""
        return {
            "query": query,
            "corpora": sorted(corpora),
            "warehouse": self._store.url,
            "catalogue": str(self._catalogue(corpora)),
            **asdict(self._limits),
        }

    def _catalogue(self, corpora: Collection[str]) -> Path:
        """Return the path of a DuckDB file of views on the tables of some corpora."""
        key = frozenset(corpora)
        of_corpora = CorpusFiles(self._store.fs, self._store.root, corpora)
        files = ParquetStore(f"{CorpusFiles.protocol}://{ROOT}", fs=of_corpora)
        with self._lock:
            tables = files.list_files().tables
            known = self._catalogues.get(key)
            if known and known[0] == tables:
                return known[1]
            path = Path(self._folder.name) / f"{uuid.uuid4().hex}.duckdb"
            with duckdb.connect(str(path)) as connection:
                define_views(connection, files, TABLES.values(), views())
            self._catalogues[key] = tables, path
            return path
