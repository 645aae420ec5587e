"""The table `[lightpal]` of `corpus.toml`: every number of LightPAL and of the passage walk.

Sections are those of the LightPAL paper. What is marked ours was chosen on the 250 questions of
ODSum-Story's train stories; `docs/lightpal.md` has the figures.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Initial = Literal["bm25", "tfidf", "dense", "hybrid", "rrf"]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class GraphSettings(_Settings):
    """Table `[lightpal.graph]`: how passages are joined."""

    n_candidates: int = Field(
        default=100, ge=1, description="most similar passages that are scored for each (5.1)"
    )
    n_edges: int = Field(default=5, ge=1, description="best of them that an edge leads to (5.1)")


class RetrievalSettings(_Settings):
    """Table `[lightpal.retrieval]`: the published retrieval."""

    initial: Initial = Field(default="dense", description="baseline that retrieves first (4.2)")
    initial_share: float = Field(
        default=0.6, ge=0, le=1, description="share of K that it keeps (5.1)"
    )
    n_teleport: int = Field(
        default=20,
        ge=1,
        description="initial passages of K that the walk jumps back to, at most (5.1)",
    )
    alpha: float = Field(
        default=0.2, ge=0, lt=1, description="probability of a step; 1 - alpha jumps back (5.1)"
    )


class PromptRankSettings(_Settings):
    """Table `[lightpal.promptrank]`: the slow comparison (Khalifa et al., 2023)."""

    n_first: int = Field(
        default=20, ge=1, description="initial passages of K that paths begin at, at most"
    )
    beam: int = Field(default=5, ge=1, description="paths that are made longer at each hop")
    hops: int = Field(default=2, ge=1, description="passages on the longest path")


class WalkSettings(_Settings):
    """Table `[lightpal.walk]`: the method `passage_walk`, all ours."""

    n_teleport: int = Field(default=30, ge=1, description="first passages that it jumps back to")
    power: float = Field(
        default=3.0, ge=0, description="of a first passage's scaled score: how peaked jumps are"
    )
    restart: float = Field(default=0.1, gt=0, le=1, description="probability of jumping back")
    most_trust: float = Field(
        default=0.9, ge=0, le=1, description="weight of the walk where its graph is good"
    )
    n_probes: int = Field(default=300, ge=2, description="passages held out to judge the graph by")


class ContextSettings(_Settings):
    """Table `[lightpal.contexts]`: what an answer is written from."""

    k: int | None = Field(
        default=None,
        ge=1,
        description="passages given for an answer (gor, 4.1); unset: as `[retrieval]` says",
    )


class LightpalSettings(_Settings):
    """Table `[lightpal]`; a change in one of its tables concerns the assets that read it."""

    graph: GraphSettings = GraphSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    promptrank: PromptRankSettings = PromptRankSettings()
    walk: WalkSettings = WalkSettings()
    contexts: ContextSettings = ContextSettings()
