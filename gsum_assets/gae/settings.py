"""The table `[gae]` of `corpus.toml`: the settings of graph-augmented summarization.

Sections are those of the graph-augmented ODMDS paper. Values marked "ours" were chosen on the 250
questions of ODSum-Story's train stories; `docs/graph-augmented.md` has the measurements.
"""

from pydantic import Field

from gsum_resources.settings.table import SettingsTable


class GraphSettings(SettingsTable):
    """Table `[gae.graph]`: edges between passages."""

    n_nearest: int = Field(
        default=5,
        ge=0,
        description="number of nearest passages by TF-IDF that each is joined to (ours)",
    )


class TrainingSettings(SettingsTable):
    """Table `[gae.training]`: the auto-encoder of `gae-published`."""

    epochs: int = Field(default=300, ge=1, description="number of steps of Adam (C.2)")
    learning_rate: float = Field(default=0.01, gt=0, description="learning rate of Adam (C.2)")


class ClusterSettings(SettingsTable):
    """Table `[gae.clusters]`: clustering of passages."""

    resolution: float = Field(
        default=1.0, gt=0, description="of Leiden; a higher one gives smaller clusters (ours)"
    )
    dbscan_eps: float = Field(
        default=0.5, gt=0, description="eps of DBSCAN on embeddings as they are (C.3)"
    )


class RerankSettings(SettingsTable):
    """Table `[gae.rerank]`: re-ranking by clusters."""

    same_document: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="factor to the score of a passage for each better one of its document, in "
        "questions about the whole corpus; 1: none, as the paper (ours)",
    )


class RefineSettings(SettingsTable):
    """Table `[gae.refine]`: reflection and refinement (3.2, B)."""

    prompt_tokens: int = Field(
        default=6000, ge=200, description="longest prompt for topics and answer, word pieces (ours)"
    )


class ContextSettings(SettingsTable):
    """Table `[gae.contexts]`: the context of an answer."""

    k: int = Field(default=10, ge=1, description="K, passages in a context (C.3)")


class GaeSettings(SettingsTable):
    """Table `[gae]`; a change in one of its tables affects only the assets that read it."""

    graph: GraphSettings = GraphSettings()
    training: TrainingSettings = TrainingSettings()
    clusters: ClusterSettings = ClusterSettings()
    rerank: RerankSettings = RerankSettings()
    refine: RefineSettings = RefineSettings()
    contexts: ContextSettings = ContextSettings()
