"""The notebooks run from the first cell to the last, and are stored without outputs."""

from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

NOTEBOOKS = sorted((Path(__file__).parents[2] / "notebooks").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(path.parents[1]))
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    assert all(not cell.get("outputs") for cell in notebook.cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": tmp_path}}).execute()
    shown = [out for cell in notebook.cells for out in cell.get("outputs", ())]
    assert len(shown) >= 2
    said = "".join(out.text for out in shown if out.get("name") == "stderr")
    assert "Warning" not in said.replace("TqdmWarning: IProgress not found", "")


def test_there_are_three() -> None:
    assert len(NOTEBOOKS) == 3
