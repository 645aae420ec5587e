"""Package metadata, lock files, and the configuration of the tools around the repository."""

import ast
import re
import sys
import tomllib
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from gsum_assets.pipeline.registered import FOLDERS

ROOT = Path(__file__).parents[1]
PYPROJECT = (ROOT / "pyproject.toml").read_text()
PROJECT = tomllib.loads(PYPROJECT)["project"]
PACKAGES = ("gsum", "gsum_assets", "gsum_resources")
EXTRAS = PROJECT["optional-dependencies"]
DECLARED = [("", r) for r in PROJECT["dependencies"]] + [(e, r) for e in EXTRAS for r in EXTRAS[e]]
BOUNDS: dict[str, list[Requirement]] = {}
for _, line in DECLARED:
    BOUNDS.setdefault(canonicalize_name(Requirement(line).name), []).append(Requirement(line))
RUNTIME = {"3.11": "requirements.lock", "3.13": "requirements-3.13.lock"}


def parsed(file: Path) -> Any:
    return yaml.safe_load(file.read_text())


@cache
def pins(file: str) -> dict[str, str]:
    """Canonical package names and versions of one lock file."""
    lines = (ROOT / file).read_text().splitlines()
    plain = (line.split(";")[0] for line in lines)  # without a marker
    pinned = (line.split("==") for line in plain if line and not line.startswith("#"))
    return {canonicalize_name(name): version for name, version in pinned}


def locks_of(extra: str, python: str) -> list[str]:
    """The lock files that the environment of an extra is installed from with a Python."""
    files = {"": [], "smollm2": ["smollm2"], "dev": ["smollm2", "dev"], "ray": ["cluster"]}.get(
        extra, [extra]
    )
    return [RUNTIME[python], *(f"requirements-{name}.lock" for name in files)]


@pytest.mark.parametrize("python", RUNTIME)
@pytest.mark.parametrize(("extra", "declared"), DECLARED)
def test_the_pinned_version_lies_within_the_declared_range(
    extra: str, declared: str, python: str
) -> None:
    requirement = Requirement(declared)
    if requirement.marker and not requirement.marker.evaluate({"python_version": python}):
        return
    if requirement.name == PROJECT["name"]:
        assert requirement.extras <= set(EXTRAS)
        return
    name = canonicalize_name(requirement.name)
    pinned = [p[name] for p in map(pins, locks_of(extra, python)) if name in p]
    assert len(pinned) == 1, f"{name}: pinned {len(pinned)} times in {locks_of(extra, python)}"
    assert requirement.specifier.contains(pinned[0])
    assert {s.operator for s in requirement.specifier} <= {">=", "<", "!="}
    lower = [s for r in BOUNDS[name] for s in r.specifier if s.operator == ">="]
    assert lower, f"{name} has no lower bound"


@pytest.mark.parametrize("python", RUNTIME)
def test_no_package_is_pinned_twice(python: str) -> None:
    files = {file.name for file in ROOT.glob("requirements*.lock")}
    files -= set(RUNTIME.values()) - {RUNTIME[python]}
    assert len(files) >= 3
    names = [name for file in files for name in pins(file)]
    assert sorted(names) == sorted(set(names))


def test_every_imported_package_is_declared() -> None:
    declared = {canonicalize_name(Requirement(r).name) for e, r in DECLARED if e in ("", "smollm2")}
    distributions = packages_distributions()
    imported = {
        module.split(".")[0]
        for package in PACKAGES
        for file in (ROOT / package).rglob("*.py")
        for module in modules_imported_by(file.read_text())
    }
    foreign = imported - set(PACKAGES) - sys.stdlib_module_names
    assert {"dagster", "torch"} <= foreign
    providers = {m: {canonicalize_name(d) for d in distributions.get(m, [])} for m in foreign}
    conditions = [(name, r.marker) for name in BOUNDS for r in BOUNDS[name] if r.marker]
    absent = {name for name, marker in conditions if not marker.evaluate()}
    undeclared = {m: ds for m, ds in providers.items() if not ds & declared and m not in absent}
    assert undeclared == {}


def modules_imported_by(source: str) -> set[str]:
    """Full names of the modules that a source file imports, at its top or inside functions."""
    nodes = list(ast.walk(ast.parse(source)))
    plain = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    return plain | {node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)}


def test_files_that_are_no_python_are_package_data() -> None:
    data = tomllib.loads(PYPROJECT)["tool"]["setuptools"]["package-data"]
    for package in PACKAGES:
        folder = ROOT / package
        shipped = {f for p in (*data["*"], *data.get(package, [])) for f in folder.rglob(p)}
        others = {
            file
            for file in folder.rglob("*")
            if file.is_file() and file.suffix != ".py" and "__pycache__" not in file.parts
        }
        assert others <= shipped, f"{package}: {sorted(map(str, others - shipped))}"


def test_citation_names_the_version_and_the_paper_of_every_method() -> None:
    citation = parsed(ROOT / "CITATION.cff")
    assert citation["cff-version"] == "1.2.0"
    assert citation["version"] == PROJECT["version"]
    assert citation["license"] == PROJECT["license"]
    assert citation["authors"] == [{"name": "The gsum authors"}]
    notes = [reference["notes"] for reference in citation["references"]]
    families = {folder.split(".")[1] for folder in FOLDERS}
    families -= {"retrieval", "evidence"}  # baselines, and a method of ours
    assert {key for note in notes for key in re.findall("`(.+?)`", note)} == families
    for reference in citation["references"]:
        assert {"type", "title", "authors", "year"} <= reference.keys()
        assert "doi" in reference or "url" in reference
