"""The command line as a person meets it, with the real embedded models."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from gsum_assets.cli import main
from tests.pipeline.homes import house_at

MEETING = {
    "topic_list": [{"topic": "Price of the remote", "relevant_text_span": [["0", "3"]]}],
    "general_query_list": [
        {"query": "Summarize the meeting.", "answer": "The team set the price at 25 euros."}
    ],
    "specific_query_list": [
        {
            "query": "What did Marketing want?",
            "answer": "Marketing wanted a lower price.",
            "relevant_text_span": [["1", "2"]],
        }
    ],
    "meeting_transcripts": [
        {"speaker": "Project Manager", "content": "Okay , we set the price at 25 euros {gap} ."},
        {"speaker": "Marketing", "content": "I want a lower price , um , say 20 euros for it ."},
        {"speaker": "Project Manager", "content": "No , the price of 25 euros was decided ."},
    ],
}


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("cli")
    with house_at(root):
        (root / "official").mkdir()
        lines = "".join(json.dumps(MEETING) + "\n" for _ in range(2))
        (root / "official" / "val.jsonl").write_text(lines)
        yield root


def gsum(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def test_every_command_has_help() -> None:
    for name in (None, *main.commands):
        result = gsum(*([name] if name else []), "--help")
        assert result.exit_code == 0
        assert "Usage:" in result.output


def test_from_import_to_answer(home: Path) -> None:
    imported = gsum("import", "qmsum", str(home / "official"))
    assert imported.exit_code == 0, imported.output
    assert "qmsum: 2 documents, 4 questions" in imported.output
    assert "next: gsum run qmsum" in imported.output

    first = gsum("run", "qmsum", "--methods", "bm25,dense")
    assert first.exit_code == 0, first.output
    for part in ("chunk_embeddings", "retrieval", "partitions made", "rouge1", "dense", "next:"):
        assert part in first.output
    second = gsum("run", "qmsum")
    assert "nothing to make, all is current" in second.output

    answer = gsum("ask", "qmsum", "What is the price?", "--document", "qmsum-val-001")
    assert answer.exit_code == 0, answer.output
    assert "25 euros" in answer.output
    assert "from:" in answer.output

    csv = gsum("sql", "select method, n from leaderboard where metric = 'rouge1'", "--csv")
    assert csv.output.splitlines()[0] == "method,n"
    shown = gsum("sql", "select count(*) as n_documents from documents")
    assert shown.exit_code == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("run", "nowhere"), "does not exist"),
        (("run", "a|b"), "use letters, digits"),
        (("ask", "nowhere", "Why?"), "run `gsum run nowhere` first"),
        (("import", "magic", "."), "no benchmark 'magic'"),
        (("import", "qmsum", "/nowhere"), "/nowhere does not exist"),
        (("sql", "select wrong"), "SQL: "),
    ],
)
def test_errors_are_one_message_and_a_status(
    home: Path, arguments: tuple[str, ...], message: str
) -> None:
    result = gsum(*arguments)
    assert result.exit_code != 0
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_the_script_ends_with_the_status(home: Path) -> None:
    script = str(Path(sys.executable).with_name("gsum"))
    failed = subprocess.run([script, "run", "nowhere"], capture_output=True, text=True, check=False)
    assert failed.returncode == 1
    assert "Traceback" not in failed.stdout + failed.stderr
    assert subprocess.run([script, "--version"], capture_output=True, check=False).returncode == 0
