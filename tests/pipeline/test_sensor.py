"""The sensor over the corpora: which runs it requests, and that looking changes nothing."""

import hashlib
import os
import re
import shutil
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.dagster_assets.jobs import FORGET, UPKEEP
from gsum_assets.dagster_assets.partitions import COMMAND, PARTITION
from gsum_assets.dagster_assets.run_resource import INDEX_JOB
from gsum_assets.pipeline.tables import TABLES
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.daemon import Daemon, execute, scheduled
from tests.pipeline.homes import contents, settle

HOUR_S = 3600.0


@dataclass
class Watched:
    """A home whose sensor is evaluated, at a time that a test may set."""

    house: House
    instance: dg.DagsterInstance
    daemon: Daemon = field(default_factory=Daemon)

    def requests(self) -> list[dg.RunRequest]:
        result = self.daemon.tick(self.house.pipeline(), self.instance)
        return list(result.run_requests or ())

    def requested(self) -> list[tuple[str | None, str | None]]:
        """Tick, and return job and corpus of each requested run."""
        return [(run.job_name, run.partition_key) for run in self.requests()]

    def reason(self) -> str:
        """Tick, and return why nothing is requested."""
        result = self.daemon.tick(self.house.pipeline(), self.instance)
        assert result.skip_reason
        return result.skip_reason.skip_message or ""

    @property
    def corpora(self) -> list[str]:
        return sorted(self.instance.get_dynamic_partitions("corpora"))


@pytest.fixture
def watched(house: House, only_tables_here: None) -> Iterator[Watched]:
    settle(house.folder)
    with house.instance() as instance:
        yield Watched(house, instance)


INDEXED = [(INDEX_JOB, CORPUS)]


def test_new_corpus_is_one_run_of_what_it_needs(house: House, watched: Watched) -> None:
    (house.folder / "corpus.toml").write_text("methods = ['bm25']\n")
    settle(house.folder)
    (run,) = watched.requests()
    assert (run.job_name, run.partition_key) == (INDEX_JOB, CORPUS)
    assert watched.corpora == [CORPUS]
    names = {key.to_user_string() for key in run.asset_selection or ()}
    assert names >= {"source_documents", "documents", "retrieval/scores", "leaderboard"}
    assert not any(name.startswith(("gor/", "graphrag/")) for name in names)
    assert watched.requested() == []
    assert "nothing has changed" in watched.reason()


def test_every_kind_of_change_is_one_run_with_a_key_of_its_own(
    house: House, watched: Watched
) -> None:
    keys = [run.run_key for run in watched.requests()]
    first, second, third = (house.folder / f"{document_in(i)}.txt" for i in range(3))
    text = first.read_text()
    for change in (
        lambda: first.write_text("Another text."),
        lambda: first.write_text(text),
        lambda: (house.folder / "one.md").write_text("One more."),
        lambda: second.rename(house.folder / "other.txt"),
        third.unlink,
        lambda: (house.folder / "corpus.toml").write_text("title = 'Tales'\n"),
    ):
        change()
        settle(house.folder)
        (run,) = watched.requests()
        assert run.partition_key == CORPUS
        assert watched.requests() == []
        keys.append(run.run_key)
    assert len(set(keys)) == 7


def test_files_still_being_written_are_waited_for(house: House, watched: Watched) -> None:
    house.write_document("late")
    assert "tales: its files are still being written" in watched.reason()
    settle(house.folder)
    ahead = time.time() + 86_400  # a wrong clock delays nothing
    os.utime(house.folder / "late.txt", (ahead, ahead))
    assert watched.requested() == INDEXED


def test_broken_folders_are_named_and_do_not_delay_others(house: House, watched: Watched) -> None:
    root = house.home.corpora
    (root / "empty").mkdir()
    (root / "två").mkdir()
    for name, text in (("settings", "colour = 'red'"), ("methods", "methods = ['bm52']")):
        shutil.copytree(house.folder, root / name)
        (root / name / "corpus.toml").write_text(text)
        settle(root / name)
    assert watched.requested() == INDEXED
    assert watched.corpora == [CORPUS]
    reason = watched.reason()
    for fragment in ("empty", "holds no document", "två", "unknown key 'colour'", "bm52"):
        assert fragment in reason
    (root / "settings" / "corpus.toml").unlink()
    assert watched.requested() == [(INDEX_JOB, "settings")]


def test_missing_folder_is_forgotten_after_the_grace(
    house: House, watched: Watched, monkeypatch: pytest.MonkeyPatch
) -> None:
    (house.folder / "corpus.toml").write_text("methods = ['bm25']\n[scores]\nbertscore = false\n")
    settle(house.folder)
    (first,) = watched.requests()
    assert execute(house.pipeline(), watched.instance, first).success
    before, now, away = contents(house), time.time(), house.home.root / "away"

    def after(hours: float) -> None:
        later = now + hours * HOUR_S
        monkeypatch.setattr("gsum_assets.dagster_assets.watch.time.time", lambda: later)

    house.folder.rename(away)
    after(0)
    assert "tales: its folder is missing; the corpus is forgotten in 24.0 hours" in watched.reason()
    after(23)
    assert "in 1.0 hours" in watched.reason()
    away.rename(house.folder)
    assert [run.run_key for run in watched.requests()] != [first.run_key]
    assert contents(house) == before
    house.folder.rename(away)
    after(24)
    assert watched.requested() == []
    after(49)
    (run,) = watched.requests()
    assert (run.job_name, run.partition_key) == (FORGET, CORPUS)
    assert watched.requests()[0].run_key == run.run_key  # Dagster starts it once
    monkeypatch.undo()
    assert execute(house.pipeline(), watched.instance, run).success
    assert watched.corpora == []
    assert all(not house.table(name).num_rows for name in TABLES if name != "llm_calls")
    away.rename(house.folder)
    (again,) = watched.requests()  # a new corpus, though its files are those of before
    assert again.run_key != first.run_key
    assert watched.corpora == [CORPUS]


def test_corpus_that_another_instance_indexed_becomes_a_partition_without_a_run(
    house: House, watched: Watched
) -> None:
    (house.folder / "corpus.toml").write_text("methods = ['bm25']\n[scores]\nbertscore = false\n")
    settle(house.folder)
    assert house.run().is_complete
    watched.instance.delete_dynamic_partition("corpora", CORPUS)
    assert watched.requested() == []
    assert watched.corpora == [CORPUS]


def test_corpus_that_exists_is_not_forgotten_nor_one_of_an_unmounted_folder(
    house: House, watched: Watched
) -> None:
    (first,) = watched.requests()
    request = dg.RunRequest(job_name=FORGET, partition_key=CORPUS)
    assert not execute(house.pipeline(), watched.instance, request).success
    house.home.corpora.rename(house.home.root / "away")
    assert "does not exist" in watched.reason()
    assert watched.corpora == [CORPUS]
    (house.home.root / "away").rename(house.home.corpora)
    watched.instance.delete_dynamic_partition("corpora", CORPUS)  # by another process
    (again,) = watched.requests()
    assert again.run_key != first.run_key
    assert watched.corpora == [CORPUS]


def dead_run(instance: dg.DagsterInstance) -> dg.DagsterRun:
    """Record an unfinished run of `gsum run`, whose process holds no lock."""
    tags = {COMMAND: "host:1:x", PARTITION: CORPUS}
    return instance.create_run_for_job(dg.job(name="any")(lambda: None), tags=tags, status=STARTED)


STARTED = dg.DagsterRunStatus.STARTED


# Looking, as the UI's previews do, changes nothing.


def everything(root: Path) -> dict[str, str]:
    """Hash of every file of a home, and of the rows of every database; "" for a folder."""
    found = {}
    for path in sorted(root.rglob("*")):
        if path.name.endswith(("-wal", "-shm")):  # SQLite's own, which reading creates
            continue
        content = path.read_bytes() if path.is_file() else b""
        if path.suffix == ".db":
            with closing(sqlite3.connect(path)) as connection:
                content = "\n".join(map(_without_cache, connection.iterdump())).encode()
        found[str(path.relative_to(root))] = hashlib.blake2b(content, digest_size=16).hexdigest()
    return found


def _without_cache(statement: str) -> str:
    """Remove the last column of `asset_keys`, where Dagster itself caches counts of partitions."""
    if statement.startswith('INSERT INTO "asset_keys"'):
        return re.sub(r",(NULL|'[^']*')\);$", ");", statement)
    return statement


def look(house: House, instance: dg.DagsterInstance) -> set[str | None]:
    """Evaluate the sensor and all schedules, do nothing; return the jobs that they request."""
    pipeline = house.pipeline()
    requests = list(Daemon().look(pipeline, instance).run_requests or ())
    for schedule in pipeline.definitions.get_repository_def().schedule_defs:
        requests += scheduled(pipeline, instance, schedule.name)
    return {request.job_name for request in requests}


def add_corpus(house: House, instance: dg.DagsterInstance) -> None:
    shutil.copytree(house.folder, house.home.corpora / "second")
    settle(house.home.corpora)


def move_away(house: House, instance: dg.DagsterInstance) -> None:
    (house.home.root / "gsum.toml").write_text("[automation]\nforget_after_h = 0\n")
    house.folder.rename(house.home.root / "away")


def lose_a_process(house: House, instance: dg.DagsterInstance) -> None:
    dead_run(instance)
    (house.home.state.parent / "locks").mkdir(exist_ok=True)
    for kind in ("lock", "gate"):  # which such a run has left
        (house.home.state.parent / "locks" / f"{CORPUS}.{kind}").touch()


SITUATIONS: list[tuple[Callable[[House, dg.DagsterInstance], None], str]] = [
    (add_corpus, INDEX_JOB),
    (move_away, FORGET),
    (lose_a_process, UPKEEP),
]


@pytest.mark.parametrize(("change", "job"), SITUATIONS, ids=[c.__name__ for c, _ in SITUATIONS])
def test_looking_changes_nothing(
    house: House, change: Callable[[House, dg.DagsterInstance], None], job: str
) -> None:
    settle(house.folder)
    with house.instance() as instance:
        instance.add_dynamic_partitions("corpora", [CORPUS])
        change(house, instance)
        before = everything(house.home.root)
        assert job in look(house, instance)
        assert everything(house.home.root) == before
    assert not house.home.state.exists()
