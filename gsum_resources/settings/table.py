"""Base of the tables of settings files."""

from pydantic import BaseModel, ConfigDict


class SettingsTable(BaseModel):
    """A table of `gsum.toml` or `corpus.toml`: frozen, and without unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid")
