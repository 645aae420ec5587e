"""What `import gsum` and a run in memory load, take and leave behind, in a new process."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

HEAVY = {"dagster", "torch", "matplotlib"}
REPORT = """
import json, sys, time
modules = [name for name in sys.modules if "." not in name]
print(json.dumps({"modules": modules, "cpu_s": time.process_time()}))
"""
RUN = """
import gsum
texts = {"a": "The harbour opened in 1890.", "b": "The bridge was never finished."}
result = gsum.run("METHOD", texts, ["When did the harbour open?"])
assert result.answers["answer"].str.contains("1890").all()
assert result.ask("Was the bridge finished?").text
"""


def of_process(code: str, folder: Path) -> dict[str, Any]:
    """Run code in a new process whose home and temporary files are in `folder`."""
    path = str(Path(__file__).parents[2])
    environment = {**os.environ, "TMPDIR": str(folder), "HOME": str(folder), "PYTHONPATH": path}
    done = subprocess.run(
        [sys.executable, "-c", code + REPORT],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""  # quiet
    return json.loads(done.stdout)


def test_import_is_light_and_gives_every_name_without_dagster(tmp_path: Path) -> None:
    assert of_process("import gsum\nassert 'run' in dir(gsum)\n", tmp_path)["cpu_s"] < 1
    found = of_process("from gsum import *\nrun, compare, open, methods()\n", tmp_path)
    assert HEAVY & set(found["modules"]) == set()


def test_a_cold_run_is_quick_and_leaves_nothing_behind(tmp_path: Path) -> None:
    found = of_process(RUN.replace("METHOD", "bm25"), tmp_path)
    assert HEAVY & set(found["modules"]) == set()
    assert list(tmp_path.rglob("*")) == []
    assert found["cpu_s"] < 4  # seconds of the processor: another process's load does not count


TRAINED = """
import gsum
from tests.gsum.harbour import TEXTS
settings = {"gor": {"training": {"epochs": 1}, "simulation": {"n_queries": 2}}}
result = gsum.run("gor", TEXTS, ["When was the mill built?"], settings)
assert len(result.tables["gor.model"]) == 1
"""


def test_a_trained_method_runs_without_dagster(tmp_path: Path) -> None:
    found = of_process(TRAINED, tmp_path)
    assert "torch" in found["modules"]
    assert "dagster" not in found["modules"]
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []
