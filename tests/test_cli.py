"""The command line, from a benchmark's file to an answer, with the packaged models."""

import csv
import io
import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from gsum_assets.cli.main import main
from gsum_assets.pipeline.tables import TABLES

COMMANDS = ("init", "import", "plan", "run", "ask", "report", "export", "forget", "sql", "ui")
COMMANDS += ("models", "prompts", "reproduce", "serve")
TURNS = {
    "Budget": [
        ("Ann", "The budget for the remote control is twelve euro fifty a piece."),
        ("Bob", "Then we cannot afford a solar cell , {vocalsound} only a plain battery ."),
        ("Ann", "Agreed . We take the battery and keep the budget at twelve fifty ."),
    ],
    "Colour": [
        ("Cleo", "The marketing report says that young people want fruit colours ."),
        ("Dan", "The case will be yellow , with a spongy feel and the logo on the side ."),
        ("Cleo", "So yellow it is , and we test it with users next week ."),
    ],
}


def meeting(topic: str) -> dict:
    """One line of QMSum's official files."""
    words = " ".join(content for _, content in TURNS[topic])
    span = [["0", "2"]]
    return {
        "topic_list": [{"topic": topic, "relevant_text_span": span}],
        "general_query_list": [{"query": "Summarize the meeting.", "answer": words}],
        "specific_query_list": [
            {"query": f"What was decided on the {topic.lower()}?"}
            | {"answer": TURNS[topic][-1][1], "relevant_text_span": span}
        ],
        "meeting_transcripts": [
            {"speaker": speaker, "content": content} for speaker, content in TURNS[topic]
        ],
    }


def gsum(*arguments: str) -> Result:
    return CliRunner().invoke(main, list(arguments))


def flat(result: Result) -> str:
    """Return the output of a command without the line breaks of a narrow screen."""
    return " ".join(result.output.split())


def printed(*arguments: str) -> str:
    """Return the output of a command that must succeed."""
    result = gsum(*arguments)
    assert result.exit_code == 0, result.output
    return result.output


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    root = tmp_path_factory.mktemp("home")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GSUM_HOME", str(root))
        patch.setenv("DAGSTER_HOME", str(root / "dagster"))
        for name in ("WAREHOUSE", "LLM_MODEL", "EMBEDDING_MODEL", "EMBEDDING_PRECISION"):
            patch.delenv(f"GSUM_{name}", raising=False)
        yield root


@contextmanager
def changed_settings(home: Path, change: Callable[[str], str]) -> Iterator[None]:
    """Change the corpus.toml of the corpus while the context lasts."""
    settings = home / "corpora" / "two-meetings" / "corpus.toml"
    before = settings.read_text()
    settings.write_text(change(before))
    yield
    settings.write_text(before)


@pytest.fixture(scope="module")
def imported(home: Path) -> str:
    """Return the output of importing two meetings."""
    source = home / "official"
    source.mkdir()
    (source / "val.jsonl").write_text("".join(json.dumps(meeting(t)) + "\n" for t in TURNS))
    return printed("import", "qmsum", str(source), "--corpus", "two-meetings")


@pytest.fixture(scope="module")
def first_run(imported: str) -> str:
    return printed("run", "two-meetings", "--methods", "bm25, dense")


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_help_names_every_command(flag: str) -> None:
    text = printed(flag)
    assert "GSUM_HOME" in text
    for command in COMMANDS:
        assert f"  {command} " in text
        assert f"Usage: main {command}" in printed(command, flag)
    assert set(main.commands) == set(COMMANDS)


def test_import_states_documents_and_next_command(imported: str) -> None:
    assert "two-meetings: 2 documents, 4 questions" in imported
    assert "next: gsum run two-meetings" in imported


def test_run_prints_runs_leaderboard_and_next_command(first_run: str) -> None:
    assert "failed" not in first_run
    # 6 tables of documents, three of questions, the index, 5 of results, 2 of judges, one of
    # generated questions, 3 of all methods
    assert "two-meetings: 21 tables written" in first_run
    assert "two-meetings: 2 documents\n" in first_run
    (of_retrieval,) = re.findall(r"  retrieval: (.*) \(methods bm25, dense\)", first_run)
    names = ["answer_sources", "contexts", "index", "rankings", "scores", "summaries"]
    assert sorted(of_retrieval.split(", ")) == names
    for kind in ("general", "specific"):
        assert f"two-meetings: {kind} questions" in first_run
    board = first_run[first_run.index("two-meetings: general questions") :]
    for word in ("bm25", "dense", "rougeL", "next:", 'gsum ask two-meetings "…"'):
        assert word in board


def test_second_run_states_that_all_is_current(first_run: str) -> None:
    text = printed("run", "two-meetings")
    assert "two-meetings: nothing to do, all is up to date" in text
    assert "bm25" in text[text.index("two-meetings: general questions") :]


def test_ask_prints_answer_and_passages(first_run: str) -> None:
    question = "Which colour will the case have?"
    text = printed("ask", "two-meetings", question, "--document", "qmsum-val-002")
    answer, sources = text.split("\nsources:\n")
    assert "yellow" in answer
    assert "  1. Meeting on Colour, passage 1 of 1" in sources
    assert " 2. " not in sources
    assert "written by extractive, which selects sentences; it is not a language model" in sources


def test_report_is_one_file(first_run: str, tmp_path: Path) -> None:
    output = tmp_path / "report.html"
    text = printed("report", "two-meetings", "--output", str(output), "--methods", "dense")
    assert text.startswith(f"{output}: 0.")
    assert "MB" in text
    html = output.read_text()
    assert "two-meetings" in html
    assert "What was decided on the colour?" in html
    assert "bm25" not in html


def test_sql_prints_a_table_or_csv(first_run: str) -> None:
    query = "select document_id, count(*) as n from chunks group by all order by all"
    text = printed("sql", query)
    for word in ("document_id", "qmsum-val-001", "qmsum-val-002", "│"):
        assert word in text
    rows = list(csv.reader(io.StringIO(printed("sql", query, "--csv"))))
    assert rows == [["document_id", "n"], ["qmsum-val-001", "1"], ["qmsum-val-002", "1"]]
    assert "leaderboard" in printed("sql", "show all tables", "--csv")
    assert "neighbours(in_corpus, of_name" in printed("sql", "show all tables")
    models = printed("sql", "select distinct model from summaries", "--csv")
    assert models.split() == ["model", "extractive"]


def test_sql_prints_or_writes_values_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSUM_HOME", str(tmp_path))
    query = "select range(1200) as long, 0.1 + 0.2 as sum, null as none"
    values = {"long": [*range(1200)], "sum": 0.3, "none": None}
    assert json.loads(printed("sql", query, "--json")) == values
    row = list(csv.reader(io.StringIO(printed("sql", query, "--csv"))))[1]
    assert [json.loads(row[0]), *row[1:]] == [[*range(1200)], "0.3", ""]
    assert "written" in printed("sql", query, "--parquet", str(tmp_path / "rows.parquet"))
    assert pq.read_table(tmp_path / "rows.parquet").num_rows == 1


@pytest.mark.parametrize(
    ("arguments", "fragments"),
    [
        (["sql", "select nothing from nowhere"], ["Error: SQL: ", "nowhere"]),
        (["sql", "selekt 1"], ["Error: SQL: ", '"selekt"']),
        (["run", "no-such-corpus"], ["'no-such-corpus' does not exist", "known: two-meetings"]),
        (["run", "two-metings"], ["does not exist", "did you mean 'two-meetings'?"]),
        (["run", "."], ["'.' is a folder and not the name of a corpus", "gsum init ."]),
        (["plan", "two-metings"], ["did you mean 'two-meetings'?"]),
        (["forget", "two-metings", "x"], ["did you mean 'two-meetings'?"]),
        (["forget", "two-meetings", "qmsum-val-003"], ["no document 'qmsum-val-003'; did you m"]),
        (["run", "../no-such-corpus"], ["corpus '../no-such-corpus'", "use letters"]),
        (
            ["run", "two-meetings", "--methods", "bm52"],
            ["unknown method 'bm52'; did you mean 'bm25'?"],
        ),
        (["ask", "two-meetings", "Who?", "--method", "bm52"], ["unknown method 'bm52'", "bm25"]),
        (["ask", "two-meetings", "Who?", "--document", "x"], ["no document 'x'", "qmsum-val-001"]),
        (["ask", "elsewhere", "Who?"], ["'elsewhere' does not exist", "known: two-meetings"]),
        (["report", "two-meetings", "--split", "x"], ["no split 'x'; known: dev, all"]),
        (["report", "two-meetings", "--output", "/no/where"], ["/no/where: No such file"]),
        (["import", "qmsun", "."], ["no benchmark 'qmsun'; did you mean 'qmsum'?"]),
        (["import", "qmsum", "no-such-folder"], ["Error: ", "no-such-folder"]),
        (["run"], ["Usage: ", "name a CORPUS to run; available: two-meetings"]),
        (["rnu"], ["No such command 'rnu'", "Did you mean 'run'?"]),
        (["run", "two-meetings", "--method", "bm25"], ["'--forget-methods', '--methods'?"]),
        (["sql", "select * from chunk"], ['Did you mean "chunks"?']),
    ],
)
def test_errors_are_shown_without_traceback(
    first_run: str, arguments: list[str], fragments: list[str]
) -> None:
    result = gsum(*arguments)
    assert result.exit_code in (1, 2)
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    for fragment in fragments:
        assert fragment in flat(result)
    assert arguments[0] != "sql" or result.output.count("\n") == 1


def test_all_tables_are_listed_with_their_row_meaning(first_run: str) -> None:
    text = printed("sql", "SHOW ALL TABLES;")
    listed = [line.split()[:2] for line in text.splitlines()[1:]]
    expected = {tuple(name.split(".")) if "." in name else ("main", name) for name in TABLES}
    assert expected <= {tuple(words) for words in listed}
    assert re.search(r"^main +chunks +one row per passage of a document *$", text, re.MULTILINE)
    assert "…" not in text


def test_home_without_a_corpus_states_how_to_create_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSUM_HOME", str(tmp_path))
    for arguments in (["run"], ["run", "reports"], ["report", "reports"]):
        result = gsum(*arguments)
        assert result.exit_code in (1, 2)
        assert "put a folder with documents there" in flat(result)
        assert "gsum init FOLDER" in flat(result)


def test_wrong_method_in_the_settings_is_reported_by_every_command(
    first_run: str, home: Path
) -> None:
    with changed_settings(home, lambda text: re.sub("methods = .*", 'methods = ["bm52"]', text)):
        result = gsum("run", "two-meetings", "--methods", "dense")
    assert result.exit_code == 1
    assert "corpus.toml: methods: unknown method 'bm52'; did you mean 'bm25'?" in flat(result)


def test_unavailable_model_is_reported(
    first_run: str, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSUM_LLM_MODEL", "oracle")
    result = gsum("run", "two-meetings")
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)
    for fragment in ("[llm]: model is 'oracle'", "backend is 'extractive'", "set backend to"):
        assert fragment in flat(result)


def test_limits_of_the_embedded_model_are_reported(first_run: str, home: Path) -> None:
    added = '[judges]\nmethods = ["bm25", "dense"]\n[questions]\nn = 1\ndescription = "Meetings."\n'
    with changed_settings(home, lambda text: f"{text}\n{added}"):
        result = gsum("run", "two-meetings")
    assert result.exit_code == 0
    assert "judgements: left empty: the model 'extractive' cannot judge" in flat(result)
    assert "generated_questions: left empty: the model 'extractive' cannot write" in flat(result)


def test_failing_run_exits_with_1_and_prints_the_rest(first_run: str, home: Path) -> None:
    with changed_settings(home, lambda text: f"{text}\n[retrieval]\nk = 0\n"):
        result = gsum("run", "two-meetings")
    assert result.exit_code == 1
    assert "retrieval/rankings: " in result.output
    assert "table [retrieval]: key 'k' has value 0" in flat(result)
    assert "1 step failed" in result.output
    assert "two-meetings: general questions" in result.output
    assert "next:" not in result.output
    assert "Traceback" not in result.output


def test_script_runs_as_installed(first_run: str) -> None:
    script = str(Path(sys.executable).with_name("gsum"))
    query = "select count(*) as n from documents"
    good = subprocess.run([script, "sql", query, "--csv"], capture_output=True, text=True)
    assert (good.returncode, good.stdout, good.stderr) == (0, "n\n2\n", "")
    bad = subprocess.run([script, "sql", "selekt"], capture_output=True, text=True)
    assert bad.returncode == 1
    assert bad.stderr.startswith("Error: SQL: ")
    assert "Traceback" not in bad.stderr
