"""Limits of a model server hold over all hosts: counted at the server."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.cluster.homes import use_database
from tests.cluster.hosts import UNDER, ended, gsum_run, require_host_names
from tests.cluster.servers import postgres_server
from tests.conftest import document_in, text_of
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.pipeline.served_homes import chats, served_by
from tests.servers.scripted import scripted_process

pytest.importorskip("dagster_postgres", reason="make test-cluster installs it")
PER_MINUTE = 12
N_QUESTIONS = 8  # of each host: alone it stays within the limit
WINDOW_S = 45.0  # of the limit's 60: a request that a busy machine sends may arrive late


def furnish(folder: Path) -> None:
    """One document, and questions that no other corpus has."""
    folder.mkdir(parents=True)
    document_id = document_in(0)
    (folder / f"{document_id}.txt").write_text(text_of(folder.name))
    question = {"document_id": document_id, "references": ["A."]}
    write_lines(
        folder / "queries.jsonl",
        [
            question | {"query_id": f"q{i}", "text": f"Who met the boat of {folder.name}, {i}?"}
            for i in range(N_QUESTIONS)
        ],
    )
    (folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)


def busiest(times: Sequence[float]) -> int:
    """The largest number of requests in any window."""
    return max(sum(start <= time < start + WINDOW_S for time in times) for start in times)


def test_two_hosts_together_send_no_more_than_the_limit(tmp_path: Path) -> None:
    require_host_names()
    with (
        postgres_server(tmp_path / "server") as url,
        scripted_process(tmp_path / "log.jsonl") as server,
        house_at(tmp_path / "home") as house,
    ):
        use_database(house, url)
        for corpus in ("ours", "theirs"):
            furnish(house.home.corpora / corpus)
        served_by(house, server, requests_per_minute=PER_MINUTE)
        with (house.home.root / "gsum.toml").open("a") as file:
            file.write(f"\n[state]\nurl = '{url}'\n")
        both = [gsum_run(house, "ours"), gsum_run(house, "theirs", under=UNDER)]
        for process in both:
            ended(process)
        times = [line["time"] for line in chats(server)]
    assert len(times) == 2 * N_QUESTIONS
    assert busiest(times) <= PER_MINUTE  # without a common count 16
