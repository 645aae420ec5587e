"""The table `[gor]` of `corpus.toml`: every number of Graph of Records, with where it comes from.

Sections and tables named below are the paper's; dropout and alpha are those that it used for QMSum.
Residual form, unit length, temperature and direction of messages are ours;
`docs/graph-of-records.md` has the figures that they were chosen by. The variant `gor-published`
has what the authors' code runs, `gor-paper` what the paper writes.
"""

import json
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gsum_resources.content_hash import hash_texts

EncoderName = Literal["gat", "gcn", "sgc", "gin", "sage", "none"]
Direction = Literal["both", "to_response", "to_retrieved"]


class _Settings(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class SimulationSettings(_Settings):
    """Table `[gor.simulation]`: the questions asked of each document and their answers."""

    n_queries: int = Field(default=30, ge=1, description="distinct questions a document (4.1)")
    temperature: float = Field(default=0.5, ge=0, description="sampling of questions (4.1)")
    k: int = Field(default=6, ge=1, description="nodes retrieved for a response (4.1)")
    max_response_words: int = Field(default=60, ge=10, description="of a response, words; ours")
    least_score: int | None = Field(
        default=None, ge=1, le=10, description="a judge drops questions below it; unset: no judge"
    )


class RankingSettings(_Settings):
    """Table `[gor.ranking]`: BERTScore of every node against a question's source chunk."""

    layer: int | None = Field(
        default=None,
        ge=1,
        description="layer whose token vectors are matched; unset: the last",
    )


class EncoderSettings(_Settings):
    """Table `[gor.training.encoder]`: the graph neural network."""

    name: EncoderName = Field(default="gat", description="A.7; 'none' leaves nodes as they are")
    layers: int = Field(default=2, ge=1, description="layers, or hops of 'sgc' (table 6)")
    heads: int = Field(
        default=4,
        ge=1,
        description="of 'gat' (table 6): concatenated between layers, averaged in each layer's "
        "output (authors' code)",
    )
    dropout: float = Field(default=0.2, ge=0, lt=1, description="share of activations (table 6)")
    attention_dropout: float | None = Field(
        default=None,
        ge=0,
        lt=1,
        description="share of the attention weights of 'gat'; unset: as dropout (authors' code: "
        "0.1)",
    )
    direction: Direction = Field(
        default="to_retrieved",
        description="where messages go along an edge: 'to_retrieved', from a response to the nodes "
        "that it used; ours, the authors' code: to_response, the paper: both",
    )
    residual: bool = Field(default=True, description="node = input + learned gate * network; ours")
    gate: float = Field(default=0.1, description="first value of that gate; ours")
    unit_length: bool = Field(default=True, description="node embeddings of length 1; ours")
    cosine: bool = Field(
        default=False,
        description="trained by inner product, retrieved by cosine (authors' code); without effect "
        "where unit_length is on",
    )


class LossSettings(_Settings):
    """Table `[gor.training.loss]`: what is minimized (3.4)."""

    temperature: float = Field(default=0.05, gt=0, description="tau (equation 5); not published")
    alpha: float = Field(default=0.9, ge=0, le=1, description="weight of L_RANK (equation 8)")
    contrastive: bool = Field(default=True, description="with L_CL (equation 6)")
    ranking: bool = Field(default=True, description="with L_RANK (equation 7)")
    in_batch: bool = Field(default=True, description="other graphs' nodes are negatives too (3.4)")
    pairs: Literal["sum", "mean"] = Field(
        default="mean",
        description="L_RANK over a question's pairs (authors' code: mean; equation 7: sum)",
    )

    @model_validator(mode="after")
    def _something_to_minimize(self) -> "LossSettings":
        if not (self.contrastive or self.ranking):
            raise ValueError(
                "contrastive and ranking are both off; for nodes without training choose encoder "
                "'none'"
            )
        return self


class TrainingSettings(_Settings):
    """Table `[gor.training]`: everything that a checkpoint depends on besides its graphs."""

    encoder: EncoderSettings = EncoderSettings()
    loss: LossSettings = LossSettings()
    epochs: int = Field(default=150, ge=1, description="passes over all graphs (table 6)")
    batch_graphs: int = Field(default=32, ge=1, description="graphs a step (table 6)")
    learning_rate: float = Field(default=1e-3, gt=0, description="Adam's; falls to 0 (A.4)")
    seed: int = Field(default=0, ge=0, description="of first weights, batches and dropout")
    split: str | None = Field(
        default=None,
        description="documents that questions of this split ask about are learnt from; unset: "
        "'train' if there is such a split, otherwise all documents",
    )

    @property
    def fingerprint(self) -> str:
        """Changes with any of these settings."""
        return hash_texts([json.dumps(self.model_dump(), sort_keys=True)], 8)


class ContextSettings(_Settings):
    """Table `[gor.contexts]`: what an answer is written from."""

    k: int | None = Field(
        default=None,
        ge=1,
        description="nodes given for an answer (4.1); unset: as `[retrieval]` says",
    )
    budget_tokens: int | None = Field(
        default=None,
        ge=1,
        description="instead of k: nodes given for an answer until they have so many word pieces",
    )


class GorSettings(_Settings):
    """Table `[gor]`; a change in one of its tables concerns the assets that read it."""

    simulation: SimulationSettings = SimulationSettings()
    ranking: RankingSettings = RankingSettings()
    training: TrainingSettings = TrainingSettings()
    contexts: ContextSettings = ContextSettings()
