"""The table `[gor]` of `corpus.toml`; sections and tables named below are the paper's.

What a method fixes, such as its loss, is in `methods.py`.
"""

from pydantic import Field

from gsum_resources.embedding.model_files import PACKAGED
from gsum_resources.settings.table import SettingsTable


class SimulationSettings(SettingsTable):
    """Table `[gor.simulation]`: simulated questions about each document, and their answers."""

    n_queries: int = Field(default=30, ge=1, description="distinct questions per document (3.1)")
    k: int = Field(default=6, ge=1, description="nodes retrieved for a response (3.1)")


class RankingSettings(SettingsTable):
    """Table `[gor.ranking]`: BERTScore of every node with a question's source chunk."""

    model: str = Field(
        default=PACKAGED,
        min_length=1,
        description="model of BERTScore, a folder or hub id; 'packaged': the packaged encoder "
        "(authors' code: microsoft/deberta-xlarge-mnli, layer 40)",
    )
    layer: int | None = Field(
        default=None,
        ge=1,
        description="model layer whose token vectors are matched; unset: the last",
    )


class TrainingSettings(SettingsTable):
    """Table `[gor.training]`: how the network of a method is trained."""

    epochs: int = Field(default=150, ge=1, description="passes over all graphs (table 6)")
    batch_graphs: int = Field(default=32, ge=1, description="graphs per batch (table 6)")
    learning_rate: float = Field(
        default=1e-3, gt=0, description="initial rate of Adam; decays to 0 (A.4)"
    )
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="share of activations dropped (table 6, QMSum)"
    )
    alpha: float = Field(
        default=0.9, ge=0, le=1, description="weight of L_RANK (equation 8; table 6, QMSum)"
    )
    seed: int = Field(default=0, ge=0, description="seed of initial weights, batches and dropout")
    split: str | None = Field(
        default=None,
        description="train on the documents that questions of this split ask about; unset: "
        "'train' if that split exists, otherwise all documents",
    )


class ContextSettings(SettingsTable):
    """Table `[gor.contexts]`: the context of an answer."""

    k: int | None = Field(
        default=None,
        ge=1,
        description="nodes in the context of an answer (3.1); unset: k of `[retrieval]`",
    )


class GorSettings(SettingsTable):
    """Table `[gor]`; a change in one of its tables affects only the assets that read it."""

    simulation: SimulationSettings = SimulationSettings()
    ranking: RankingSettings = RankingSettings()
    training: TrainingSettings = TrainingSettings()
    contexts: ContextSettings = ContextSettings()
