"""Another model on a server: what a daemon computes by itself, and what it waits for."""

import logging
import shutil
import time
from collections.abc import Iterator
from dataclasses import replace

import dagster as dg
import pytest

from gsum_assets.automation.acceptance import waiting_lines
from gsum_assets.automation.due import due
from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_assets.automation.processes import CORPUS as CORPUS_TAG
from gsum_assets.automation.processes import SENSOR
from gsum_assets.definitions import Pipeline, pipeline_for
from gsum_assets.runner.continuation import proceed
from gsum_resources.dagster_io.instance import open_instance
from tests.conftest import House
from tests.pipeline.daemon import serve
from tests.pipeline.served_homes import (
    MARKED_KEY,
    N_QUESTIONS,
    chats,
    house_with_questions,
    run,
    served_by,
)
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
ANSWERS = dg.AssetKey(["retrieval", "summaries"])
CORPUS = "tales"
PRICE: dict[str, object] = {"usd_per_million_tokens_in": 1e6, "usd_per_million_tokens_out": 0.0}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ScriptedServer]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MARKED_KEY", MARKED_KEY)
        with scripted_server(tmp_path_factory.mktemp("server") / "log") as server:
            yield server


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory, server: ScriptedServer) -> Iterator[House]:
    """A corpus whose twelve questions a served model has answered."""
    with house_with_questions(tmp_path_factory.mktemp("house")) as house:
        served_by(house, server)
        assert run(house).exit_code == 0
        yield house


def with_model(house: House, server: ScriptedServer, version: str, **automation) -> Pipeline:
    served_by(house, server, None, version=version, **PRICE)
    keys = {"ask_above_calls": N_QUESTIONS - 1} | automation
    with (house.home.root / "gsum.toml").open("a") as file:
        lines = (f"{key} = {value!r}\n" for key, value in keys.items())
        file.write("\n[automation]\n" + "".join(lines))
    return pipeline_for(house.home)


def requested(pipeline: Pipeline, instance: dg.DagsterInstance) -> set[dg.AssetKey]:
    """Assets that a daemon requests now."""
    changes = pipeline.model_changes
    snapshot = replace(pipeline.new_snapshot(instance), waiting=changes.waiting)
    graph = pipeline.definitions.resolve_asset_graph()
    runs = due(graph, instance, CORPUS, snapshot)
    return {key for request in runs for key in request.asset_selection or ()}


def notices(pipeline: Pipeline, instance: dg.DagsterInstance) -> list[str]:
    return waiting_lines(pipeline.model_changes, instance, pipeline.new_snapshot(instance))


def test_another_model_waits_until_the_job_accepts_it(house: House, server) -> None:
    pipeline = with_model(house, server, "2")
    with open_instance(house.home) as instance:
        assert ANSWERS not in requested(pipeline, instance)
        [notice] = notices(pipeline, instance)
        assert "another model or prompt: 12 requests of retrieval/summaries, about USD" in notice
        assert "job accept_models or `gsum run tales`" in notice
        job = pipeline.definitions.resolve_job_def("accept_models")
        config = {"ops": {"accept": {"config": {"corpus": CORPUS}}}}
        assert job.execute_in_process(config, instance=instance).success
        assert notices(pipeline, instance) == []
        assert ANSWERS in requested(pipeline, instance)
        other = with_model(house, server, "3")
        assert ANSWERS not in requested(other, instance)  # was not accepted


def test_a_run_that_continues_does_not_accept_it_either(house: House, server) -> None:
    pipeline, n = with_model(house, server, "unwanted"), len(chats(server))
    tags = {SENSOR: "watch_corpora", CORPUS_TAG: CORPUS}
    job = pipeline.definitions.resolve_job_def(OBSERVE_SOURCES)
    with open_instance(house.home) as instance:
        serve(instance, time.time())
        observed = instance.create_run_for_job(job, tags=tags)
        proceed(pipeline, instance, observed, logging.getLogger(__name__))
    assert len(chats(server)) == n


@pytest.mark.parametrize(
    "automation", [{"ask_above_calls": N_QUESTIONS}, {"after_model_change": "compute"}]
)
def test_a_small_or_permitted_change_does_not_wait(house: House, server, automation) -> None:
    pipeline = with_model(house, server, "4", **automation)
    with open_instance(house.home) as instance:
        assert ANSWERS in requested(pipeline, instance)
        assert notices(pipeline, instance) == []


def test_a_model_on_this_machine_does_not_wait(house: House) -> None:
    (house.home.root / "gsum.toml").write_text("[automation]\nask_above_calls = 0\n")
    pipeline = pipeline_for(house.home)
    with open_instance(house.home) as instance:
        assert notices(pipeline, instance) == []
        assert requested(pipeline, instance)


def test_another_prompt_waits(house: House, server: ScriptedServer) -> None:
    pipeline = with_model(house, server, "")
    with open_instance(house.home) as instance:
        assert notices(pipeline, instance) == []
        folder = house.home.root / "prompts" / "answers"
        folder.mkdir(parents=True)
        for name in ("answer", "short"):
            (folder / f"{name}.md").write_text("Answer in one word.")
        try:
            assert ANSWERS not in requested(pipeline, instance)
            assert len(notices(pipeline, instance)) == 1
        finally:
            shutil.rmtree(folder.parent)
