"""Configuration of clusters: the files are of their schemas, and agree with one another."""

import json
import re
import tomllib
from importlib.resources import files
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from gsum_resources.settings.schema import load_settings

ROOT = Path(__file__).parents[2]
KUBERNETES = ROOT / "deploy" / "kubernetes"
SCHEMAS = Path(__file__).parent / "schemas"
CHART, CLUSTER = "dagster-values", "raycluster"
PINS = (ROOT / "requirements.lock").read_text() + (ROOT / "requirements-cluster.lock").read_text()


def documents(name: str, text: str | None = None) -> list[Any]:
    """The documents of a file."""
    return list(yaml.safe_load_all(text or (KUBERNETES / f"{name}.yaml").read_text()))


def check(name: str, document: Any) -> None:
    """Raise an error if a document is not of its schema."""
    schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)


def shipped(name: str) -> dict[str, Any]:
    """A configuration of Dagster's instance in the package."""
    return yaml.safe_load(files("gsum_resources").joinpath(name).read_text())


@pytest.mark.parametrize("name", [CHART, CLUSTER])
def test_the_files_are_of_their_schemas(name: str) -> None:
    check(name, documents(name)[0])


@pytest.mark.parametrize(
    ("name", "right", "wrong"),
    [
        (CHART, "runMonitoring:", "runMonitor:"),
        (CHART, "type: K8sRunLauncher", "type: K8sRunLaunch"),
        (CLUSTER, "    mode: token", "    mode: disabled"),
        (CLUSTER, 'num-cpus: "0"', "num-cpus: 0"),
    ],
)
def test_a_wrong_key_or_value_is_found(name: str, right: str, wrong: str) -> None:
    text = (KUBERNETES / f"{name}.yaml").read_text()
    assert right in text
    with pytest.raises(jsonschema.ValidationError):
        check(name, documents(name, text.replace(right, wrong, 1))[0])


def test_the_commented_engine_is_valid_and_of_the_ray_cluster(tmp_path: Path) -> None:
    text = (KUBERNETES / f"{CHART}.yaml").read_text()
    [values] = documents(CHART, re.sub(r"^( +)# (?=- name|  )", r"\1", text, flags=re.MULTILINE))
    check(CHART, values)
    [deployment] = values["dagster-user-deployments"]["deployments"]
    variables = {one["name"]: one.get("value", "x") for one in deployment["env"]}
    engine = load_settings(tmp_path, variables).engine
    ray = documents(CLUSTER)[0]["metadata"]["name"]
    assert engine.address == f"ray://{ray}-head-svc:10001"
    assert engine.kind == "ray"
    assert [
        one["valueFrom"]["secretKeyRef"] for one in deployment["env"] if "valueFrom" in one
    ] == [{"name": ray, "key": "auth_token"}]


def test_only_ray_and_gsum_reach_the_ray_cluster() -> None:
    cluster, policy = documents(CLUSTER)
    name = {"ray.io/cluster": cluster["metadata"]["name"]}
    assert policy["kind"] == "NetworkPolicy"
    assert policy["spec"]["podSelector"]["matchLabels"] == name
    [rule] = policy["spec"]["ingress"]
    callers = [one["podSelector"]["matchLabels"] for one in rule["from"]]
    [values] = documents(CHART)
    launcher = values["runLauncher"]["config"]["k8sRunLauncher"]
    assert callers == [name, launcher["labels"]]
    [deployment] = values["dagster-user-deployments"]["deployments"]
    assert deployment["labels"] == launcher["labels"]


def test_versions_are_those_of_the_lock_files() -> None:
    cluster, [values] = documents(CLUSTER)[0], documents(CHART)
    assert f"\nray=={cluster['spec']['rayVersion']}\n" in PINS
    chart = re.search(r"--version (\S+)", (KUBERNETES / f"{CHART}.yaml").read_text())
    assert chart
    assert f"\ndagster=={chart[1]}\n" in PINS
    [deployment] = values["dagster-user-deployments"]["deployments"]
    version = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["version"]
    assert deployment["image"]["tag"] == version
    image = f"{deployment['image']['repository']}:{version}"
    groups = [cluster["spec"]["headGroupSpec"], *cluster["spec"]["workerGroupSpecs"]]
    assert {c["image"] for g in groups for c in g["template"]["spec"]["containers"]} == {image}


def test_the_configuration_for_ray_differs_from_the_default_where_it_must() -> None:
    default, ray = shipped("dagster.yaml"), shipped("dagster-ray.yaml")
    assert ray.keys() == default.keys() | {"run_launcher"}
    differing = {key for key in ray if ray[key] != default.get(key)}
    assert differing == {"storage", "concurrency", "run_launcher", "run_monitoring"}
    assert default["concurrency"]["runs"].keys() == ray["concurrency"]["runs"].keys()
    assert ray["run_monitoring"]["max_resume_run_attempts"] > 0
    launcher = ray["run_launcher"]["config"]["ray"]
    explained = files("gsum_resources").joinpath("dagster-ray.yaml").read_text().split("\n\n")[0]
    opened_with = (launcher["address"]["env"], ray["storage"]["postgres"]["postgres_url"]["env"])
    for variable in (*opened_with, "GSUM_STATE_URL", "GSUM_WAREHOUSE"):
        assert variable in launcher["env_vars"]
        assert variable in explained
    given = {name: "x" for name in launcher["env_vars"] if name.startswith("GSUM_")}
    load_settings(Path("nowhere"), {**given, "GSUM_ENGINE_KIND": "ray"})  # all are known
