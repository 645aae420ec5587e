"""The home folder of all files that gsum reads and writes, set by environment variables."""

import os
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from gsum_resources.settings.paths import path_at, read_if_exists

if TYPE_CHECKING:
    from gsum_resources.settings.schema import Settings
    from gsum_resources.store.parquet_store import ParquetStore


@dataclass(frozen=True)
class Home:
    """Paths under `GSUM_HOME` (default `data`).

    Three variables move what hosts share to any fsspec URL such as `s3://bucket/gsum`:
    `GSUM_WAREHOUSE` the Parquet root, `GSUM_CORPORA` the folder of the corpora, and `GSUM_SETTINGS`
    the file `gsum.toml`, beside which `prompts/` of all corpora is.

    Attributes `corpora_url`, `settings_url`: of the folder of the corpora and of `gsum.toml`; "":
    in `root`.
    """

    root: Path
    warehouse: str
    corpora_url: str = ""
    settings_url: str = ""

    @classmethod
    def from_environment(cls, default: Path = Path("data")) -> "Home":
        """Read `GSUM_HOME` and the variables named above; empty counts as unset."""
        root = Path(os.environ.get("GSUM_HOME") or default).resolve()
        return cls(
            root,
            os.environ.get("GSUM_WAREHOUSE") or str(root / "warehouse"),
            os.environ.get("GSUM_CORPORA") or "",
            os.environ.get("GSUM_SETTINGS") or "",
        )

    def settings(self) -> "Settings":
        """Return the settings from `gsum.toml` and the environment.

        Raise `SettingsError` if a setting is unknown or invalid, or `GSUM_SETTINGS` names no file.
        """
        from gsum_resources.settings.schema import SettingsError, load_settings  # slow to import

        if self.settings_url and read_if_exists(self.settings_file) is None:
            raise SettingsError(
                f"GSUM_SETTINGS is {self.settings_url}, where no file is; write a gsum.toml there, "
                "which may be empty, or unset the variable"
            )
        return load_settings(self.settings_file)

    def open_store(self) -> "ParquetStore":
        """Return the table store with the URL of its state database.

        Raise `SettingsError` if a setting is unknown or invalid.
        """
        from gsum_resources.store.parquet_store import ParquetStore

        return ParquetStore(self.warehouse, self.settings().state.url or str(self.state))

    @property
    def state(self) -> Path:
        """Path of the state database, unless `[state] url` names another database."""
        return self.root / "state.db"

    @cached_property
    def corpora(self) -> Path:
        """Folder of the corpora, with one folder per corpus."""
        return path_at(self.corpora_url) if self.corpora_url else self.root / "corpora"

    @cached_property
    def settings_file(self) -> Path:
        """The file `gsum.toml`."""
        return path_at(self.settings_url) if self.settings_url else self.root / "gsum.toml"

    @property
    def prompts(self) -> Path:
        """Folder with `prompts/` of all corpora."""
        return self.settings_file.parent

    @property
    def catalogue(self) -> Path:
        """The DuckDB file of views."""
        return self.root / "gsum.duckdb"

    @property
    def dagster(self) -> Path:
        """Dagster's home, unless `DAGSTER_HOME` names another folder."""
        return Path(os.environ.get("DAGSTER_HOME") or self.root / "dagster")
