"""The table `[gor]` of `corpus.toml`: every number of Graph of Records, with where it comes from.

Sections and tables named below are the paper's. The residual form, unit length and the temperature
are ours: in a trial on QMSum's val split the mean reciprocal rank of a question's source chunk was
0.29 without training, 0.57 as published, 0.58 with unit length and temperature 0.05, and 0.65 with
the residual form too. The published form is `TrainingSettings.published(dataset)`.
"""

import json
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from gsum_resources.content_hash import hash_texts

EncoderName = Literal["gat", "gcn", "sgc", "gin", "sage", "none"]
Direction = Literal["both", "to_response", "to_retrieved"]

PUBLISHED = MappingProxyType(
    {
        "qmsum": (0.2, 0.9),
        "academiceval": (0.0, 0.6),
        "wcep": (0.1, 0.7),
        "booksum": (0.2, 0.2),
        "govreport": (0.5, 0.7),
        "squality": (0.1, 0.4),
    }
)
"""Dropout and alpha of each dataset: table 6, and for GovReport and SQuALITY, which it leaves out,
the values of this project's method notes."""


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
    heads: int = Field(default=4, ge=1, description="of 'gat', averaged (table 6)")
    dropout: float = Field(default=0.2, ge=0, lt=1, description="share of activations (table 6)")
    direction: Direction = Field(
        default="to_retrieved",
        description="who hears whom: 'to_retrieved', a node the responses that used it; ours, "
        "published: both",
    )
    residual: bool = Field(default=True, description="node = input + learned gate * network; ours")
    gate: float = Field(default=0.1, description="first value of that gate; ours")
    unit_length: bool = Field(default=True, description="node embeddings of length 1; ours")


class LossSettings(_Settings):
    """Table `[gor.training.loss]`: what is minimized (3.4)."""

    temperature: float = Field(default=0.05, gt=0, description="tau (equation 5); not published")
    alpha: float = Field(default=0.9, ge=0, le=1, description="weight of L_RANK (equation 8)")
    contrastive: bool = Field(default=True, description="with L_CL (equation 6)")
    ranking: bool = Field(default=True, description="with L_RANK (equation 7)")
    in_batch: bool = Field(default=True, description="other graphs' nodes are negatives too (3.4)")
    pairs: Literal["sum", "mean"] = Field(
        default="mean", description="L_RANK over a question's pairs; ours, published: their sum"
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
    split: str = Field(
        default="train",
        description="documents that questions of this split ask about are learnt from; all where "
        "there are none",
    )

    @classmethod
    def published(cls, dataset: str) -> "TrainingSettings":
        """The paper's form with the dropout and alpha that it used for a dataset.

        Raises
        ------
        ValueError
            If the paper trained on no dataset of this name.
        """
        if dataset not in PUBLISHED:
            raise ValueError(f"no published settings for '{dataset}'; known: {sorted(PUBLISHED)}")
        dropout, alpha = PUBLISHED[dataset]
        return cls(
            encoder=EncoderSettings(
                dropout=dropout, direction="both", residual=False, unit_length=False
            ),
            loss=LossSettings(temperature=1.0, alpha=alpha, pairs="sum"),
        )

    @property
    def fingerprint(self) -> str:
        """Changes with any of these settings."""
        return hash_texts([json.dumps(self.model_dump(), sort_keys=True)], 8)


class ContextSettings(_Settings):
    """Table `[gor.contexts]`: what an answer is written from."""

    k: int = Field(default=6, ge=1, description="nodes given for an answer (4.1)")
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
