"""One question over stored tables: only the call log and memos are written."""

import json
import os
import readline
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb
import pytest
from click.testing import CliRunner

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import ask
from gsum_assets.answering.conversation import Conversation
from gsum_assets.answering.renderings import AnswerObject, answer_lines
from gsum_assets.answering.scope import find_document
from gsum_assets.cli.main import main
from gsum_assets.cli.prompt import typed_lines
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.retrieval.oracles import ORACLES
from gsum_resources.store.catalogue import define_views
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, text_of
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of, house_at, write_lines

pytestmark = pytest.mark.usefixtures("only_tables")
DOCUMENTS = {"ash", "birch", "cedar"}
QUESTION = "What met the boat?"


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("asked")) as house:
        for document_id in DOCUMENTS:
            house.write_document(document_id, text_of(document_id, 90))
        write_lines(house.folder / "queries.jsonl", [{"query_id": "q", "text": "Who?"}])
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        assert house.run(["bm25"]).errors == []
        yield house


def answer(house: House, question: str = QUESTION, method: str = "dense", **scope: Any) -> Answer:
    return ask(house.workspace, CORPUS, question, method, **scope)


def files(house: House) -> dict[str, tuple[int, int]]:
    """Time and size of every file of the home but the database of replies."""
    root = house.home.root
    found = (path for path in root.rglob("*") if not path.name.startswith("state.db"))
    stats = {path: path.stat() for path in found if path.is_file()}
    return {str(p.relative_to(root)): (s.st_mtime_ns, s.st_size) for p, s in stats.items()}


def test_ask_writes_only_the_call_log_and_memos(indexed: House) -> None:
    before = files(indexed)
    for question in (QUESTION, "Who met the clerk?"):
        answer(indexed, question)
    after = files(indexed)
    assert {path: after[path] for path in before} == before
    new = {"/".join(Path(path).parts[:2]) for path in after.keys() - before.keys()}
    assert new == {"warehouse/_memo", "warehouse/llm_calls"}


def test_stored_vectors_are_used_and_only_the_question_is_embedded(indexed: House) -> None:
    question = "Where was the boat in winter?"
    before = indexed.embedder.n_embedded
    answer(indexed, question)
    assert indexed.embedder.n_embedded == before + 1
    answer(indexed, question)
    assert indexed.embedder.n_embedded == before + 1  # known by now
    answer(indexed, "A question in words alone?", method="bm25")
    assert indexed.embedder.n_embedded == before + 1  # no vector of this one: it is not judged


@pytest.mark.parametrize("method", ORACLES)
def test_upper_bound_does_not_answer_unmarked_questions(indexed: House, method: str) -> None:
    with pytest.raises(CorpusError, match="is an upper bound"):
        answer(indexed, method=method)


@pytest.mark.parametrize("method", RETRIEVERS)
def test_every_method_answers_within_the_scope(indexed: House, method: str) -> None:
    whole = answer(indexed, method=method)
    assert {p["document_id"] for p in whole.passages} <= DOCUMENTS
    ranks = [p["rank"] for p in whole.passages]
    assert ranks == list(range(1, len(ranks) + 1))
    assert whole.text
    one = answer(indexed, method=method, document="BIRCH")
    assert {p["document_id"] for p in one.passages} == {"birch"}
    chunks = {c["chunk_id"]: c["text"] for c in indexed.table("chunks").to_pylist()}
    for passage in (*whole.passages, *one.passages):
        assert passage["text"] == chunks[passage["node_id"]]
    read = " ".join(p["text"] for p in sorted(one.passages, key=lambda p: p["position"]))
    assert one.text == " ".join(read.split()[: len(one.text.split())])


@pytest.mark.parametrize("lost", ["all", "one bucket", "passages of an edit"])
def test_bm25_answers_until_all_passages_have_vectors(
    indexed: House, tmp_path: Path, lost: str
) -> None:
    with copy_of(indexed, tmp_path) as house:
        store, chunks, vectors = house.store, TABLES["chunks"], TABLES["chunk_embeddings"]
        written = store.partitions(vectors, CORPUS)
        if lost == "passages of an edit":
            file = next(f for f, of in store.footers(chunks, written).items() if of.rows)
            footer = store.provenance(chunks, file)
            assert footer
            store.write(chunks, file, store.read(chunks, [file])[0].slice(1), footer)
        else:
            for file in written[: None if lost == "all" else 1]:
                store.delete(vectors, file)
        asked = Conversation(house.workspace, [CORPUS])
        early = asked.ask(QUESTION)
        assert early.passages
        assert early.method == "bm25"
        assert list(answer_lines(early, ""))[-1] == (
            f"Answered by bm25 while hybrid is being made; `gsum run {CORPUS}` completes it."
        )
        assert house.run().is_complete
        late = asked.ask(QUESTION)
        assert (late.method, late.note) == ("hybrid", "")


def test_method_without_an_index_names_the_command_that_makes_it(indexed: House) -> None:
    before = files(indexed)
    with pytest.raises(CorpusError) as error:
        answer(indexed, method="gor")
    for fragment in ("'gor.record_nodes'", f"`gsum run {CORPUS} --methods gor`", "answer now:"):
        assert fragment in str(error.value)
    with pytest.raises(CorpusError, match="question is empty"):
        answer(indexed, " \n")
    assert files(indexed) == before


def test_comparison_reads_each_document(indexed: House) -> None:
    whole = answer(indexed, "How do these documents differ?")
    assert {p["document_id"] for p in whole.passages[:3]} == DOCUMENTS
    assert [p["rank"] for p in whole.passages] == list(range(1, len(whole.passages) + 1))


@pytest.mark.parametrize("method", ["bm25", "dense", "hybrid"])
def test_named_document_only_is_read(indexed: House, method: str) -> None:
    found = answer(indexed, "What met the boat according to Cedar?", method)
    assert {source.title for source in found.sources} == {"cedar"}
    assert all(" of " in source.location for source in found.sources)
    both = answer(indexed, "What met the boat in Cedar and in Ash?", method)
    assert {p["document_id"] for p in both.passages} == {"cedar", "ash"}


def test_document_is_named_by_its_title() -> None:
    titles = {"a1": "The Mill", "a2": "The mill", "b": "Ferry"}
    assert find_document("ferry ", titles, "c") == "b"
    assert find_document("a1", titles, "c") == "a1"
    with pytest.raises(CorpusError, match=r"2 documents with the name 'the mill'.*'a1', 'a2'"):
        find_document("the mill", titles, "c")
    with pytest.raises(CorpusError, match=r"no document 'Fery'; did you mean 'Ferry'"):
        find_document("Fery", titles, "c")


def test_language_model_completes_a_follow_up(indexed: House) -> None:
    conversation = Conversation(indexed.workspace, [CORPUS], "bm25")
    first = conversation.ask("What about cedar?")
    assert (first.question, first.understood) == ("What about cedar?", "")
    second = conversation.ask("and why?")
    assert second.question == "and why?"
    assert second.understood.startswith("What about cedar?")  # by the model, which repeats passages


@pytest.mark.parametrize(
    "question",
    ["Which documents mention the boat?", "List the titles.", "Which is the longest file?"],
)
def test_the_sql_of_a_count_gives_the_same_in_the_home(indexed: House, question: str) -> None:
    counted = answer(indexed, question, "bm25")
    *_, sql = counted.text.partition("SQL: ")
    with duckdb.connect() as connection:
        define_views(connection, indexed.store, TABLES.values())
        rows = connection.execute(sql).fetchall()
    assert [row[0] for row in rows] == [source.document_id for source in counted.sources]
    assert rows


def test_rewritten_table_is_read_again(indexed: House) -> None:
    workspace, table = indexed.workspace, TABLES["documents"]
    partition = Partition(CORPUS, "00")
    rows, _ = workspace.store.read(table, [partition])
    kept = workspace.kept_rows(table, [partition])
    assert workspace.kept_rows(table, [partition]) is kept
    footer = workspace.store.provenance(table, partition)
    assert footer is not None
    changed = rows.slice(0, 0) if rows.num_rows else workspace.rows("documents", CORPUS).get()
    own = [column for column in changed.column_names if column in table.schema.names]
    try:
        workspace.store.write(table, partition, changed.select(own), footer)
        assert workspace.kept_rows(table, [partition]).get().num_rows == changed.num_rows
    finally:
        workspace.store.write(table, partition, rows.select(own), footer)


LINES = """\
What met the boat?
and why?
/method
/metod bm25
/document Birhc
/document birch
What met the boat?

/new
and why?
/where n_words > 1000
/where
/where titel = 'Ash'
/method hybird
/quit
Not asked?
"""


def test_prompt_reads_piped_lines(indexed: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSUM_HOME", str(indexed.home.root))
    result = CliRunner().invoke(main, ["ask", CORPUS, "--method", "bm25"], input=LINES)
    assert result.exit_code == 1  # four lines were wrong
    answers = result.stdout.split("\n> ")
    assert "understood as: why? (met, boat)" in answers[1]
    assert answers[2] == "/method\nmethod: bm25"
    assert answers[5] == "/document birch\ndocument: birch"
    assert "  1. birch, passage " in answers[6]
    assert "ash" not in answers[6].split("sources:")[1].split("found by")[0]
    assert "understood as" not in answers[8]  # the conversation began anew
    assert answers[9] == "/where n_words > 1000\nwhere: n_words > 1000; documents: 0"
    assert answers[10] == "/where\nwhere: no condition; documents: 3"
    assert "Not asked?" not in result.stdout
    for error in (
        "unknown command '/metod'; did you mean '/method'?",
        "no document 'Birhc'; did you mean 'birch'?",
        "unknown method 'hybird'; did you mean 'hybrid'",
        'where: Binder Error: Referenced column "titel" not found',
    ):
        assert f"Error: {error}" in " ".join(result.stderr.split()) or error in result.stderr


def test_condition_restricts_the_command_and_keeps_no_index(
    indexed: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSUM_HOME", str(indexed.home.root))
    arguments = ["ask", CORPUS, QUESTION, "--method", "bm25", "--json", "--where"]
    CliRunner().invoke(main, [*arguments, "true"])
    before = files(indexed)
    result = CliRunner().invoke(main, [*arguments, "title in ('ash', 'birch')"])
    assert {p["document_id"] for p in json.loads(result.stdout)["passages"]} == {"ash", "birch"}
    new = files(indexed).keys() - before.keys()
    assert {"/".join(Path(path).parts[:2]) for path in new} <= {
        *("warehouse/_memo", "warehouse/llm_calls"),
    }
    wrong = CliRunner().invoke(main, [*arguments, "title = (select 'ash')"])
    assert "without subqueries" in wrong.stderr


def test_answers_are_json_objects(indexed: House, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GSUM_HOME", str(indexed.home.root))
    arguments = ["ask", CORPUS, "--method", "bm25", "--json"]
    lines = "What met the boat?\nand why?\n/method gor\n/method\n\n"
    result = CliRunner().invoke(main, arguments, input=lines)
    first, second = map(json.loads, result.stdout.splitlines())
    assert first.keys() == {field.name for field in fields(AnswerObject)}
    assert (first["question"], first["understood"]) == ("What met the boat?", None)
    assert second["understood"] == "why? (met, boat)"
    assert (first["method"], first["model"]) == ("bm25", "extractive")
    assert first["usage"]["calls"] == 1
    assert [s["number"] for s in first["sources"]] == list(range(1, len(first["sources"]) + 1))
    assert {s["node_id"] for s in first["sources"]} == {p["node_id"] for p in first["passages"]}
    assert all(s["end"] - s["start"] == len(s["text"]) for s in first["sources"])
    assert {p["document_id"] for p in first["passages"]} <= DOCUMENTS
    assert "gor.record_nodes" in result.stderr
    single = CliRunner().invoke(main, [*arguments, "What met the boat?"])
    assert json.loads(single.stdout)["text"] == first["text"]

    def fail(*_: object) -> Answer:
        raise CorpusError("no such thing")

    monkeypatch.setattr(Conversation, "ask", fail)
    failed = CliRunner().invoke(main, arguments, input="Who?\n")
    assert json.loads(failed.stdout) == {"question": "Who?", "error": "no such thing"}
    assert failed.exit_code == 1


def test_typed_lines_keep_a_history(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    typed = iter(["What?", KeyboardInterrupt(), "Who?", EOFError()])

    def type_line(mark: str) -> str:
        line = next(typed)
        if isinstance(line, BaseException):
            raise line
        readline.add_history(line)
        return line

    readline.clear_history()
    monkeypatch.setattr("builtins.input", type_line)
    history = tmp_path / "history"
    assert list(typed_lines("tales> ", history)) == ["What?", "Who?"]
    assert [line for line in history.read_text().splitlines() if "?" in line] == ["What?", "Who?"]
    assert history.stat().st_mode & 0o077 == 0


@pytest.mark.slow
def test_ask_command_runs_without_dagster_and_torch(indexed: House) -> None:
    code = (
        "import sys; from gsum_assets.cli.main import main\n"
        "main(sys.argv[1:], standalone_mode=False)\n"
        "heavy = {'dagster', 'torch', 'transformers', 'sklearn', 'matplotlib'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    command = [sys.executable, "-c", code, "ask", CORPUS, QUESTION, "--method", "bm25"]
    environment = {**os.environ, "GSUM_HOME": str(indexed.home.root)}
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    assert "sources:" in ended.stdout
    assert "it is not a language model" in ended.stdout
