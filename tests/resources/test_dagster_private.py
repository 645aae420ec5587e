"""Private names of Dagster are imported in one module and exist in the pinned version."""

import subprocess
import sys
from pathlib import Path

from gsum_resources.dagster_io import dagster_private

REPOSITORY = Path(__file__).parents[2]


def test_only_one_module_imports_private_dagster_names() -> None:
    named = {
        str(path.relative_to(REPOSITORY))
        for package in ("gsum", "gsum_assets", "gsum_resources")
        for path in (REPOSITORY / package).rglob("*.py")
        if "dagster._" in path.read_text()
    }
    assert named == {"gsum_resources/dagster_io/dagster_private.py"}


def test_every_late_name_exists_and_definitions_load_none() -> None:
    for name in dagster_private._LOADED_LATE:
        assert getattr(dagster_private, name).__name__ == name
    code = (
        "import sys, gsum_assets.definitions\n"
        "from gsum_resources.dagster_io import dagster_private as own\n"
        "print(*(set(own._LOADED_LATE.values()) & set(sys.modules)))"
    )
    command = [sys.executable, "-c", code]
    loaded = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert loaded.stdout.split() == []
