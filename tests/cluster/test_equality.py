"""PostgreSQL and an object store hold the same tables as a local home, for parts of the samples."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import path_at
from gsum_resources.store.parquet_store import Partition
from tests.cluster.homes import use_database
from tests.cluster.servers import object_store, postgres_server
from tests.conftest import House, keep_no_step_logs
from tests.pipeline.homes import LEDGERS

pytest.importorskip("dagster_postgres", reason="make test-cluster installs it")
pytest.importorskip("s3fs", reason="make test-cluster installs it")
ROOT = Path(__file__).parents[2]
DOCUMENTS = {
    "sample-meetings": ("01-kickoff", "07-the-hatch"),
    "sample-stories": ("06-eleven-minutes",),
}
N_CHARACTERS = 5_000  # of a document
METHODS = {
    "sample-meetings": "bm25,dense,passage_walk,gor,evidence,graphrag-c0,gae,jerr-search",
    "sample-stories": "bm25",
}
WRITTEN = {"scores", "leaderboard", "graphrag.community_reports", "gae.clusters", "jerr.nodes"}


@contextmanager
def run_of(variables: Mapping[str, str]) -> Iterator[subprocess.Popen[str]]:
    """`gsum run` of both corpora in a process of its own."""
    command = [sys.executable, "-m", "gsum_assets.cli.main", "run", *DOCUMENTS]
    kept = {name: text for name, text in os.environ.items() if name != "DAGSTER_HOME"}
    process = subprocess.Popen(
        command, cwd=ROOT, env=kept | dict(variables), stdout=subprocess.PIPE, text=True
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def parts_of(corpus: str) -> dict[str, bytes]:
    """Parts of a sample corpus by file name: how documents begin, a question about each and all."""
    source, documents = ROOT / "data" / "corpora" / corpus, DOCUMENTS[corpus]
    names = [file.name for file in source.iterdir() if file.stem in documents]
    questions = (source / "queries.jsonl").read_text().splitlines(keepends=True)
    first_about = {json.loads(line).get("document_id"): line for line in reversed(questions)}
    return {
        **{name: (source / name).read_text()[:N_CHARACTERS].encode() for name in names},
        "corpus.toml": f"methods = {METHODS[corpus].split(',')}".encode(),
        "queries.jsonl": "".join(first_about[about] for about in (*documents, None)).encode(),
    }


def hashes_of(home: Home) -> dict[tuple[str, Partition], str]:
    """Content hash of every file of every table but the ledgers, from the footers."""
    store = home.open_store()
    return {
        (name, partition): footer.content_hash
        for name, table in TABLES.items()
        if name not in LEDGERS
        for partition, footer in store.footers(table, store.stamped(table)).items()
    }


def test_every_table_is_equal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")  # that of each home
    local, shared = tmp_path / "local", tmp_path / "shared"
    with postgres_server(tmp_path / "server") as database, object_store() as warehouse:
        corpora = f"{warehouse.rpartition('/')[0]}/corpora"
        for corpus in DOCUMENTS:
            (local / "corpora" / corpus).mkdir(parents=True)
            for name, content in parts_of(corpus).items():
                for folder in (local / "corpora", path_at(corpora)):
                    (folder / corpus / name).write_bytes(content)
        elsewhere = {"GSUM_WAREHOUSE": warehouse, "GSUM_CORPORA": corpora}
        homes = Home(local, str(local / "warehouse")), Home(shared, warehouse, corpora)
        keep_no_step_logs(homes[0])
        monkeypatch.setenv("DAGSTER_HOME", "")  # the call has set it to that of the home
        use_database(House(homes[1]), database)
        with (
            run_of({"GSUM_HOME": str(local)}) as first,
            run_of({"GSUM_HOME": str(shared), **elsewhere}) as second,
        ):
            shown = [process.communicate()[0] for process in (first, second)]
        assert [first.returncode, second.returncode] == [0, 0], shown
        found, other = map(hashes_of, homes)
    assert {partition.corpus for _, partition in found} == DOCUMENTS.keys()
    assert {name for name, _ in found} >= WRITTEN
    assert other == found
    assert not (shared / "state.db").exists()
    assert not (shared / "warehouse").exists()
