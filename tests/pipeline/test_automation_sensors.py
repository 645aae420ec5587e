"""The sensor over the corpora: folders it reads, observes, skips and forgets."""

import os
import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_assets.definitions import METHODS
from gsum_assets.tables import TABLES
from tests.conftest import CORPUS, House, document_in


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
        for request in result.dynamic_partitions_requests or ():
            if isinstance(request, dg.AddDynamicPartitionsRequest):
                self.instance.add_dynamic_partitions("corpora", list(request.partition_keys))
            else:
                for corpus in request.partition_keys:
                    self.instance.delete_dynamic_partition("corpora", corpus)
        self.cursor = result.cursor
        return result

    def observed(self) -> list[str]:
        """The corpora that a tick wants looked at."""
        return [request.tags["gsum/corpus"] for request in self.tick().run_requests or ()]

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


def test_deleted_folder_is_forgotten(changeable: House) -> None:
    assert changeable.table("scores").num_rows
    settle(changeable.folder)
    with changeable.instance() as instance:
        daemon = Daemon(changeable, instance)
        daemon.tick()
        assert daemon.corpora == [CORPUS]
        changeable.folder.rename(changeable.home.corpora / "second")
        assert daemon.observed() == ["second"]
        assert daemon.corpora == ["second"]
        assert daemon.pipeline.requests.of(CORPUS) is None
    for name in TABLES:
        assert changeable.table(name, CORPUS).num_rows == 0


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
    assert daemon.observed() == ["second", CORPUS]
    job = daemon.pipeline.definitions.resolve_job_def(OBSERVE_SOURCES)
    assert job.execute_in_process(instance=daemon.instance, tags={"gsum/corpus": CORPUS}).success
    assert house.table("source_documents").num_rows == 9
    assert house.table("source_documents", "second").num_rows == 0
    assert job.execute_in_process(instance=daemon.instance).success
    assert house.table("source_documents", "second").num_rows == 9
    (house.home.corpora / "second" / "late.txt").write_text("Half a sen")
    assert job.execute_in_process(instance=daemon.instance).success
    assert house.table("source_documents", "second").num_rows == 9  # somebody is writing there
