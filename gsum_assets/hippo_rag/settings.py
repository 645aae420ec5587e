"""The table `[hippo_rag]` of `corpus.toml`: values of HippoRAG 2's paper and code."""

from pydantic import Field

from gsum_resources.settings.table import SettingsTable


class GraphSettings(SettingsTable):
    """Table `[hippo_rag.graph]`: edges between phrases that mean the same."""

    synonym: float = Field(
        default=0.8,
        ge=-1,
        le=1,
        description="cosine of two phrases above which they are joined (3.2)",
    )
    most_synonyms: int = Field(
        default=100, ge=1, description="nearest phrases that one is compared with (ours)"
    )


class LinkingSettings(SettingsTable):
    """Table `[hippo_rag.linking]`: from a question to triples."""

    n_triples: int = Field(
        default=5, ge=1, description="triples linked with a question (3.3, query to triple)"
    )
    recognition: bool = Field(
        default=True,
        description="whether a language model chooses among these triples (3.3); without one all "
        "stay",
    )


class WalkSettings(SettingsTable):
    """Table `[hippo_rag.walk]`: personalized PageRank."""

    n_phrases: int = Field(
        default=5, ge=1, description="phrases of the triples at which walks restart (3.3)"
    )
    passage_weight: float = Field(
        default=0.05, ge=0, description="restart weight of passages beside that of phrases (3.3)"
    )
    damping: float = Field(
        default=0.5, gt=0, lt=1, description="probability of a step; the walk restarts else (3.3)"
    )


class HippoRagSettings(SettingsTable):
    """Table `[hippo_rag]`: settings of HippoRAG 2 (arXiv 2502.14802)."""

    graph: GraphSettings = GraphSettings()
    linking: LinkingSettings = LinkingSettings()
    walk: WalkSettings = WalkSettings()
