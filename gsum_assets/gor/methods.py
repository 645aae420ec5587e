"""Methods of the family by name, with the settings that each changes."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from gsum_assets.gor.settings import TrainingSettings

Change = Mapping[str, Mapping[str, Any]]

WITHOUT_NETWORK = ("thought-retriever", "node2vec")
"""Baselines that use the records without training a network."""

SUPERVISED = ("gor-supervised", "gor-published-supervised")
EVIDENCE = "gor-evidence"

_PUBLISHED = {
    "encoder": {
        "direction": "to_response",
        "attention_dropout": 0.1,
        "residual": False,
        "unit_length": False,
        "cosine": True,
    },
    "loss": {"temperature": 1.0, "pairs": "mean"},
}


def _published_with(**loss: bool) -> Change:
    return {**_PUBLISHED, "loss": {**_PUBLISHED["loss"], **loss}}


_CHANGES: Mapping[str, Change] = MappingProxyType(
    {
        "gor": {},
        "gor-untrained": {"encoder": {"name": "none"}},
        "gor-no-cl": {"loss": {"contrastive": False}},
        "gor-no-rank": {"loss": {"ranking": False}},
        "gor-no-in-batch": {"loss": {"in_batch": False}},
        "gor-supervised": {},
        EVIDENCE: {
            "encoder": {"neighbours": True},
            "loss": {"contrastive": True, "ranking": False},
        },
        "gor-published": _PUBLISHED,
        "gor-published-no-cl": _published_with(contrastive=False),
        "gor-published-no-rank": _published_with(ranking=False),
        "gor-published-no-in-batch": _published_with(in_batch=False),
        "gor-published-supervised": _PUBLISHED,
        "gor-paper": {
            "encoder": {"direction": "both", "residual": False, "unit_length": False},
            "loss": {"temperature": 1.0, "pairs": "sum"},
        },
        "gor-gcn": {"encoder": {"name": "gcn"}},
        "gor-sgc": {"encoder": {"name": "sgc"}},
        "gor-gin": {"encoder": {"name": "gin"}},
        "gor-sage": {"encoder": {"name": "sage"}},
    }
)

METHODS = (*_CHANGES, *WITHOUT_NETWORK)


def training_settings(method: str, settings: TrainingSettings) -> TrainingSettings:
    """Return the corpus's settings with the changes of a method."""
    values = settings.model_dump()
    for section, changed in _CHANGES[method].items():
        values[section] |= changed
    return TrainingSettings.model_validate(values)
