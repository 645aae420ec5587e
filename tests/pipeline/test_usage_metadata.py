"""Numbers of models' calls at each run, for plots over time."""

import dagster as dg

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.appended import read_appended
from tests.conftest import CORPUS, House

COLUMNS = ("tokens_in", "tokens_out", "cost_usd")


def test_calls_of_a_run_are_metadata_of_what_it_wrote(changeable: House) -> None:
    changeable.run(["tfidf"])
    key = dg.AssetKey(["retrieval", "summaries"])
    with changeable.instance() as instance:
        (event,) = instance.fetch_materializations(key, limit=1).records
    assert event.partition_key == CORPUS
    shown = {
        name: entry.value
        for name, entry in event.asset_materialization.metadata.items()  # type: ignore[union-attr]
        if name.startswith("llm/")
    }
    rows = read_appended(changeable.store, TABLES["llm_calls"], CORPUS).to_pylist()
    rows = [r for r in rows if r["run_id"] == event.run_id and r["asset"] == "retrieval/summaries"]
    assert len(rows) == shown["llm/requests"] > 0
    assert shown["llm/cached_share"] == sum(row["cached"] for row in rows) / len(rows)
    assert shown["llm/failures"] == 0
    for name in COLUMNS:
        assert shown[f"llm/{name}"] == sum(row[name] for row in rows if not row["cached"])
