"""Where a run reads and writes: one folder, moved by one environment variable."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gsum_resources.parquet_store import ParquetStore
    from gsum_resources.settings import Settings


@dataclass(frozen=True)
class Home:
    """The places under `GSUM_HOME` (default `data`).

    `GSUM_WAREHOUSE` moves the Parquet root alone, to any fsspec URL such as `s3://bucket/gsum`.
    """

    root: Path
    warehouse: str

    @classmethod
    def from_environment(cls) -> "Home":
        """Read `GSUM_HOME` and `GSUM_WAREHOUSE`; empty counts as unset."""
        root = Path(os.environ.get("GSUM_HOME") or "data").resolve()
        return cls(root, os.environ.get("GSUM_WAREHOUSE") or str(root / "warehouse"))

    def settings(self) -> "Settings":
        """What `gsum.toml` and the environment say.

        Raises
        ------
        SettingsError
            If a setting is unknown or bad.
        """
        from gsum_resources.settings import load_settings  # slow: the command line needs it late

        return load_settings(self.root)

    def open_store(self) -> "ParquetStore":
        """Return the store of tables, with where the state is.

        Raises
        ------
        SettingsError
            If a setting is unknown or bad.
        """
        from gsum_resources.parquet_store import ParquetStore

        return ParquetStore(self.warehouse, self.settings().state.url or str(self.state))

    @property
    def state(self) -> Path:
        """The database of what is no table, unless `[state] url` names another."""
        return self.root / "state.db"

    @property
    def corpora(self) -> Path:
        """One folder a corpus."""
        return self.root / "corpora"

    @property
    def catalogue(self) -> Path:
        """The DuckDB file of views."""
        return self.root / "gsum.duckdb"

    @property
    def dagster(self) -> Path:
        """Dagster's own home, unless `DAGSTER_HOME` names another."""
        return Path(os.environ.get("DAGSTER_HOME") or self.root / "dagster")
