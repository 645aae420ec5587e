"""A new method is a folder and a line of registration: the rest of gsum knows it by that."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.pipeline.homes import WITHOUT_BERTSCORE

_GSUM = """
import json, sys
from gsum_assets.pipeline import registered
registered.FOLDERS += ("tests.toy.longest",)
from gsum_assets.cli.main import main
for command in json.loads(sys.argv[1]):
    main(command, standalone_mode=False)
"""


@pytest.mark.slow
def test_method_of_forty_lines_is_complete(tmp_path: Path) -> None:
    folder = Path(__file__).parent / "longest"
    lines = [line for file in folder.glob("*.py") for line in file.read_text().splitlines()]
    assert len([line for line in lines if line.strip()]) <= 40
    corpus = tmp_path / "corpora" / "boats"
    corpus.mkdir(parents=True)
    (corpus / "corpus.toml").write_text(WITHOUT_BERTSCORE)
    (corpus / "one.txt").write_text("A boat met another boat. " * 20)
    question = '{"query_id": "q", "text": "Who met?", "references": ["A boat."]}\n'
    (corpus / "queries.jsonl").write_text(question)
    commands = [
        ["plan", "boats", "--methods", "longest"],
        ["run", "boats", "--methods", "longest,bm25"],
        ["ask", "boats", "Who met?", "--method", "longest", "--explain"],
    ]
    done = subprocess.run(
        [sys.executable, "-c", _GSUM, json.dumps(commands)],
        env={**os.environ, "GSUM_HOME": str(tmp_path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr + done.stdout
    assert "boats: longest" in done.stdout  # the plan; the embedded model costs nothing
    assert "of 1 chunks the longest" in done.stdout  # --explain
    assert "│ longest" in done.stdout  # the leaderboard
