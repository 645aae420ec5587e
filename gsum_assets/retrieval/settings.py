"""The table `[retrieval]` of `corpus.toml`."""

from pydantic import Field, field_validator

from gsum_resources.settings.table import SettingsTable

DEFAULT_K = 6


class RetrievalSettings(SettingsTable):
    """Settings of the baselines."""

    k: int | list[int] = Field(
        DEFAULT_K,
        description="passages given for an answer (gor, 3.1), by gor and lightpal too; a list: "
        "curves over these, for all methods that have such a number",
    )
    bigrams: bool = Field(
        False, description="BM25 and TF-IDF also count pairs of words: for titles and full names"
    )
    window_tokens: int = Field(
        32_768, ge=256, description="length of a context of `full_context`, in word pieces"
    )

    @field_validator("k")
    @classmethod
    def _are_numbers(cls, k: int | list[int]) -> int | list[int]:
        ks = [k] if isinstance(k, int) else k
        if not ks or min(ks) < 1:
            raise ValueError("give at least one number, each at least 1")
        return k if isinstance(k, int) else sorted(set(ks))

    @property
    def main_k(self) -> int:
        """Number of passages of stored answers; from a list 6, as in the papers, or its first."""
        if isinstance(self.k, int):
            return self.k
        return DEFAULT_K if DEFAULT_K in self.k else self.k[0]

    @property
    def sweep(self) -> list[int]:
        """The numbers of passages of curves."""
        return [] if isinstance(self.k, int) else self.k
