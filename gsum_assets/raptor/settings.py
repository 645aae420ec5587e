"""The table `[raptor]` of `corpus.toml`.

Names of sections are the paper's, which has no numbers. What the paper leaves open has the value of
the authors' code (github.com/parthsarthi03/raptor, MIT).
"""

from typing import Literal

from pydantic import Field

from gsum_resources.settings.table import SettingsTable


class TreeSettings(SettingsTable):
    """Table `[raptor.tree]`: clusters and their summaries."""

    reduction: Literal["umap", "pca"] = Field(
        default="umap",
        description="how vectors are reduced before they are clustered (Clustering algorithm: "
        "'umap')",
    )
    dim: int = Field(default=10, ge=2, description="dimensions they are reduced to (code)")
    cluster_tokens: int = Field(
        default=3500,
        ge=100,
        description="longest texts of a cluster together, word pieces; longer ones are clustered "
        "again (Clustering algorithm; code)",
    )
    summary_words: int = Field(
        default=100,
        ge=10,
        description="longest summary, words; the code's are cut at 100 "
        "tokens, the paper's have 131",
    )


class ContextSettings(SettingsTable):
    """Table `[raptor.contexts]`: what answers read."""

    budget_tokens: int = Field(
        default=2000, ge=1, description="longest context of an answer, word pieces (Querying)"
    )


class RaptorSettings(SettingsTable):
    """Settings of RAPTOR (arXiv 2401.18059)."""

    tree: TreeSettings = TreeSettings()
    contexts: ContextSettings = ContextSettings()
