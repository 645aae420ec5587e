"""The requests of methods can be seen, and end with their tables."""

import dagster as dg
import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.automation.processes import CORPUS as OF_CORPUS
from gsum_assets.automation.withdraw import WITHDRAW_METHODS
from gsum_assets.graphrag.index import INDEX as OF_GRAPHRAG
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import RESULT_TABLES, TABLES
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


def test_a_method_makes_those_tables_of_its_index_alone_that_it_reads(changeable: House) -> None:
    """`jerr` pays for no graph, its search does; the graph goes with it."""
    pipeline, graph = changeable.pipeline(), ("jerr.elements", "jerr.nodes", "jerr.edges")
    with changeable.instance() as instance:
        assert refresh(pipeline, instance, CORPUS, ["jerr", "graphrag-ss"]).is_complete
        written = {name for name, table in TABLES.items() if changeable.store.partitions(table)}
        assert not written & {f"graphrag.{name}" for step in OF_GRAPHRAG for name in step.writes}
        assert {"jerr.line_chunks", "jerr.synopses"} <= written
        assert not written.intersection(graph)
        assert requested(pipeline, instance) == set()
        assert ask(pipeline, CORPUS, "Who met the boat?", "jerr").passages
        with pytest.raises(CorpusError, match=r"run tales --methods jerr-search` first"):
            ask(pipeline, CORPUS, "Who met the boat?", "jerr-search")

        assert refresh(pipeline, instance, CORPUS, ["jerr-search"]).is_complete
        assert all(changeable.store.partitions(TABLES[name]) for name in graph)
        assert withdraw(changeable, instance, "jerr-search")
        assert not any(changeable.store.partitions(TABLES[name]) for name in graph)
        assert refresh(pipeline, instance, CORPUS).is_complete
        assert ask(pipeline, CORPUS, "Who met the boat?", "jerr").passages
