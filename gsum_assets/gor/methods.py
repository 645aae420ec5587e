"""Methods of the family by name, each with the form of its network and loss.

Residual form, unit length, temperature and direction of messages are ours
(`docs/graph-of-records.md`, Origin of the defaults). `gor-published` follows the authors' code,
`gor-paper` the paper.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from types import MappingProxyType
from typing import Any, Literal

from gsum_assets.gor.settings import TrainingSettings


@dataclass(frozen=True)
class EncoderForm:
    """A graph network.

    Attributes
    ----------
    name : architecture (A.7); "none": nodes keep the embeddings of their texts.
    layers : number of layers, or hops of "sgc" (table 6).
    heads : attention heads of "gat" (table 6).
    dropout : share of activations dropped.
    attention_dropout : share of attention weights of "gat" dropped; None: as `dropout`.
    direction : direction of messages: "to_retrieved" is from a response to the nodes that it used.
    residual : whether a node is its input plus a learned gate times the network's output.
    gate : initial value of that gate.
    unit_length : whether node embeddings are scaled to length 1.
    cosine : whether questions are compared by cosine, although trained by inner product.
    """

    name: Literal["gat", "gcn", "sgc", "gin", "sage", "none"] = "gat"
    layers: int = 2
    heads: int = 4
    dropout: float = 0.2
    attention_dropout: float | None = None
    direction: Literal["both", "to_response", "to_retrieved"] = "to_retrieved"
    residual: bool = True
    gate: float = 0.1
    unit_length: bool = True
    cosine: bool = False


@dataclass(frozen=True)
class LossForm:
    """A training loss (2.3).

    Attributes
    ----------
    temperature : tau of equation 5, which the paper does not give.
    alpha : weight of L_RANK (equation 8).
    contrastive, ranking : whether L_CL (equation 6) and L_RANK (equation 7) are included.
    in_batch : whether nodes of other graphs are negatives.
    pairs : reduction of L_RANK over pairs; equation 7 has a sum, the authors' code a mean.
    """

    temperature: float = 0.05
    alpha: float = 0.9
    contrastive: bool = True
    ranking: bool = True
    in_batch: bool = True
    pairs: Literal["sum", "mean"] = "mean"


@dataclass(frozen=True)
class Training:
    """All that a checkpoint depends on: the form of a method, and values of `TrainingSettings`."""

    encoder: EncoderForm = EncoderForm()
    loss: LossForm = LossForm()
    epochs: int = 150
    batch_graphs: int = 32
    learning_rate: float = 1e-3
    seed: int = 0
    split: str | None = None

    def as_values(self) -> dict[str, Any]:
        """Return plain values, as stored with a checkpoint."""
        return asdict(self)


_PUBLISHED = Training(
    EncoderForm(
        direction="to_response",
        attention_dropout=0.1,
        residual=False,
        unit_length=False,
        cosine=True,
    ),
    LossForm(temperature=1.0),
)
_PAPER = Training(
    EncoderForm(direction="both", residual=False, unit_length=False),
    LossForm(temperature=1.0, pairs="sum"),
)


_WITHOUT = {"no-cl": "contrastive", "no-rank": "ranking", "no-in-batch": "in_batch"}


def _ablations(name: str, form: Training) -> dict[str, Training]:
    """Return a form without each part of its loss, and supervised by references (3.5)."""
    without = {
        f"{name}-{suffix}": replace(form, loss=replace(form.loss, **{part: False}))
        for suffix, part in _WITHOUT.items()
    }
    return {**without, f"{name}-supervised": form}


FORMS: Mapping[str, Training] = MappingProxyType(
    {
        "gor": Training(),
        "gor-untrained": Training(EncoderForm("none")),
        **_ablations("gor", Training()),
        "gor-published": _PUBLISHED,
        **_ablations("gor-published", _PUBLISHED),
        "gor-paper": _PAPER,
        "gor-gcn": Training(EncoderForm("gcn")),
        "gor-sgc": Training(EncoderForm("sgc")),
        "gor-gin": Training(EncoderForm("gin")),
        "gor-sage": Training(EncoderForm("sage")),
    }
)
WITHOUT_NETWORK = ("thought-retriever", "node2vec")
"""Baselines that use the records without training a network."""

METHODS = (*FORMS, *WITHOUT_NETWORK)
SUPERVISED = ("gor-supervised", "gor-published-supervised")


def training_of(method: str, settings: TrainingSettings) -> Training:
    """Return the form of a method with the corpus's settings."""
    form, values = FORMS[method], settings.model_dump()
    encoder = replace(form.encoder, dropout=values.pop("dropout"))
    return replace(
        form, encoder=encoder, loss=replace(form.loss, alpha=values.pop("alpha")), **values
    )
