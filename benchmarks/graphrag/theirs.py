"""The `graphrag` package in an environment of its own, which GSUM_MS_GRAPHRAG_PYTHON names.

It needs no network: litellm ships the file of `cl100k_base` and points tiktoken at it, and with
LITELLM_LOCAL_MODEL_COST_MAP does not ask for a newer list of prices.
"""

import json
import os
from pathlib import Path

import pyarrow.parquet as pq

from benchmarks import MissingDataError
from benchmarks.graphrag.instant import DIMENSION
from benchmarks.graphrag.measured import Usage, run_measured
from benchmarks.graphrag.passages import MOST_TOKENS

VARIABLE = "GSUM_MS_GRAPHRAG_PYTHON"
VERSION = "3.3.0"
N_CONCURRENT = 25  # the package's default
_TABLES = ("text_units", "entities", "relationships", "communities", "community_reports")


def python() -> Path:
    """The interpreter of the other environment.

    Raises
    ------
    MissingDataError
        If the variable is unset or names no file; says how to make that environment.
    """
    path = Path(os.environ.get(VARIABLE, ""))
    if not path.is_file():
        raise MissingDataError(
            f"needs the graphrag package in an environment of its own: python3.11 -m venv DIR && "
            f"DIR/bin/pip install graphrag=={VERSION}, then {VARIABLE}=DIR/bin/python"
        )
    return path.absolute()  # not resolved: a link into an environment is its interpreter


def index(project: Path, texts: dict[str, str], base_url: str) -> Usage:
    """Index `texts` (by file name) in the folder `project` with the standard method."""
    (project / "input").mkdir(parents=True)
    for name, text in texts.items():
        (project / "input" / name).write_text(text)
    settings = json.dumps(_settings(base_url), indent=2)  # JSON is YAML
    (project / "settings.yaml").write_text(settings)
    command = [str(python()), "-m", "graphrag", "index", "--root", str(project)]
    command += ["--method", "standard", "--skip-validation"]  # which sends two requests of its own
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return run_measured(command, environment, project, project / "output.log")


def n_rows(project: Path) -> dict[str, int]:
    """Rows of each table of the index."""
    output = project / "output"
    return {name: pq.read_metadata(output / f"{name}.parquet").num_rows for name in _TABLES}


def _settings(base_url: str) -> dict:
    """The package's defaults, but for the models' address, chunks, encoding and vectors' size."""
    served = {"model_provider": "openai", "api_base": base_url, "api_key": "none"}
    return {
        "completion_models": {"default_completion_model": {**served, "model": "gpt-4.1"}},
        "embedding_models": {
            "default_embedding_model": {**served, "model": "text-embedding-3-large"}
        },
        "concurrent_requests": N_CONCURRENT,
        "input": {"type": "text"},
        "chunking": {
            "type": "tokens",
            "size": MOST_TOKENS,
            "overlap": 0,
            "encoding_model": "cl100k_base",
        },
        "extract_graph": {"max_gleanings": 1},
        "extract_claims": {"enabled": False},
        "vector_store": {"type": "lancedb", "db_uri": "output/lancedb", "vector_size": DIMENSION},
    }
