"""Runs over the budget of a day: what waits, what is said, and what lets it go on."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from tests.conftest import House
from tests.pipeline.served_homes import MARKED_KEY, chats, house_with_questions, served_by
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedServer]:
    monkeypatch.setenv("MARKED_KEY", MARKED_KEY)
    with scripted_server(tmp_path / "log") as server:
        yield server


@pytest.fixture
def house(tmp_path: Path, server: ScriptedServer) -> Iterator[House]:
    with house_with_questions(tmp_path / "house") as house:
        yield house


def set_budget(house: House, server: ScriptedServer, **limits: float) -> None:
    served_by(house, server)
    keys = "".join(f"{key} = {value}\n" for key, value in limits.items())
    with (house.home.root / "gsum.toml").open("a") as file:
        file.write(f"\n[budget]\n{keys}")


def gsum(command: str, house: House, *options: str) -> str:
    said = CliRunner().invoke(main, [command, house.folder.name, "--methods", "bm25", *options])
    if said.exception and not isinstance(said.exception, SystemExit):
        raise said.exception
    return " ".join(said.output.split())


def test_what_exceeds_the_budget_waits_for_a_higher_one(house: House, server) -> None:
    set_budget(house, server, calls=8)
    said = gsum("run", house)
    assert "over budget: corpus 'tales' needs up to 12 calls" in said
    assert "[budget] of gsum.toml) until" in said
    assert server.lines("/embeddings") == chats(server) == []
    plan = gsum("plan", house)
    assert "over budget:" in plan
    assert "of 8 are left today (calls in [budget] of gsum.toml)" in plan
    set_budget(house, server, calls=1)
    assert "over budget" in gsum("run", house)
    assert server.lines("/embeddings") == []  # texts that are embedded count as well
    set_budget(house, server, calls=1000)
    assert "over budget" not in gsum("plan", house)
    assert "over budget" not in gsum("run", house)
    assert len(chats(server)) == 12


def test_a_run_may_exceed_the_budget(house: House, server: ScriptedServer) -> None:
    set_budget(house, server, calls=8)
    assert "over budget" not in gsum("run", house, "--over-budget")
    assert len(chats(server)) == 12
    assert "over budget" not in gsum("run", house)  # the memo costs nothing
