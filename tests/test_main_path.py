"""What only a command needs is not loaded by the definitions."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
ASIDE = (
    "gsum_assets.corpus.importers",
    "gsum_assets.graphrag.views",
    "gsum_assets.report",
)
DEFINITIONS = (
    "import gsum_assets.cli.main, gsum_assets.cli.terminal; "
    "from gsum_assets.definitions import defs"
)


def test_what_a_command_alone_needs_is_not_loaded() -> None:
    code = f"{DEFINITIONS}\nimport sys; print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    loaded = done.stdout.split()
    assert "gsum_assets.evaluation.score" in loaded
    assert [name for name in loaded if name.startswith(ASIDE)] == []
