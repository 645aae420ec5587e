"""The table `[gae]` of `corpus.toml`: the settings of graph-augmented summarization.

Sections are those of the graph-augmented ODMDS paper. Values marked "ours" were chosen on the 250
questions of ODSum-Story's train stories; `docs/graph-augmented.md` has the measurements.
"""

from typing import Literal

from pydantic import Field

from gsum_resources.settings.table import SettingsTable


class GraphSettings(SettingsTable):
    """Table `[gae.graph]`: edges and features of passages."""

    neighbours: bool = Field(default=True, description="join neighbouring chunks (3.1.1)")
    n_nearest: int = Field(
        default=5,
        ge=0,
        description="number of nearest passages by TF-IDF that each is joined to (ours)",
    )
    dim: int = Field(default=500, ge=1, description="features of a passage after PCA (C.1)")
    alpha: float = Field(default=0.5, ge=0, description="weight of TF-IDF features (equation 3)")
    beta: float = Field(default=0.5, ge=0, description="weight of embeddings (equation 3)")


class TrainingSettings(SettingsTable):
    """Table `[gae.training]`: the auto-encoder of `gae-autoencoder` and `gae-published`."""

    layers: int = Field(
        default=2, ge=1, description="graph convolutions; the paper's third over-smooths (C.2)"
    )
    hidden: int = Field(default=128, ge=1, description="width of the hidden layers (ours)")
    dim: int = Field(default=64, ge=1, description="length of an embedding (ours)")
    dropout: float = Field(
        default=0.5,
        ge=0,
        lt=1,
        description="share of activations dropped, in all layers but the last (C.2)",
    )
    epochs: int = Field(default=300, ge=1, description="number of steps of Adam (C.2)")
    learning_rate: float = Field(default=0.01, gt=0, description="learning rate of Adam (C.2)")
    weight_decay: float = Field(default=5e-4, ge=0, description="weight decay of Adam (C.2)")
    loss: Literal["balanced", "squared"] = Field(
        default="balanced",
        description="'balanced': cross-entropy in which edges weigh as much as all other pairs "
        "(Kipf and Welling, 2016); 'squared': the paper's, equation 7",
    )
    exact_nodes: int = Field(
        default=2000,
        ge=0,
        description="most nodes for which the loss uses every pair; beyond, a sample (ours)",
    )
    n_sampled: int = Field(
        default=512, ge=1, description="pairs sampled per node and epoch beyond that (ours)"
    )
    threads: int = Field(
        default=1,
        ge=1,
        description="threads of torch; more than free cores are ten times slower (ours)",
    )
    seed: int = Field(default=0, description="seed of initial weights, dropout and sampled pairs")


class ClusterSettings(SettingsTable):
    """Table `[gae.clusters]`: clustering of passages."""

    resolution: float = Field(
        default=1.0, gt=0, description="of Leiden; a higher one gives smaller clusters (ours)"
    )
    dbscan_eps: float = Field(
        default=0.5, gt=0, description="eps of DBSCAN on embeddings as they are (C.3)"
    )
    dbscan_min_samples: int = Field(default=2, ge=1, description="passages within eps (C.3)")
    k_means_size: float = Field(
        default=10.0, ge=1, description="mean size of a cluster of K-Means (ours)"
    )
    n_probes: int = Field(default=300, ge=2, description="number of held-out passages (ours)")
    seed: int = Field(default=0, description="seed of Leiden and K-Means")


class RerankSettings(SettingsTable):
    """Table `[gae.rerank]`: re-ranking by clusters."""

    candidates_per_k: int = Field(
        default=10, ge=1, description="candidates per passage of a context (3.1.3)"
    )
    same_document: float = Field(
        default=0.7,
        gt=0,
        le=1,
        description="factor to the score of a passage for each better one of its document, in "
        "questions about the whole corpus; 1: none, as the paper (ours)",
    )


class RefineSettings(SettingsTable):
    """Table `[gae.refine]`: reflection and refinement (3.2, B)."""

    topic_weight: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="weight of the topic's relevance; the passage's has the rest",
    )
    high: float = Field(default=7.0, ge=1, le=10, description="least score for a light edit (B)")
    medium: float = Field(default=4.0, ge=1, le=10, description="least score for condensing (B)")
    medium_share: float = Field(
        default=0.5, gt=0, le=1, description="share of words kept in a condensed passage (ours)"
    )
    low_words: int = Field(
        default=25, ge=0, description="words kept in a reduced passage; 0: dropped (ours)"
    )
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
