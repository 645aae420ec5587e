"""A whole run against real HTTP servers: refused keys, texts that always fail, a key nowhere."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import duckdb
import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.store.catalogue import define_views
from tests.conftest import CORPUS, House
from tests.pipeline.homes import WITHOUT_BERTSCORE
from tests.pipeline.served_homes import (
    MARKED_KEY,
    N_QUESTIONS,
    chats,
    house_with_questions,
    run,
    served_by,
)
from tests.servers.scripted import scripted_process

pytestmark = pytest.mark.slow


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A home without tables."""
    with house_with_questions(tmp_path / "home") as house:
        yield house


def llm_calls(house: House) -> list[dict]:
    with duckdb.connect() as connection:
        define_views(connection, house.store, TABLES.values())
        return connection.sql("from llm_calls").to_arrow_table().to_pylist()


def test_failing_text_costs_only_its_row(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MARKED_KEY", MARKED_KEY)
    with scripted_process(tmp_path / "good.jsonl") as server, house.instance() as instance:
        served_by(house, server)  # until questions are embedded
        settings = house.folder / "corpus.toml"
        settings.write_text(f"methods = []\n{settings.read_text()}")
        assert refresh(pipeline_for(house.home, presented=False), instance, CORPUS).is_complete
        assert chats(server) == []
    with scripted_process(tmp_path / "log.jsonl", always_fail="boat, 7?") as server:
        served_by(house, server, max_retries=1)
        said = run(house)
        assert said.exit_code == 1
        output = " ".join(said.output.split())
        assert "1 request" in output
        assert "Traceback" not in output
        answered = set(house.table("summaries")["query_id"].to_pylist())
        assert answered == {f"q{i:02d}" for i in range(N_QUESTIONS)} - {"q07"}
        assert house.table("scores").num_rows > 0
        assert failed_checks(house) >= {"every_question_answered", "requests_answered"}
        n_before = len(chats(server))
        assert run(house).exit_code == 1  # only this one is requested again
        assert len(chats(server)) - n_before == 2
    with scripted_process(tmp_path / "mended.jsonl") as server:
        served_by(house, server)
        assert run(house).exit_code == 0
        assert len(chats(server)) == 1
    assert house.table("summaries").num_rows == N_QUESTIONS
    errors = [call for call in llm_calls(house) if call["error"]]
    assert len(errors) == 2
    assert failed_checks(house) == set()


def failed_checks(house: House) -> set[str]:
    """Names of the checks whose latest evaluation failed."""
    latest: dict[tuple, bool] = {}
    with house.instance() as instance:
        records = instance.get_event_records(
            dg.EventRecordsFilter(dg.DagsterEventType.ASSET_CHECK_EVALUATION), ascending=True
        )
    for record in records:
        evaluation = record.event_log_entry.dagster_event.asset_check_evaluation_data
        latest[evaluation.asset_key, evaluation.check_name] = evaluation.passed
    return {name for (_, name), passed in latest.items() if not passed}


@pytest.mark.parametrize("key", ["", "sk-wrong-" + MARKED_KEY])
def test_missing_or_wrong_key_raises_before_any_work(
    house: House, tmp_path: Path, capfd: pytest.CaptureFixture[str], key: str
) -> None:
    with scripted_process(tmp_path / "log.jsonl", key=MARKED_KEY) as server:
        served_by(house, server)
        said = run(house, key=key)
        assert said.exit_code == 1
        output = said.output + "".join(capfd.readouterr())
        assert "MARKED_KEY" in output
        assert "Traceback" not in output
        assert MARKED_KEY not in output
        assert {line["path"] for line in server.lines()} <= {"/models"}
    assert not list(Path(house.store.root).rglob("chunks/**/data.parquet"))
    assert [path for path in house.home.root.rglob("*") if holds_key(path)] == []


def test_deletion_needs_no_server(house: House, tmp_path: Path) -> None:
    with scripted_process(tmp_path / "log.jsonl", key=MARKED_KEY) as server:
        served_by(house, server)
        assert run(house).exit_code == 0
    deleted = next(house.folder.glob("*.txt"))
    deleted.unlink()
    said = run(house)
    assert "is away" in said.output
    for name in ("documents", "chunks"):
        assert deleted.stem not in house.table(name)["document_id"].to_pylist()
        assert house.table(name).num_rows


def holds_key(path: Path) -> bool:
    return path.is_file() and MARKED_KEY.encode() in path.read_bytes()


def test_key_is_nowhere_in_the_home(
    house: House, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    faults = {"429": 4, "500": 5}
    log = tmp_path / "log.jsonl"
    with scripted_process(log, key=MARKED_KEY, every=faults, retry_after="0.1") as server:
        served_by(house, server)
        said = run(house)
        assert said.exit_code == 0, said.output
        assert house.table("summaries").num_rows == N_QUESTIONS
    with scripted_process(log, key="another-key-altogether") as server:  # echoes ours back
        served_by(house, server)
        (house.folder / "corpus.toml").write_text(f"[answer]\nmax_words = 60\n{WITHOUT_BERTSCORE}")
        refused = run(house)
        assert refused.exit_code == 1
    everything = said.output + refused.output + "".join(capfd.readouterr())
    assert MARKED_KEY not in everything
    assert "Traceback" not in everything
    assert [path for path in house.home.root.rglob("*") if holds_key(path)] == []
