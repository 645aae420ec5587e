"""The sensor over the corpora: folders it reads, observes, skips and forgets."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.automation.jobs import FORGET_CORPUS, OBSERVE_SOURCES, RECONCILE_CORPORA
from gsum_assets.definitions import METHODS
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.daemon import carry_out
from tests.pipeline.homes import contents


class Daemon:
    """Evaluates the sensor and executes its requests, as the daemon does."""

    def __init__(self, house: House, instance: dg.DagsterInstance) -> None:
        self.pipeline = house.pipeline()
        self.instance = instance
        self.cursor: str | None = None

    def tick(self) -> dg.SensorResult:
        context = dg.build_sensor_context(
            instance=self.instance, cursor=self.cursor, definitions=self.pipeline.definitions
        )
        result = self.pipeline.definitions.resolve_sensor_def("watch_corpora")(context)
        assert isinstance(result, dg.SensorResult)
        assert all(run.success for run in carry_out(result, self.pipeline, self.instance))
        self.cursor = result.cursor
        return result

    def jobs(self) -> list[str]:
        """Tick, and return the jobs that it requested."""
        return [request.job_name or "" for request in self.tick().run_requests or ()]

    def observed(self) -> list[str]:
        """The corpora that a tick wants looked at."""
        runs = self.tick().run_requests or ()
        return [run.tags["gsum/corpus"] for run in runs if run.job_name == OBSERVE_SOURCES]

    def reason(self) -> str:
        """Why a tick wants nothing."""
        reason = self.tick().skip_reason
        assert reason
        assert reason.skip_message
        return reason.skip_message

    @property
    def corpora(self) -> list[str]:
        return sorted(self.instance.get_dynamic_partitions("corpora"))


@pytest.fixture
def daemon(house: House) -> Iterator[Daemon]:
    settle(house.folder)
    with house.instance() as instance:
        yield Daemon(house, instance)


def settle(folder: Path) -> None:
    """As if its files had been written a minute ago."""
    then = time.time() - 60
    for file in folder.rglob("*"):
        os.utime(file, (then, then))


def test_new_folder_is_read_once(house: House, daemon: Daemon) -> None:
    assert daemon.observed() == [CORPUS]
    assert daemon.corpora == [CORPUS]
    assert daemon.pipeline.requests.of(CORPUS) == set(METHODS.default)
    assert daemon.observed() == []
    assert "no corpus folder changed" in daemon.reason()


def test_methods_of_the_folder_settings_are_requested(house: House, daemon: Daemon) -> None:
    (house.folder / "corpus.toml").write_text("methods = ['bm25']\n")
    settle(house.folder)
    daemon.tick()
    assert daemon.pipeline.requests.of(CORPUS) == {"bm25"}


def test_files_still_being_written_are_waited_for(house: House, daemon: Daemon) -> None:
    house.write_document("late")
    assert "tales: its files are still being written" in daemon.reason()
    assert daemon.corpora == []
    settle(house.folder)
    assert daemon.observed() == [CORPUS]
    house.write_document("later")
    assert "still being written" in daemon.reason()
    settle(house.folder)
    assert daemon.observed() == [CORPUS]


def test_modification_time_in_the_future_does_not_delay_a_folder(
    house: House, daemon: Daemon
) -> None:
    ahead = time.time() + 86_400
    os.utime(house.folder / f"{document_in(0)}.txt", (ahead, ahead))
    assert daemon.observed() == [CORPUS]


def test_changed_folder_is_observed_at_once(house: House, daemon: Daemon) -> None:
    daemon.tick()

    def edited() -> None:
        house.write_document(document_in(0), "Another text.")

    def added() -> None:
        (house.folder / "more").mkdir()
        (house.folder / "more" / "one.md").write_text("One more.")

    def renamed() -> None:
        (house.folder / f"{document_in(1)}.txt").rename(house.folder / "other.txt")

    def removed() -> None:
        (house.folder / f"{document_in(2)}.txt").unlink()

    def settings() -> None:
        (house.folder / "corpus.toml").write_text("title = 'Tales'\n")

    for change in (edited, added, renamed, removed, settings):
        change()
        settle(house.folder)
        assert daemon.observed() == [CORPUS], change.__name__
        assert daemon.observed() == [], change.__name__


def test_broken_folders_are_named_and_do_not_delay_others(house: House, daemon: Daemon) -> None:
    root = house.home.corpora
    (root / "empty").mkdir()
    (root / "två").mkdir()
    for name, text in (("settings", "colour = 'red'"), ("methods", "methods = ['bm52']")):
        shutil.copytree(house.folder, root / name)
        (root / name / "corpus.toml").write_text(text)
        settle(root / name)
    assert daemon.observed() == [CORPUS]
    assert daemon.corpora == [CORPUS]
    reason = daemon.reason()
    for fragment in ("empty", "holds no document", "två", "unknown key 'colour'", "bm52"):
        assert fragment in reason
    (root / "settings" / "corpus.toml").unlink()
    assert daemon.observed() == ["settings"]


@pytest.fixture
def emptied(changeable: House) -> Iterator[Daemon]:
    """A corpus that is up to date and known, whose folder was just moved to `second`."""
    settle(changeable.folder)
    with changeable.instance() as instance:
        daemon = Daemon(changeable, instance)
        daemon.tick()
        assert daemon.corpora == [CORPUS]
        changeable.folder.rename(changeable.home.root / "away")
        yield daemon


def n_materialized(daemon: Daemon, asset: str = "documents") -> int:
    return len(daemon.instance.get_materialized_partitions(dg.AssetKey(asset)))


def pass_time(daemon: Daemon, hours: float) -> None:
    """As if the folders that are missing had been noted so long ago."""
    missing = daemon.pipeline.reconciler.missing
    noted = missing.since()
    missing.clear(noted)
    for corpus, since in noted.items():
        missing.note([corpus], since - 3600 * hours)


@pytest.mark.slow
def test_deleted_folder_is_forgotten_after_the_grace(changeable: House, emptied: Daemon) -> None:
    assert n_materialized(emptied) == 8
    assert emptied.jobs() == [RECONCILE_CORPORA]
    assert emptied.jobs() == []
    assert emptied.reason() == "tales: its folder is missing"
    pass_time(emptied, 23)
    assert emptied.jobs() == []
    assert changeable.table("scores").num_rows
    pass_time(emptied, 2)
    assert emptied.jobs() == [FORGET_CORPUS]
    assert emptied.corpora == []
    assert emptied.pipeline.requests.of(CORPUS) is None
    assert n_materialized(emptied) == 0
    assert emptied.instance.get_latest_materialization_event(dg.AssetKey("documents")) is None
    for name in TABLES:
        assert changeable.table(name, CORPUS).num_rows == 0
    # the leftovers of its documents
    assert set(emptied.jobs()) <= {RECONCILE_CORPORA}
    assert emptied.jobs() == []


def test_folder_that_comes_back_in_time_is_as_before(changeable: House, emptied: Daemon) -> None:
    before = contents(changeable)
    emptied.tick()
    (changeable.home.root / "away").rename(changeable.folder)
    assert emptied.jobs() == [OBSERVE_SOURCES, RECONCILE_CORPORA]
    assert emptied.jobs() == []
    assert emptied.pipeline.reconciler.missing.since() == {}
    assert contents(changeable) == before
    assert not emptied.pipeline.new_snapshot(emptied.instance).due(CORPUS)


@pytest.mark.slow
def test_folder_that_comes_back_too_late_is_a_new_corpus(
    changeable: House, emptied: Daemon
) -> None:
    emptied.tick()
    pass_time(emptied, 25)
    assert emptied.jobs() == [FORGET_CORPUS]
    (changeable.home.root / "away").rename(changeable.folder)
    assert emptied.jobs() == [OBSERVE_SOURCES, RECONCILE_CORPORA]
    assert emptied.corpora == [CORPUS]
    assert emptied.pipeline.requests.of(CORPUS) == set(METHODS.default)
    assert emptied.pipeline.new_snapshot(emptied.instance).due(CORPUS)


def test_known_corpus_without_requests_gets_its_defaults(house: House, daemon: Daemon) -> None:
    daemon.tick()
    daemon.pipeline.requests.forget(CORPUS)
    assert daemon.jobs() == []  # as before: the same run was requested a moment ago
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gsum_assets.automation.sensors._AGAIN_S", 0.0)
        assert daemon.jobs() == [RECONCILE_CORPORA]
    assert daemon.pipeline.requests.of(CORPUS) == set(METHODS.default)


@pytest.mark.slow
def test_requests_of_an_unknown_corpus_without_folder_are_forgotten(
    house: House, daemon: Daemon
) -> None:
    daemon.pipeline.requests.add("gone", ["bm25"])
    daemon.tick()
    pass_time(daemon, 25)
    assert daemon.jobs() == [FORGET_CORPUS]
    assert daemon.pipeline.requests.of("gone") is None


def test_corpus_whose_folder_exists_is_not_forgotten(house: House, daemon: Daemon) -> None:
    daemon.tick()
    job = daemon.pipeline.definitions.resolve_job_def(FORGET_CORPUS)
    for tags, problem in (({}, "name the corpus"), ({"gsum/corpus": CORPUS}, "exists")):
        with pytest.raises(dg.Failure, match=problem):
            job.execute_in_process(instance=daemon.instance, tags=tags)
    assert daemon.corpora == [CORPUS]


def test_record_of_dagster_follows_the_warehouse(changeable: House) -> None:
    """As after runs with another instance, and after a table's file was removed."""
    pipeline = changeable.pipeline()
    settle(changeable.folder)
    with dg.DagsterInstance.ephemeral() as instance:
        daemon = Daemon(changeable, instance)
        daemon.tick()
        assert n_materialized(daemon) == 8
        bm25 = instance.get_materialized_partitions(dg.AssetKey(["retrieval", "scores"]))
        assert f"{CORPUS}|bm25" in bm25
        # one table of scores is shared by all families
        assert instance.get_materialized_partitions(dg.AssetKey(["gor", "scores"])) == set()
        event = instance.get_latest_materialization_event(dg.AssetKey("leaderboard"))
        assert event
        assert event.asset_materialization
        assert event.asset_materialization.metadata["dagster/partition_row_count"].value
        partition = Partition(CORPUS, "00")
        pipeline.store.delete(TABLES["documents"], partition)
        pipeline.reconciler.reconcile(instance, time.time(), None)
        assert n_materialized(daemon) == 7
        assert n_materialized(daemon, "chunks") == 8


def test_nothing_is_forgotten_while_the_corpora_folder_is_unmounted(
    house: House, daemon: Daemon
) -> None:
    daemon.tick()
    house.home.corpora.rename(house.home.root / "away")
    context = dg.build_sensor_context(instance=daemon.instance)
    skipped = daemon.pipeline.definitions.resolve_sensor_def("watch_corpora")(context)
    assert isinstance(skipped, dg.SkipReason)
    assert "does not exist" in (skipped.skip_message or "")
    assert daemon.corpora == [CORPUS]


def test_job_observes_the_corpus_of_its_tag(house: House, daemon: Daemon) -> None:
    shutil.copytree(house.folder, house.home.corpora / "second")
    daemon.instance.add_dynamic_partitions("corpora", ["second", CORPUS])
    job = daemon.pipeline.definitions.resolve_job_def(OBSERVE_SOURCES)
    assert job.execute_in_process(instance=daemon.instance, tags={"gsum/corpus": CORPUS}).success
    assert house.table("source_documents").num_rows == 9
    assert house.table("source_documents", "second").num_rows == 0
    assert job.execute_in_process(instance=daemon.instance).success
    assert house.table("source_documents", "second").num_rows == 9
    (house.home.corpora / "second" / "late.txt").write_text("Half a sen")
    assert job.execute_in_process(instance=daemon.instance).success
    assert house.table("source_documents", "second").num_rows == 9  # somebody is writing there
