"""The table `[evidence]` of `corpus.toml`."""

from pydantic import BaseModel, ConfigDict, Field


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CandidateSettings(_Settings):
    """Table `[evidence.candidates]`: the passages that get a probability."""

    n: int = Field(
        default=200,
        ge=1,
        description="passages of a large corpus that are judged, best first by BM25 and vectors; "
        "their neighbours are judged too (ours)",
    )


class ContextSettings(_Settings):
    """Table `[evidence.contexts]`: the context of an answer."""

    k_max: int = Field(default=12, ge=1, description="most passages in a context (ours)")
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="longest context, word pieces, but at least one passage; unset: "
        "k_max times max_tokens of `[chunking]`",
    )


class EvidenceSettings(_Settings):
    """Table `[evidence]`; a change in one of its tables affects only the assets that read it."""

    candidates: CandidateSettings = CandidateSettings()
    contexts: ContextSettings = ContextSettings()
