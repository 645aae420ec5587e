"""The table `[gor]` of `corpus.toml`: the settings of Graph of Records and their sources.

Sections and tables named below are the paper's; dropout and alpha are its values for QMSum.
Residual form, unit length, temperature and direction of messages are ours;
`docs/graph-of-records.md` has the measurements behind them. The method `gor-published` follows the
authors' code, `gor-paper` the paper.
"""

import json
from operator import not_
from typing import Literal

from pydantic import Field, model_validator

from gsum_resources.embedding.model_files import PACKAGED
from gsum_resources.settings.table import SettingsTable
from gsum_resources.store.content_hash import hash_texts

EncoderName = Literal["gat", "gcn", "sgc", "gin", "sage", "none"]
Direction = Literal["both", "to_response", "to_retrieved"]


class SimulationSettings(SettingsTable):
    """Table `[gor.simulation]`: simulated questions about each document, and their answers."""

    n_queries: int = Field(default=30, ge=1, description="distinct questions per document (3.1)")
    temperature: float = Field(
        default=0.5, ge=0, description="sampling temperature of questions (3.1)"
    )
    k: int = Field(default=6, ge=1, description="nodes retrieved for a response (3.1)")
    max_response_words: int = Field(default=60, ge=10, description="longest response, words; ours")
    least_score: int | None = Field(
        default=None, ge=1, le=10, description="least score of a judged question; unset: no judge"
    )


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


class EncoderSettings(SettingsTable):
    """Table `[gor.training.encoder]`: the graph neural network."""

    name: EncoderName = Field(default="gat", description="architecture (A.7); 'none': no network")
    layers: int = Field(default=2, ge=1, description="number of layers, or hops of 'sgc' (table 6)")
    heads: int = Field(
        default=4,
        ge=1,
        description="attention heads of 'gat' (table 6): concatenated between layers, averaged in "
        "each layer's output (authors' code)",
    )
    dropout: float = Field(
        default=0.2, ge=0, lt=1, description="share of activations dropped (table 6)"
    )
    attention_dropout: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="share of attention weights of 'gat' dropped; unset: same as dropout (authors' "
        "code: 0.1)",
    )
    direction: Direction = Field(
        default="to_retrieved",
        description="direction of messages: 'to_retrieved', from a response to the nodes that it "
        "used (ours), 'to_response' (authors' code) or 'both' (the paper)",
    )
    residual: bool = Field(default=True, description="node = input + learned gate * network; ours")
    gate: float = Field(default=0.1, description="initial value of that gate; ours")
    unit_length: bool = Field(default=True, description="scale node embeddings to length 1; ours")
    cosine: bool = Field(
        default=False,
        description="train by inner product, retrieve by cosine (authors' code); no effect with "
        "unit_length",
    )
    neighbours: bool = Field(
        default=False,
        exclude_if=not_,  # so that models trained without it keep their settings
        description="messages also between passages that follow one another, with weights of their "
        "own; ours",
    )


class LossSettings(SettingsTable):
    """Table `[gor.training.loss]`: the training loss (2.3)."""

    temperature: float = Field(default=0.05, gt=0, description="tau (equation 5); not published")
    alpha: float = Field(default=0.9, ge=0, le=1, description="weight of L_RANK (equation 8)")
    contrastive: bool = Field(default=True, description="include L_CL (equation 6)")
    ranking: bool = Field(default=True, description="include L_RANK (equation 7)")
    in_batch: bool = Field(default=True, description="use nodes of other graphs as negatives (2.3)")
    pairs: Literal["sum", "mean"] = Field(
        default="mean",
        description="reduction of L_RANK over pairs (authors' code: mean; equation 7: sum)",
    )

    @model_validator(mode="after")
    def _something_to_minimize(self) -> "LossSettings":
        if not (self.contrastive or self.ranking):
            raise ValueError(
                "contrastive and ranking are both off; to skip training choose encoder 'none'"
            )
        return self


class TrainingSettings(SettingsTable):
    """Table `[gor.training]`: all settings that a checkpoint depends on."""

    encoder: EncoderSettings = EncoderSettings()
    loss: LossSettings = LossSettings()
    epochs: int = Field(default=150, ge=1, description="passes over all graphs (table 6)")
    batch_graphs: int = Field(default=32, ge=1, description="graphs per batch (table 6)")
    learning_rate: float = Field(
        default=1e-3, gt=0, description="initial rate of Adam; decays to 0 (A.4)"
    )
    seed: int = Field(default=0, ge=0, description="seed of initial weights, batches and dropout")
    split: str | None = Field(
        default=None,
        description="train on the documents that questions of this split ask about; unset: "
        "'train' if that split exists, otherwise all documents",
    )

    @property
    def fingerprint(self) -> str:
        """Hash of all these settings."""
        return hash_texts([json.dumps(self.model_dump(), sort_keys=True)], 8)


class ContextSettings(SettingsTable):
    """Table `[gor.contexts]`: the context of an answer."""

    k: int | None = Field(
        default=None,
        ge=1,
        description="nodes in the context of an answer (3.1); unset: k of `[retrieval]`",
    )
    budget_tokens: int | None = Field(
        default=None,
        ge=1,
        description="instead of k: longest context of an answer, word pieces",
    )


class GorSettings(SettingsTable):
    """Table `[gor]`; a change in one of its tables affects only the assets that read it."""

    simulation: SimulationSettings = SimulationSettings()
    ranking: RankingSettings = RankingSettings()
    training: TrainingSettings = TrainingSettings()
    contexts: ContextSettings = ContextSettings()
