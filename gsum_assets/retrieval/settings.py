"""The table `[retrieval]` of `corpus.toml`."""

from pydantic import Field

from gsum_resources.settings.table import SettingsTable

DEFAULT_K = 6


class RetrievalSettings(SettingsTable):
    """Settings of the baselines."""

    k: int = Field(
        DEFAULT_K,
        ge=1,
        description="passages given for an answer (gor, 3.1), by gor and lightpal too",
    )
    bigrams: bool = Field(
        False, description="BM25 and TF-IDF also count pairs of words: for titles and full names"
    )
    window_tokens: int = Field(
        32_768, ge=256, description="length of a context of `full_context`, in word pieces"
    )
