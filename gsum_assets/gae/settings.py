"""The table `[gae]` of `corpus.toml`: every number of graph-augmented summarization.

Sections are those of the graph-augmented ODMDS paper. What is marked ours was chosen on the 250
questions of ODSum-Story's train stories; `docs/graph-augmented.md` has the figures.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Clustering = Literal["chosen", "leiden", "dbscan", "hdbscan", "k_means"]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GraphSettings(_Settings):
    """Table `[gae.graph]`: how passages are joined, and what the auto-encoder knows of each."""

    neighbours: bool = Field(default=True, description="join neighbouring chunks (3.1.1)")
    n_nearest: int = Field(
        default=5, ge=0, description="nearest passages by TF-IDF that each is joined to (ours)"
    )
    dim: int = Field(default=500, ge=1, description="features of a passage after PCA (C.1)")
    alpha: float = Field(default=0.5, ge=0, description="weight of TF-IDF features (equation 3)")
    beta: float = Field(default=0.5, ge=0, description="weight of embeddings (equation 3)")


class TrainingSettings(_Settings):
    """Table `[gae.training]`: the auto-encoder."""

    layers: int = Field(
        default=2, ge=1, description="graph convolutions; the paper's third over-smooths (C.2)"
    )
    hidden: int = Field(default=128, ge=1, description="width of the hidden layers (ours)")
    dim: int = Field(default=64, ge=1, description="length of an embedding (ours)")
    dropout: float = Field(
        default=0.5, ge=0, lt=1, description="share of activations, all layers but the last (C.2)"
    )
    epochs: int = Field(default=300, ge=1, description="steps of Adam (C.2)")
    learning_rate: float = Field(default=0.01, gt=0, description="of Adam (C.2)")
    weight_decay: float = Field(default=5e-4, ge=0, description="of Adam (C.2)")
    centred: bool = Field(
        default=True, description="embeddings are centred, so that training starts well (ours)"
    )
    exact_nodes: int = Field(
        default=2000,
        ge=0,
        description="nodes up to which every pair enters the loss; beyond, a sample (ours)",
    )
    n_sampled: int = Field(
        default=512, ge=1, description="pairs without an edge, drawn a node and epoch (ours)"
    )
    threads: int = Field(
        default=1, ge=1, description="of torch; more than free cores slow it down tenfold (ours)"
    )
    seed: int = Field(default=0, description="of first weights, dropout and drawn pairs")


class ClusterSettings(_Settings):
    """Table `[gae.clusters]`: how passages are parted."""

    method: Clustering = Field(
        default="chosen", description="'chosen': the one that held-out passages speak for (ours)"
    )
    resolutions: list[float] = Field(
        default=[1.0, 3.0, 10.0], min_length=1, description="of Leiden: higher, smaller clusters"
    )
    unit_length: bool = Field(
        default=True, description="embeddings are scaled to length 1 for HDBSCAN and K-Means (ours)"
    )
    dbscan_eps: float = Field(
        default=0.5, gt=0, description="reach of a passage, of embeddings as they are (C.3)"
    )
    dbscan_min_samples: int = Field(default=2, ge=1, description="passages in reach (C.3)")
    hdbscan_min_size: int = Field(default=3, ge=2, description="of the smallest cluster (ours)")
    k_means_size: float = Field(
        default=10.0, ge=1, description="passages in a cluster of K-Means on average (ours)"
    )
    n_probes: int = Field(default=300, ge=2, description="passages held out to judge by (ours)")
    seed: int = Field(default=0, description="of Leiden, K-Means and resampling")


class RerankSettings(_Settings):
    """Table `[gae.rerank]`: how clusters move passages."""

    candidates_per_k: int = Field(
        default=10, ge=1, description="candidates for each passage that is read (3.1.3)"
    )
    scores: Literal["plain", "normalized"] = Field(
        default="plain",
        description="'normalized': scaled to 0 to 1 over the candidates first (ours)",
    )


class RefineSettings(_Settings):
    """Table `[gae.refine]`: reflection and refinement (3.2, B)."""

    topic_weight: float = Field(
        default=0.5, ge=0, le=1, description="of the topic's relevance; the passage's has the rest"
    )
    high: float = Field(default=7.0, ge=1, le=10, description="least score of a light edit (B)")
    medium: float = Field(default=4.0, ge=1, le=10, description="least score of condensing (B)")
    medium_share: float = Field(
        default=0.5, gt=0, le=1, description="of a condensed passage's words that remain (ours)"
    )
    low_words: int = Field(
        default=25, ge=0, description="words that a reduced passage keeps; 0: dropped (ours)"
    )
    prompt_tokens: int = Field(
        default=6000, ge=200, description="longest prompt for topics and answer, word pieces (ours)"
    )


class ContextSettings(_Settings):
    """Table `[gae.contexts]`: what an answer is written from."""

    k: int = Field(default=10, ge=1, description="K, passages given to the summarizer (C.3)")


class GaeSettings(_Settings):
    """Table `[gae]`; a change in one of its tables concerns the assets that read it."""

    graph: GraphSettings = GraphSettings()
    training: TrainingSettings = TrainingSettings()
    clusters: ClusterSettings = ClusterSettings()
    rerank: RerankSettings = RerankSettings()
    refine: RefineSettings = RefineSettings()
    contexts: ContextSettings = ContextSettings()
