"""Which settings change which model."""

from pathlib import Path

import pytest

from gsum_assets.tables import TABLES
from gsum_resources.models import ModelError, Models, ModelSettings
from gsum_resources.parquet_store import ParquetStore


def models(root: Path, **settings: str) -> Models:
    return Models(ModelSettings(**settings), ParquetStore(str(root)), TABLES["llm_calls"])


def test_precision_changes_the_embedder_and_not_the_extractive_model(tmp_path: Path) -> None:
    exact, fast = models(tmp_path), models(tmp_path, embedding_precision="bfloat16")
    assert exact.identity("embedding_model") != fast.identity("embedding_model")
    assert exact.identity("language_model") == fast.identity("language_model")
    inner = (exact._language_model, fast._language_model)
    assert len({model._embedder.identity for model in inner}) == 1  # type: ignore[attr-defined]


def test_a_wrong_setting_is_named(tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="GSUM_EMBEDDING_PRECISION is 'int8'; choose"):
        models(tmp_path, embedding_precision="int8").identity("embedding_model")
