"""The requests of methods can be seen, and end with their tables."""

import dagster as dg
import pytest

from gsum_assets.automation.processes import CORPUS as OF_CORPUS
from gsum_assets.automation.withdraw import WITHDRAW_METHODS
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import RESULT_TABLES
from gsum_assets.runner.run import refresh
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House
from tests.pipeline.daemon import requested, start

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


def methods_in(house: House, name: str) -> set[str]:
    return set(house.table(name)["method"].to_pylist())


def withdraw(house: House, instance: dg.DagsterInstance, *methods: str) -> bool:
    """Launch the job as a person does in the UI."""
    ops = {"withdraw": {"config": {"corpus": CORPUS, "methods": list(methods)}}}
    job = house.pipeline().definitions.resolve_job_def(WITHDRAW_METHODS)
    return job.execute_in_process({"ops": ops}, instance=instance, raise_on_error=False).success


def test_methods_are_withdrawn_with_their_tables(changeable: House) -> None:
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        assert refresh(pipeline, instance, CORPUS, ["tfidf"]).is_complete
        assert start(
            pipeline, instance, ("retrieval/rankings", Partition(CORPUS, None, "random"))
        ).success
        line = pipeline.withdrawal.described(CORPUS)
        assert line == "requested: bm25, tfidf; also kept up to date, since materialized: random"
        with pytest.raises(CorpusError, match=r"gor cannot be withdrawn.*requested: bm25, tfidf"):
            pipeline.withdrawal.withdraw(instance, CORPUS, ["gor"])
        assert withdraw(changeable, instance, "tfidf", "random")
        assert pipeline.withdrawal.described(CORPUS) == "requested: bm25"
        assert all(methods_in(changeable, name) == {"bm25"} for name in RESULT_TABLES)
        assert not {
            key
            for key in instance.get_materialized_partitions(dg.AssetKey(["retrieval", "scores"]))
            if "tfidf" in key
        }
        assert refresh(pipeline, instance, CORPUS).is_complete
        assert methods_in(changeable, "leaderboard") == {"bm25"}

        assert withdraw(changeable, instance, "bm25")
        assert changeable.table("chunks").num_rows
        assert not changeable.store.partitions(pipeline.warehouse.tables["leaderboard"])
        assert requested(pipeline, instance) == set()


def test_methods_are_not_withdrawn_while_a_run_could_write_them_again(changeable: House) -> None:
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        job = pipeline.definitions.resolve_implicit_global_asset_job_def()
        instance.create_run_for_job(
            job, tags={OF_CORPUS: CORPUS}, status=dg.DagsterRunStatus.STARTED
        )
        assert not withdraw(changeable, instance, "bm25")
        assert methods_in(changeable, "scores") == {"bm25"}
