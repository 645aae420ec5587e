"""Configuration of one run: other models, settings, questions, and what it may not do."""

import json
import re
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any
from urllib.request import Request, urlopen

import dagster as dg
import pyarrow.compute as pc
import pytest

from gsum_assets.dagster_assets.run_resources import objection
from gsum_assets.definitions import Pipeline, pipeline_for
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.dagster_io.instance import open_instance
from gsum_resources.dagster_io.settings_resources import model_resources, models_of_run
from gsum_resources.dagster_io.warehouse_io import REPLACED
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import LlmSettings, Settings, SettingsError
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.parquet_store import ParquetStore, Partition
from tests.conftest import House
from tests.pipeline.daemon import QUIET
from tests.pipeline.served_homes import (
    MARKED_KEY,
    N_QUESTIONS,
    chats,
    house_with_questions,
    run,
    served_by,
)
from tests.servers.scripted import ScriptedServer, scripted_server
from tests.ui.served import eventually, served

CORPUS = "tales"
PARTITION = Partition(CORPUS, method="bm25")
KEY = dg.MultiPartitionKey({"corpus": CORPUS, "method": "bm25"})


class TestResources:
    """The resources without a run."""

    @pytest.fixture
    def models(self, tmp_path) -> Models:
        settings = Settings.model_validate(
            {"llm": {"backend": "openai_compatible", "model": "small", "max_concurrent": 3}}
        )
        return Models(settings, ParquetStore(str(tmp_path)), TABLES["llm_calls"])

    def _of_run(self, models: Models, **replaced: Mapping[str, Any]) -> Models:
        resources = model_resources(models.settings)
        for key, values in replaced.items():
            resources[key] = resources[key].model_copy(update=values)
        return models_of_run(models, SimpleNamespace(**resources))

    def test_every_key_of_the_schema_is_documented_with_its_default(self, models: Models) -> None:
        resource = model_resources(models.settings)["gsum_llm"].get_resource_definition()
        fields: Any = resource.config_schema.as_field().config_type.fields  # type: ignore[attr-defined]
        assert set(fields) == set(LlmSettings.model_fields)
        for name, field in LlmSettings.model_fields.items():
            assert fields[name].description.startswith(field.description)
            assert fields[name].description.endswith(f"Default: {json.dumps(field.default)}")
        assert fields["max_concurrent"].default_value == 3  # of the home

    def test_without_a_difference_the_models_are_those_of_the_home(self, models: Models) -> None:
        assert self._of_run(models) is models

    def test_another_model_answers_and_what_has_its_own_table_keeps_it(
        self, models: Models
    ) -> None:
        other = self._of_run(models, gsum_llm={"model": "large"})
        assert other.settings.llm == models.settings.llm.model_copy(update={"model": "large"})
        assert other.settings_of("answers").model == "large"
        other = self._of_run(models, gsum_models_answers={"model": "large"})
        assert other.settings_of("answers").model == "large"
        assert other.settings_of("reports").model == other.settings.llm.model == "small"

    def test_contradictions_are_named(self, models: Models) -> None:
        with pytest.raises(SettingsError, match=r"configuration of gsum_llm: .*has no other model"):
            self._of_run(models, gsum_llm={"backend": "extractive"})

    def test_limits_of_a_server_do_not_change_the_model(self, models: Models) -> None:
        other = self._of_run(models, gsum_llm={"max_concurrent": 64, "timeout_s": 5.0})
        assert other is not models
        assert other.version("language_model") == models.version("language_model")


@pytest.mark.parametrize(
    ("asset", "key", "message"),
    [
        ("retrieval/summaries", InputKey("model", "language_model"), None),
        ("judgements", InputKey("model", "judge_model"), None),
        ("chunk_embeddings", InputKey("model", "embedding_model"), "need the same embedding_model"),
        ("query_embeddings", InputKey("model", "embedding_model"), r"set it in gsum\.toml"),
        ("graphrag/extractions", InputKey("model", "language_model"), "other buckets"),
        ("chunks", InputKey("settings", "chunking", CORPUS), r"set it in corpus\.toml"),
    ],
)
def test_what_would_mix_two_models_is_refused(
    asset: str, key: InputKey, message: str | None
) -> None:
    reason = objection(asset, key)
    assert reason is None if message is None else re.search(message, reason or "")


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


def launch(
    pipeline: Pipeline, asset: str, resources: Mapping[str, Any], **run_config: Any
) -> dg.ExecuteInProcessResult:
    """Materialize one asset, as the launchpad with this configuration of resources."""
    config = {key: {"config": values} for key, values in resources.items()}
    job = pipeline.definitions.resolve_implicit_global_asset_job_def()
    key = dg.AssetKey(asset.split("/"))
    node = job.asset_layer.get(key)
    definition = node.partitions_def
    with open_instance(pipeline.home) as instance:
        return job.execute_in_process(
            run_config={**QUIET, "resources": config, **run_config},
            asset_selection=list(node.execution_set_asset_keys),  # with those of the same step
            partition_key=KEY if isinstance(definition, dg.MultiPartitionsDefinition) else CORPUS,
            instance=instance,
            raise_on_error=False,
        )


def error_of(result: dg.ExecuteInProcessResult) -> str:
    """Return why a run failed."""
    for event in result.all_events:
        data: Any = event.event_specific_data
        if event.is_step_failure and data.user_failure_data:
            return data.user_failure_data.description
        if event.is_failure and getattr(data, "error", None):
            return data.error.to_string()
    raise AssertionError("the run did not fail")


def changes(pipeline: Pipeline, asset: str) -> list[str]:
    with open_instance(pipeline.home) as instance:
        return pipeline.new_snapshot(instance).changes(dg.AssetKey(asset.split("/")), PARTITION)


@pytest.mark.slow
class TestRuns:
    """Runs of a home, in memory."""

    def test_other_model_is_recorded_out_of_date_and_replaced_by_the_next_refresh(
        self, house: House, server: ScriptedServer
    ) -> None:
        pipeline = pipeline_for(house.home)
        assert changes(pipeline, "retrieval/summaries") == []
        before, n = house.table("summaries"), len(chats(server))
        other = {"gsum_llm": {"model": "other"}}
        # the second time from the memo, and no fault of the lineage
        _, result = [launch(pipeline, "retrieval/summaries", other) for _ in range(2)]
        assert result.success, error_of(result)
        assert len(chats(server)) - n == N_QUESTIONS
        event, _ = result.asset_materializations_for_node("retrieval__summaries")
        assert "model:language_model is" in str(event.metadata[REPLACED].value)
        assert "other" in set(house.table("summaries")["model"].to_pylist()).pop()
        assert changes(pipeline, "retrieval/summaries") == ["model:language_model"]
        assert run(house).exit_code == 0
        assert len(chats(server)) - n == N_QUESTIONS  # its own answers were kept
        assert changes(pipeline, "retrieval/summaries") == []
        assert house.table("summaries").drop(["latency_s"]) == before.drop(["latency_s"])

    def test_settings_of_a_run_are_an_input_like_others(self, house: House) -> None:
        pipeline = pipeline_for(house.home)
        result = launch(
            pipeline, "retrieval/summaries", {"gsum_settings": {"answer": {"max_words": 40}}}
        )
        assert result.success
        assert changes(pipeline, "retrieval/summaries") == ["settings:answer/corpus=tales"]
        wrong = launch(
            pipeline, "retrieval/summaries", {"gsum_settings": {"answer": {"words": 40}}}
        )
        assert "run configuration of gsum_settings, table [answer]: unknown key 'words'" in (
            error_of(wrong)
        )
        assert run(house).exit_code == 0

    @pytest.mark.parametrize(
        ("asset", "resources", "message"),
        [
            ("query_embeddings", {"gsum_embedding": {"model": "other"}}, "need the same embedding"),
            ("leaderboard", {"gsum_llm": {"model": "other"}}, "unites the results of all methods"),
            ("leaderboard", {"gsum_warehouse": {"root": "/elsewhere"}}, "start another one with"),
            ("retrieval/summaries", {"gsum_llm": {"modle": "x"}}, "Received unexpected config"),
        ],
    )
    def test_the_rest_is_refused(
        self, house: House, asset: str, resources: dict, message: str
    ) -> None:
        pipeline = pipeline_for(house.home)
        try:
            failed = error_of(launch(pipeline, asset, resources))
        except dg.DagsterInvalidConfigError as error:  # as the launchpad shows before the launch
            failed = str(error)
        assert message in failed

    def test_limits_of_the_server_may_differ_also_where_results_are_united(
        self, house: House
    ) -> None:
        pipeline = pipeline_for(house.home)
        for asset in ("query_embeddings", "leaderboard"):
            limits = {"gsum_llm": {"max_concurrent": 1}, "gsum_embedding": {"timeout_s": 9.0}}
            assert launch(pipeline, asset, limits).success
        assert changes(pipeline, "retrieval/summaries") == []

    def test_a_subset_of_questions_is_computed_and_the_next_refresh_computes_all(
        self, house: House
    ) -> None:
        pipeline = pipeline_for(house.home)
        chosen = {"query_ids": ["q03", "q07"]}
        for asset in ("retrieval/rankings", "retrieval/contexts", "retrieval/summaries") * 2:
            name = asset.replace("/", "__")
            result = launch(pipeline, asset, {}, ops={name: {"config": chosen}})
            assert result.success, error_of(result)
            assert changes(pipeline, asset) == ["run:query_ids"]
        asked = house.table("summaries").filter(pc.field("method") == "bm25")["query_id"]
        assert sorted(asked.to_pylist()) == chosen["query_ids"]
        wrong = {"retrieval__summaries": {"config": {"query_ids": ["q3"]}}}
        failed = error_of(launch(pipeline, "retrieval/summaries", {}, ops=wrong))
        assert "no question has the id 'q3'; did you mean 'q03'" in failed
        assert run(house).exit_code == 0
        assert house.table("summaries").num_rows >= N_QUESTIONS

    def test_known_failures_are_tried_again_if_asked(
        self, house: House, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        asked: list[bool] = []
        opened = LedgeredModel.__init__

        def opening(self: LedgeredModel, *given: Any) -> None:
            asked.append(given[-1])
            opened(self, *given)

        monkeypatch.setattr(LedgeredModel, "__init__", opening)
        pipeline = pipeline_for(house.home)
        again = {"retrieval__summaries": {"config": {"retry_failures": True}}}
        for ops in ({}, again):
            assert launch(pipeline, "retrieval/summaries", {}, ops=ops).success
        assert asked == [False, True]

    def test_the_budget_counts_what_another_model_would_cost(self, house: House) -> None:
        with (house.home.root / "gsum.toml").open("a") as file:
            file.write("\n[budget]\ncalls = 1\n")
        failed = launch(
            pipeline_for(house.home), "retrieval/summaries", {"gsum_llm": {"model": "new"}}
        )
        assert "over budget" in error_of(failed)


LAUNCH = """
mutation($params: ExecutionParams!) {
  launchPipelineExecution(executionParams: $params) {
    __typename
    ... on LaunchRunSuccess { run { runId } }
    ... on RunConfigValidationInvalid { errors { message } }
    ... on PythonError { message }
  }
}"""
RESOURCE = """
query($selector: ResourceSelector!) {
  topLevelResourceDetailsOrError(resourceSelector: $selector) {
    __typename
    ... on ResourceDetails {
      description
      configFields { name description defaultValueAsJson }
      configuredValues { key value }
    }
  }
}"""
LOCATION = {"repositoryName": "__repository__", "repositoryLocationName": "gsum"}


def graphql(address: str, query: str, **variables: Any) -> Any:
    """Return the data of the answer of a served UI."""
    body = json.dumps({"query": query, "variables": variables}).encode()
    headers = {"Content-Type": "application/json"}
    with urlopen(Request(f"{address}/graphql", body, headers)) as response:
        answer = json.load(response)
    assert "errors" not in answer, answer["errors"]
    [data] = answer["data"].values()
    return data


@pytest.mark.slow
def test_launchpad_replaces_the_model_of_one_run(house: House, server: ScriptedServer) -> None:
    served_by(house, server)
    assert run(house).exit_code == 0
    pipeline, n = pipeline_for(house.home), len(chats(server))
    tags = {"dagster/partition": KEY, "dagster/partition/corpus": CORPUS}  # as the UI sends them
    tags["dagster/partition/method"] = "bm25"
    params = {
        "selector": LOCATION
        | {
            "pipelineName": "__ASSET_JOB",
            "assetSelection": [
                {"path": ["retrieval", name]} for name in ("summaries", "answer_sources")
            ],
        }
        | {"assetCheckSelection": []},
        "runConfigData": {"resources": {"gsum_llm": {"config": {"model": "launched"}}}},
        "executionMetadata": {"tags": [{"key": k, "value": v} for k, v in tags.items()]},
    }
    with served(house.home.root) as address:
        log = house.home.root / "printed.log"

        def resource() -> Any:
            selector = {**LOCATION, "resourceName": "gsum_llm"}
            return graphql(address, RESOURCE, selector=selector)

        eventually(lambda: "configFields" in resource(), "the location is loaded", log)
        page = resource()
        assert {field["name"] for field in page["configFields"]} == set(LlmSettings.model_fields)
        assert "Table `[llm]`" in page["description"]
        assert {"key": "model", "value": '"scripted"'} in page["configuredValues"]
        launched = graphql(address, LAUNCH, params=params)
        assert launched["__typename"] == "LaunchRunSuccess", launched
        run_id = launched["run"]["runId"]
        with open_instance(house.home) as instance:

            def has_ended() -> bool:
                found = instance.get_run_by_id(run_id)
                return found is not None and found.is_finished

            def is_as_before() -> bool:
                return not pipeline.new_snapshot(instance).left(CORPUS)

            eventually(has_ended, "the launched run", log)
            assert instance.get_run_by_id(run_id).is_success  # type: ignore[union-attr]
            assert len(chats(server)) - n == N_QUESTIONS
            eventually(is_as_before, "the daemon writes the answers of gsum.toml again", log)
    assert len(chats(server)) - n == N_QUESTIONS  # they were kept
    assert "launched" not in str(house.table("summaries")["model"].to_pylist())
