"""Execute the notebooks and store them with their outputs, so that they can be read on the web.

    python notebooks/store_outputs.py

What differs from run to run is left out: stderr, execution times, the paths of temporary folders.
"""

import json
import os
import re
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent


def executed(path: Path, folder: str, timeout_s: int = 300) -> nbformat.NotebookNode:
    """Return a notebook after it ran in `folder`, with the outputs of this run."""
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=timeout_s, resources={"metadata": {"path": folder}}).execute()
    return notebook


def as_stored(notebook: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return a notebook without what differs from run to run."""
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
        if cell.cell_type == "code":
            cell.outputs = [out for out in cell.outputs if out.get("name") != "stderr"]
            cell.outputs = [_without_folder(out) for out in cell.outputs]
    notebook.metadata = {
        "kernelspec": notebook.metadata.kernelspec,
        "language_info": {"name": "python"},
    }
    return notebook


def _without_folder(output: nbformat.NotebookNode) -> nbformat.NotebookNode:
    """Return an output with paths below a temporary folder relative to it."""
    temporary = re.escape(f"{tempfile.gettempdir()}/") + r"tmp\w+/"
    return nbformat.from_dict(json.loads(re.sub(temporary, "", json.dumps(output))))


def main() -> None:
    """Execute all notebooks of this folder in a temporary one."""
    os.environ["PYTHONPATH"] = str(FOLDER.parent)
    for path in sorted(FOLDER.glob("*.ipynb")):
        with tempfile.TemporaryDirectory() as folder:
            notebook = as_stored(executed(path, folder))
        nbformat.write(notebook, path)
        print(f"{path.name}: {path.stat().st_size / 1e3:.0f} kB")


if __name__ == "__main__":
    main()
