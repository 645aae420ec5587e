"""A step with a served scorer: costs and failures are recorded."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.answering.workspace import open_workspace
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.inputs import Run, StepReader
from gsum_assets.refresh.usage import Usage
from gsum_assets.registry.declared import STEPS
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import Settings
from gsum_resources.store.appended import read_appended
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.parquet_store import ParquetStore, Partition
from tests.servers.replies import tokens_of
from tests.servers.scripted import scripted_server

CONTEXTS, CANDIDATES = ["A boat."], [["A lamp.", "poison"]]
(SCORING,) = (declared for declared in STEPS if declared.name == "lightpal/context_scores")


def test_served_scorer_is_recorded_like_embeddings(tmp_path: Path) -> None:
    home = Home(tmp_path, str(tmp_path / "store"))
    store, usage = home.open_store(), Usage()
    with scripted_server(tmp_path / "log.jsonl", always_fail="poison") as server:
        settings = {"backend": "openai_compatible", "model": "m", "base_url": server.base_url}
        settings |= {"api_key_env": "", "max_retries": 0, "usd_per_million_tokens": 2.0}
        chosen = Settings.model_validate({"scorer": settings})
        workspace = open_workspace(home, Models(chosen, store, TABLES["llm_calls"]), store=store)
        readers = [
            StepReader(workspace, SCORING, [Partition("tales")], ["00"], Run(), usage)
            for _ in range(2)
        ]
        for reader in readers:
            scores = reader.inputs()["passage_scorer"].get().score(CONTEXTS, CANDIDATES)
        lines = server.lines("/completions")
    assert np.isnan(scores[0]).tolist() == [False, True]
    assert [line["status"] for line in lines].count(200) == 3  # the passage's own tokens once more
    rows: list[dict] = _booked(store).to_pylist()
    assert [row["asset"] for row in rows] == ["lightpal/context_scores"] * 2
    assert {row["model"] for row in rows} == {"openai_compatible-1/m/window=4096"}
    assert [row["n_texts"] for row in rows] == [2, 1]
    own, pair = tokens_of("A boat.\n\n"), tokens_of("A boat.\n\nA lamp.")
    assert [row["tokens_in"] for row in rows] == [own + pair, own]
    assert sum(row["cost_usd"] for row in rows) == pytest.approx((2 * own + pair) * 2e-6)
    assert usage.metadata()["embedding/texts"] == 3
    version = {InputKey("model", "passage_scorer"): "openai_compatible-1/m/window=4096"}
    for reader in readers:
        assert reader.reads.failures == [""]
        assert reader.reads.others == version


def _booked(store: ParquetStore) -> pa.Table:
    return read_appended(store, TABLES["embedding_calls"], "tales").sort_by("time")
