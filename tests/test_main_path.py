"""What only a command or a step needs is not loaded by the definitions, nor by a run without it."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ASIDE = (
    "gsum_assets.corpus.importers",
    "gsum_assets.evaluation.judges.judge",
    "gsum_assets.evaluation.judges.own_judge",
    "gsum_assets.evaluation.judges.position_bias",
    "gsum_assets.evaluation.judges.rating_scores",
    "gsum_assets.evaluation.judges.win_rates",
    "gsum_assets.graphrag.compat",
    "gsum_assets.report",
)
DEFINITIONS = (
    "import gsum_assets.cli.main, gsum_assets.cli.terminal; "
    "from gsum_assets.definitions import defs"
)
WITHOUT_JUDGES = """
import sys
import pyarrow as pa
from gsum_assets.evaluation.judge_checks import no_position_bias
from gsum_assets.evaluation.judge_steps import judging
from gsum_assets.evaluation.leaderboard_step import uniting
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from gsum_assets.pipeline.step import SETTINGS, Inputs, run
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_resources.store.appended import APPENDED
from gsum_resources.store.parquet_store import ParquetStore

class Sections:
    def section(self, corpus, name):
        return {}

def empty(name):
    rows = TABLES[name].empty()
    return rows.append_column("method", pa.array([], pa.string())) if "method" in TABLES[
        name].dimensions else rows

names = ("queries", "documents", "retrieval/scores", "retrieval/summaries", *APPENDED)
tables = {name: empty(name.removeprefix("retrieval/")) for name in names}
methods = [METHODS.family_of("bm25")]
inputs = Inputs({SETTINGS: Sections()}, "tales", store=ParquetStore("FOLDER", state_url="sqlite://"))
written = run([judging(methods), uniting(methods)], inputs.with_tables(tables))
assert {"judgements", "win_rates", "leaderboard", "costs"} <= set(written)
assert not no_position_bias(written["judgements"]).problem
"""


@pytest.mark.parametrize("code", [DEFINITIONS, WITHOUT_JUDGES], ids=["definitions", "no judges"])
def test_what_a_command_or_step_alone_needs_is_not_loaded(code: str, tmp_path: Path) -> None:
    code = code.replace("FOLDER", str(tmp_path)) + "\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "gsum_assets.evaluation.judge_steps" in loaded
    assert [name for name in loaded if name.startswith(ASIDE)] == []
