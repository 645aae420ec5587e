"""The home folder of all files that gsum reads and writes, set by environment variables."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gsum_resources.parquet_store import ParquetStore
    from gsum_resources.settings import Settings


@dataclass(frozen=True)
class Home:
    """Paths under `GSUM_HOME` (default `data`).

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
        """Return the settings from `gsum.toml` and the environment.

        Raises
        ------
        SettingsError
            If a setting is unknown or invalid.
        """
        from gsum_resources.settings import load_settings  # slow to import

        return load_settings(self.root)

    def open_store(self) -> "ParquetStore":
        """Return the table store with the URL of its state database.

        Raises
        ------
        SettingsError
            If a setting is unknown or invalid.
        """
        from gsum_resources.parquet_store import ParquetStore

        return ParquetStore(self.warehouse, self.settings().state.url or str(self.state))

    @property
    def state(self) -> Path:
        """Path of the state database, unless `[state] url` names another database."""
        return self.root / "state.db"

    @property
    def corpora(self) -> Path:
        """Folder of the corpora, with one folder per corpus."""
        return self.root / "corpora"

    @property
    def catalogue(self) -> Path:
        """The DuckDB file of views."""
        return self.root / "gsum.duckdb"

    @property
    def dagster(self) -> Path:
        """Dagster's home, unless `DAGSTER_HOME` names another folder."""
        return Path(os.environ.get("DAGSTER_HOME") or self.root / "dagster")
