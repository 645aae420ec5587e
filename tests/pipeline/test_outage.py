"""Outages of a server: replies are kept, limits hold, and one message reports the outage."""

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.store.appended import read_appended
from tests.conftest import CORPUS, House, keep_no_step_logs
from tests.pipeline.homes import WITHOUT_BERTSCORE, contents, house_at, write_lines
from tests.pipeline.served_homes import MARKED_KEY, served_by
from tests.pipeline.short_pauses import MINUTE_S, shorten_pauses
from tests.servers.scripted import Line, ScriptedServer, scripted_process

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
METHOD = "graphrag-c0"  # requests extractions, then reports, then partial answers, then answers
CHATS, TEXTS = "/chat/completions", "/embeddings"
N_REQUESTS, N_TOKENS = 12, 300  # a minute: of the language model, and to embed
_CORPUS = f"""{WITHOUT_BERTSCORE}
[chunking]
max_tokens = 60
overlap_tokens = 0
[graphrag.extraction]
gleanings = 0
claims = false
"""


class Night(NamedTuple):
    """Outcome of a run.

    Attributes
    ----------
    contents : of every table.
    chats, texts : how often each request got a good answer.
    """

    contents: dict[str, str]
    chats: Counter[str]
    texts: Counter[str]


def shorten_all_pauses(patch: pytest.MonkeyPatch) -> None:
    shorten_pauses(patch)
    patch.setenv("MARKED_KEY", MARKED_KEY)
    patch.setattr("gsum_resources.embedding.openai_compatible._BATCH_WINDOWS", 2)


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_all_pauses(monkeypatch)


@contextmanager
def new_house(root: Path) -> Iterator[House]:
    """Two documents and two questions."""
    with house_at(root) as house:
        for i in range(2):
            lines = [f"Boat {i} met lamp {n} by bridge {n * i}." for n in range(24)]
            house.write_document(f"tale-{i}", " ".join(lines))
        write_lines(
            house.folder / "queries.jsonl",
            [
                {"query_id": f"q{i}", "text": f"Who met boat {i}?", "references": ["A lamp."]}
                for i in range(2)
            ],
        )
        (house.folder / "corpus.toml").write_text(_CORPUS)
        keep_no_step_logs(house.home)
        yield house


def run(house: House) -> RunReport:
    """`gsum run`."""
    with house.instance() as instance:
        return refresh(pipeline_for(house.home, presented=False), instance, CORPUS, [METHOD])


def answered(server: ScriptedServer, path: str) -> Counter[str]:
    """How often each request got a good answer."""
    good = (line for line in server.lines(path) if line["status"] == 200 and not line["fault"])
    return Counter(line["messages"] for line in good)


def most_in_a_minute(lines: Sequence[Line]) -> tuple[int, int]:
    """Largest numbers of requests and of tokens that arrived within a shortened minute."""
    minutes = [
        [line for line in lines if first["time"] <= line["time"] < first["time"] + MINUTE_S]
        for first in lines
    ]
    return max(map(len, minutes)), max(sum(line["tokens"] for line in part) for part in minutes)


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Night:
    root = tmp_path_factory.mktemp("calm")
    with pytest.MonkeyPatch.context() as patch, new_house(root / "home") as house:
        shorten_all_pauses(patch)
        with scripted_process(root / "log.jsonl") as server:
            served_by(house, server)
            assert run(house).is_complete
            return Night(contents(house), answered(server, CHATS), answered(server, TEXTS))


def test_unreliable_server_answers_everything_once_within_the_limits(
    calm: Night, tmp_path: Path
) -> None:
    log = tmp_path / "log.jsonl"
    faults = {"429": 0.2, "500": 0.05, "stall": 0.03, "truncate": 0.03, "garbage": 0.03}
    with (
        new_house(tmp_path / "home") as house,
        scripted_process(log, shares=faults, retry_after="0.2") as server,
    ):
        per_minute = {"requests_per_minute": N_REQUESTS, "tokens_per_minute": 0}
        served_by(house, server, {"tokens_per_minute": N_TOKENS}, max_retries=12, **per_minute)
        assert run(house).is_complete
        assert contents(house) == calm.contents
        assert (answered(server, CHATS), answered(server, TEXTS)) == (calm.chats, calm.texts)
        assert {line["fault"] for line in server.lines()} >= {"429", "500", "stall"}
        calls = read_appended(house.store, TABLES["llm_calls"], CORPUS).to_pylist()
        assert len([call for call in calls if not call["cached"]]) == calm.chats.total()
        assert sum(call["retries"] for call in calls) > 0
        assert all(call["error"] is None and call["tokens_in"] > 0 for call in calls)
        n_requests, _ = most_in_a_minute(server.lines(CHATS))
        _, n_tokens = most_in_a_minute(server.lines(TEXTS))
        assert n_requests <= N_REQUESTS
        assert n_tokens <= N_TOKENS


def test_after_each_outage_only_missing_replies_are_requested(calm: Night, tmp_path: Path) -> None:
    log, port = tmp_path / "log.jsonl", 0
    with new_house(tmp_path / "home") as house:
        for n_served in (3, 5, 2):  # the last in the midst of answers
            with scripted_process(log, port, first=("ok",) * n_served + ("die",)) as server:
                served_by(house, server)
                port = server.port
                errors = run(house).errors  # of chunks, of questions, and of what needs neither
                assert 1 <= len(errors) <= 3
                assert all(server.base_url in error and "ConnectError" in error for error in errors)
        with scripted_process(log, port) as server:
            assert run(house).is_complete
        assert contents(house) == calm.contents
        assert answered(server, CHATS) == calm.chats
        assert answered(server, TEXTS) == calm.texts
