"""The table `[retrieval]` of `corpus.toml`."""

from pydantic import BaseModel, ConfigDict, Field


class RetrievalSettings(BaseModel):
    """Settings of the baselines."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    k: int = Field(6, ge=1, description="passages given for an answer (gor, 4.1)")
    bigrams: bool = Field(
        False, description="BM25 and TF-IDF also count pairs of words: for titles and full names"
    )
    window_tokens: int = Field(
        32_768, ge=256, description="what `full_context` gives at once, in word pieces"
    )
    n_spans: int = Field(
        3, ge=1, description="random spans that `full_context` takes of a longer text"
    )
