"""A model for one task makes only the outputs of that task stale."""

import pytest

from gsum_assets.definitions import pipeline_for
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.run import RunReport, refresh
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import Settings
from gsum_resources.store.appended import read_appended
from tests.conftest import House
from tests.models import FirstWords

pytestmark = pytest.mark.usefixtures("only_tables")


def run_with(house: House, **overrides: FirstWords) -> RunReport:
    given = {"embedding_model": house.embedder, "language_model": house.model} | overrides
    models = Models(Settings(), house.store, TABLES["llm_calls"], given)  # type: ignore[arg-type]
    with house.instance() as instance:
        return refresh(pipeline_for(house.home, models), instance, "tales", ["bm25"])


def test_answer_model_rewrites_only_answers(house: House) -> None:
    assert run_with(house).results
    assert not run_with(
        house, reports=FirstWords("writer"), extraction=FirstWords("reader")
    ).results
    results = run_with(house, answers=FirstWords("speaker")).results
    assets = {asset for one in results for asset in one.assets}
    assert {"retrieval/summaries", "retrieval/scores"} <= assets
    assert not assets & {"documents", "chunks", "retrieval/rankings", "retrieval/contexts"}
    assert set(house.table("summaries")["model"].to_pylist()) == {"speaker"}
    calls = read_appended(house.store, TABLES["llm_calls"], "tales").to_pylist()
    assert {row["model"] for row in calls} == {"first-words", "speaker"}
    assert not run_with(house, answers=FirstWords("speaker")).results
