"""A corpus of 32 buckets beside one of 8: bounded runs, and what the daemon requests."""

import os
import shutil
from collections.abc import Iterator

import dagster as dg
import pytest
import sqlalchemy as sa

from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.forget import forget
from gsum_assets.runner.run import RunReport
from gsum_resources.state.database import state_of
from tests.conftest import CORPUS, House, document_in, text_of
from tests.growing.daemon import Daemon
from tests.pipeline.daemon import requested
from tests.pipeline.homes import copy_of, furnish, house_at

pytestmark = pytest.mark.slow

MANY, N = "many", 32
PER_RUN = 12
CHUNKS = dg.AssetKey("chunks")


@pytest.fixture(scope="module")
def grown(
    tmp_path_factory: pytest.TempPathFactory, only_tables: None
) -> Iterator[tuple[House, RunReport]]:
    """A home with both corpora, and what the run of the larger one did."""
    with house_at(tmp_path_factory.mktemp("grown")) as house:
        (house.home.root / "gsum.toml").write_text(f"[automation]\nbuckets_per_run = {PER_RUN}\n")
        for corpus in (CORPUS, MANY):
            furnish(house, corpus)
        settings = house.home.corpora / MANY / "corpus.toml"
        settings.write_text(f"buckets = {N}\n{settings.read_text()}")
        assert house.run(["bm25"]).is_complete
        yield house, house.run(["bm25"], MANY)


@pytest.fixture
def house(grown: tuple[House, RunReport], tmp_path) -> Iterator[House]:
    with copy_of(grown[0], tmp_path) as copy:
        yield copy


def keys(house: House) -> list[str]:
    with house.instance() as instance:
        return list(instance.get_dynamic_partitions("buckets"))


def all_is_old(house: House) -> None:
    """Nobody has written to the folders for a while: the daemon observes them."""
    for file in house.home.corpora.rglob("*"):
        os.utime(file, (1_500_000_000, 1_500_000_000))


def test_runs_take_a_bounded_number_of_buckets(grown: tuple[House, RunReport]) -> None:
    house, report = grown
    assert report.is_complete
    sizes = [len(result.partitions) for result in report.results if "chunks" in result.assets]
    assert sizes == [12, 12, 8]
    assert len(house.store.partitions(TABLES["chunks"], MANY)) == N
    assert len(house.store.partitions(TABLES["chunks"], CORPUS)) == 8


def test_nothing_is_due_of_buckets_that_a_corpus_does_not_have(house: House) -> None:
    assert len(keys(house)) == N  # and so Dagster has 32 partitions of both corpora
    with house.instance() as instance:
        assert not requested(house.pipeline(), instance)


def test_run_of_such_a_bucket_writes_no_file(house: House) -> None:
    pipeline = house.pipeline()
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    ends = {"start": f"06|{CORPUS}", "end": f"20|{CORPUS}"}
    tags = {f"dagster/asset_partition_range_{name}": key for name, key in ends.items()}
    before = house.store.footers(TABLES["chunks"], house.store.partitions(TABLES["chunks"]))
    with house.instance() as instance:
        assert job.execute_in_process(
            instance=instance, asset_selection=[CHUNKS], tags={**tags, CORPUS_TAG: CORPUS}
        ).success
    after = house.store.footers(TABLES["chunks"], house.store.partitions(TABLES["chunks"]))
    assert {p: f.content_hash for p, f in after.items()} == {
        p: f.content_hash for p, f in before.items()
    }
    with house.instance() as instance:
        assert not requested(pipeline, instance)


def test_daemon_follows_an_edit_in_both(house: House) -> None:
    daemon = Daemon()
    pipeline = house.pipeline()
    with house.instance() as instance:
        all_is_old(house)
        assert not daemon.work(pipeline, instance, try_again=False)
        for corpus in (CORPUS, MANY):
            file = house.home.corpora / corpus / f"{document_in(0)}.txt"
            file.write_text(text_of("another"))
        all_is_old(house)
        assert daemon.work(pipeline, instance, try_again=True)
        assert not any(pipeline.new_snapshot(instance).due(c) for c in (CORPUS, MANY))
    for corpus in (CORPUS, MANY):
        assert text_of("another") in house.table("documents", corpus)["text"].to_pylist()


def test_forget_leaves_nothing_of_a_document(house: House) -> None:
    document_id = document_in(3)
    pipeline = house.pipeline()
    with house.instance() as instance:
        report = forget(pipeline, instance, MANY, document_id)
    assert report.problem is None
    assert not report.leftovers
    assert document_id not in house.table("chunks", MANY)["document_id"].to_pylist()
    assert document_id in house.table("chunks", CORPUS)["document_id"].to_pylist()


def test_deleted_corpus_takes_its_buckets_with_it(house: House) -> None:
    pipeline = house.pipeline()
    with house.instance() as instance:
        pipeline.reconciler.forget(instance, MANY)
    assert len(keys(house)) == 8
    assert pipeline.buckets.of(MANY) == 8


def test_home_of_an_older_gsum_has_nothing_due(house: House) -> None:
    pipeline = house.pipeline()
    shutil.rmtree(house.home.corpora / MANY)
    all_is_old(house)
    with house.instance() as instance:
        pipeline.reconciler.forget(instance, MANY)
        for key in instance.get_dynamic_partitions("buckets"):  # its buckets were no partitions
            instance.delete_dynamic_partition("buckets", key)
        with state_of(pipeline.store).writing() as connection:
            connection.execute(sa.text("DROP TABLE buckets"))
    old = House(house.home, house.embedder, house.model, house.scorer)
    pipeline = old.pipeline()
    with old.instance() as instance:
        assert not requested(pipeline, instance)
        assert not pipeline.new_snapshot(instance).due(CORPUS)
        assert Daemon().work(pipeline, instance, try_again=False) == 0
        definition = pipeline.definitions.resolve_asset_graph().get(CHUNKS).partitions_def
        assert definition is not None
        partitions = definition.get_partition_keys(dynamic_partitions_store=instance)
        assert set(partitions) <= instance.get_materialized_partitions(CHUNKS)
    assert not old.run().results


def test_daemon_waits_until_dagster_knows_the_buckets(house: House) -> None:
    pipeline = house.pipeline()
    house.write_queries([{"query_id": "new", "text": "Who met the boat again?"}])
    all_is_old(house)
    with house.instance() as instance:
        job = pipeline.definitions.resolve_job_def("observe_sources")
        assert job.execute_in_process(instance=instance).success
        assert requested(pipeline, instance)
        for key in instance.get_dynamic_partitions("buckets"):
            instance.delete_dynamic_partition("buckets", key)
        assert not requested(pipeline, instance)
