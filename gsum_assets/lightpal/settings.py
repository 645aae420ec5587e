"""The table `[lightpal]` of `corpus.toml`: the settings of LightPAL and of `passage_walk`.

Sections are those of the LightPAL paper. Values marked "ours" were chosen on the 250 questions of
ODSum-Story's train stories; `docs/lightpal.md` has the measurements.
"""

from typing import Literal

from pydantic import Field

from gsum_assets.graphs.approximate import LARGE
from gsum_resources.settings.table import SettingsTable

Initial = Literal["bm25", "tfidf", "dense", "hybrid", "rrf"]


class GraphSettings(SettingsTable):
    """Table `[lightpal.graph]`: edges between passages."""

    n_candidates: int = Field(
        default=200, ge=1, description="most similar passages scored per passage (ours; 100 in 5.1)"
    )
    n_edges: int = Field(
        default=5, ge=1, description="edges from each passage, to its best candidates (5.1)"
    )


class NeighbourSettings(SettingsTable):
    """Table `[lightpal.neighbours]`: how the most similar passages are found."""

    exact_up_to: int = Field(
        default=LARGE,
        ge=0,
        description="chunks up to which all pairs are compared; more are searched by an "
        "approximate index, with the extra large",
    )


class RetrievalSettings(SettingsTable):
    """Table `[lightpal.retrieval]`: the published retrieval."""

    initial: Initial = Field(
        default="dense", description="baseline that retrieves the initial passages (4.2)"
    )
    alpha: float = Field(
        default=0.2,
        ge=0,
        lt=1,
        description="probability of a step; 1 - alpha: of teleporting (5.1)",
    )


class WalkSettings(SettingsTable):
    """Table `[lightpal.walk]`: our method `passage_walk`."""

    n_probes: int = Field(default=300, ge=2, description="held-out passages that estimate trust")


class ContextSettings(SettingsTable):
    """Table `[lightpal.contexts]`: the context of an answer."""

    k: int | None = Field(
        default=None,
        ge=1,
        description="passages in a context (gor, 3.1); unset: k of `[retrieval]`",
    )


class LightpalSettings(SettingsTable):
    """Table `[lightpal]`; a change in one of its tables affects only the assets that read it."""

    graph: GraphSettings = GraphSettings()
    neighbours: NeighbourSettings = NeighbourSettings()
    retrieval: RetrievalSettings = RetrievalSettings()
    walk: WalkSettings = WalkSettings()
    contexts: ContextSettings = ContextSettings()
