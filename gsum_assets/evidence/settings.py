"""The table `[evidence]` of `corpus.toml`."""

from pydantic import Field

from gsum_assets.retrieval.ranking import DEPTH
from gsum_resources.settings.table import SettingsTable


class CandidateSettings(SettingsTable):
    """Table `[evidence.candidates]`: the passages that get a probability."""

    n: int = Field(
        default=200,
        ge=1,
        description="passages of a large corpus that are judged, best first by BM25 and vectors; "
        "their neighbours are judged too (ours)",
    )


class ContextSettings(SettingsTable):
    """Table `[evidence.contexts]`: the context of an answer."""

    k_max: int = Field(default=12, ge=1, le=DEPTH, description="most passages in a context (ours)")
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="longest context, word pieces, but at least one passage; unset: "
        "k_max times max_tokens of `[chunking]`",
    )
    whole_tokens: int = Field(
        default=16_384,
        ge=0,
        description="longest prose, word pieces, that a question about everything reads whole "
        "(ours, on SQuALITY train); 0: never",
    )


class EvidenceSettings(SettingsTable):
    """Table `[evidence]`; a change in one of its tables affects only the assets that read it."""

    candidates: CandidateSettings = CandidateSettings()
    contexts: ContextSettings = ContextSettings()
