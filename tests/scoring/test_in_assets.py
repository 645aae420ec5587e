"""A step with a served scorer: costs and failures are recorded."""

from pathlib import Path

import dagster as dg
import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.dagster_assets.model_assets import model_assets
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.dagster_io.models_io import ModelsIO
from gsum_resources.dagster_io.resources import MODELS
from gsum_resources.dagster_io.warehouse_io import Lazy
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import Settings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lineage import Reads
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.replies import tokens_of
from tests.servers.scripted import scripted_server

CONTEXTS, CANDIDATES = ["A boat."], [["A lamp.", "poison"]]
SCORES: list[np.ndarray] = []


@dg.asset(
    key_prefix="lightpal",
    ins={"scorer": dg.AssetIn("passage_scorer")},
    partitions_def=dg.StaticPartitionsDefinition(["tales"]),
)
def context_scores(scorer: Lazy) -> None:
    """One row per pair."""
    SCORES[:] = scorer.get().score(CONTEXTS, CANDIDATES)


def test_served_scorer_is_recorded_like_embeddings(tmp_path: Path) -> None:
    store, reads = ParquetStore(str(tmp_path / "store")), Reads()
    with scripted_server(tmp_path / "log.jsonl", always_fail="poison") as server:
        settings = {"backend": "openai_compatible", "model": "m", "base_url": server.base_url}
        settings |= {"api_key_env": "", "max_retries": 0, "usd_per_million_tokens": 2.0}
        chosen = Settings.model_validate({"scorer": settings})
        models = ModelsIO(
            Models(chosen, store, TABLES["llm_calls"]), reads, TABLES["embedding_calls"]
        )
        for _ in range(2):
            dg.materialize(
                [context_scores, *model_assets],
                partition_key="tales",
                resources={MODELS: models, "io_manager": dg.mem_io_manager},
                selection=[context_scores],
                instance=dg.DagsterInstance.ephemeral(),
            )
        lines = server.lines("/completions")
    assert np.isnan(SCORES[0]).tolist() == [False, True]
    assert [line["status"] for line in lines].count(200) == 3  # the passage's own tokens once more
    rows: list[dict] = _booked(store).to_pylist()
    assert [row["asset"] for row in rows] == ["lightpal/context_scores"] * 2
    assert {row["model"] for row in rows} == {"openai_compatible-1/m/window=4096"}
    assert [row["n_texts"] for row in rows] == [2, 1]
    own, pair = tokens_of("A boat.\n\n"), tokens_of("A boat.\n\nA lamp.")
    assert [row["tokens_in"] for row in rows] == [own + pair, own]
    assert sum(row["cost_usd"] for row in rows) == pytest.approx((2 * own + pair) * 2e-6)
    assert list(reads.failures.values()) == [[""], [""]]
    (versions, _) = reads.others.values()
    assert versions == {InputKey("model", "passage_scorer"): "openai_compatible-1/m/window=4096"}


def _booked(store: ParquetStore) -> pa.Table:
    return read_appended(store, TABLES["embedding_calls"], "tales").sort_by("time")
