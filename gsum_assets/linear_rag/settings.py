"""The table `[linear_rag]` of `corpus.toml`; the paper's values were not at hand.

Threshold and weight of similarity were chosen on train sets of chained facts, QMSum and ODSum, so
that the method is nowhere significantly below `dense` (docs/rivals.md).
"""

from pydantic import Field

from gsum_resources.settings.table import SettingsTable


class LinearRagSettings(SettingsTable):
    """Settings of LinearRAG (arXiv 2510.10114)."""

    threshold: float = Field(
        default=0.6,
        ge=0,
        le=1,
        description="activation from which an entity activates others (delta of 4.2; ours)",
    )
    iterations: int = Field(
        default=4, ge=0, description="most rounds of bridging, one for each further hop (4.2; ours)"
    )
    similarity: float = Field(
        default=10.0,
        ge=0,
        description="weight of a passage's similarity beside its activated entities (lambda of "
        "4.3; ours)",
    )
