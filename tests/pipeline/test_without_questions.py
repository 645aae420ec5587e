"""A corpus without questions: the index of one method, no results, and what to do next."""

import json
import shlex
from pathlib import Path

import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.cli.terminal import next_steps
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from tests.conftest import CORPUS, House
from tests.pipeline.homes import WITHOUT_BERTSCORE

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
CORPUS_TABLES = {
    "documents",
    "rejected_documents",
    "converted_documents",
    "document_sections",
    "chunks",
    "chunk_embeddings",
    "retrieval.index",
}
OF_QUESTIONS = {"queries", "query_embeddings", "answerability"}
OF_QUESTIONS |= {"generated_questions"}
OBSERVED = {"source_documents", "source_queries", "source_graph"}
QUESTION = {"query_id": "all", "text": "Who met the boat?", "references": ["The lamp met it."]}


@pytest.fixture
def silent(house: House) -> House:
    """Nine documents and no question."""
    (house.folder / "queries.jsonl").unlink()
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
    return house


def tables_of(house: House) -> set[str]:
    """Tables that have a file."""
    return {name for name, table in TABLES.items() if house.store.partitions(table, CORPUS)}


def rows_of(house: House, *names: str) -> list[int]:
    return [house.table(name).num_rows for name in names]


def test_corpus_gets_an_index_and_its_first_question_the_results(silent: House) -> None:
    def next_lines() -> str:
        return "\n".join(next_steps(silent.store, CORPUS, silent.folder))

    assert next_lines() == ""  # nothing is written yet
    assert silent.run().is_complete
    assert METHODS.wanted(silent.home.corpora, CORPUS) == [DEFAULT_METHOD]
    assert tables_of(silent) == CORPUS_TABLES | OF_QUESTIONS | OBSERVED
    assert not silent.run().steps
    assert ask(silent.workspace, CORPUS, "Who met the boat?", DEFAULT_METHOD).passages
    command = shlex.split(next_lines().splitlines()[1])  # can be pasted
    assert command[:3] == ["gsum", "ask", CORPUS]
    assert command[3].endswith("?")
    assert f"{silent.folder}/queries.jsonl" in next_lines()
    assert "leaderboard" not in next_lines()

    settings = f'methods = ["{DEFAULT_METHOD}"]\n{WITHOUT_BERTSCORE}'
    (silent.folder / "corpus.toml").write_text(settings)
    silent.write_queries([{"text": "Who met the boat?"}])  # nothing to measure an answer by
    assert silent.run().is_complete
    assert "from summaries" in next_lines()
    assert "leaderboard" not in next_lines()
    silent.write_queries([QUESTION])
    assert silent.run().is_complete
    assert rows_of(silent, "queries", "summaries") == [1, 1]
    assert set(silent.table("scores")["method"].to_pylist()) == {DEFAULT_METHOD}
    assert "from leaderboard" in next_lines()

    silent.write_queries([])
    assert silent.run().is_complete
    results = ("queries", "rankings", "contexts", "summaries", "scores", "leaderboard", "costs")
    assert rows_of(silent, *results) == [0] * len(results)
    assert not silent.run().steps


def test_named_method_gets_its_index_and_can_be_asked(silent: House) -> None:
    assert silent.run(["readagent"]).is_complete
    written = tables_of(silent)
    assert {"chunks", "jerr.pages"} <= written
    assert not written & {"rankings", "contexts", "summaries", "scores", "leaderboard", "costs"}
    assert ask(silent.workspace, CORPUS, "Who met the boat?", "readagent").passages


def test_defaults_of_a_new_corpus(tmp_path: Path) -> None:
    folder = tmp_path / CORPUS
    folder.mkdir()
    (folder / "a.txt").write_text("A boat met a lamp.")

    def defaults() -> list[str]:
        return METHODS.wanted(tmp_path, CORPUS)

    assert defaults() == [DEFAULT_METHOD]
    (folder / "queries.jsonl").write_text("\n \n")
    assert defaults() == [DEFAULT_METHOD]
    (folder / "queries.jsonl").write_text(json.dumps(QUESTION))
    assert defaults() == ["bm25", "dense", "hybrid", "passage_walk", "evidence"]
    (folder / "queries.jsonl").unlink()
    (folder / "corpus.toml").write_text('[questions]\nn = 1\ndescription = "Boats."\n')
    assert defaults() == ["bm25", "dense", "hybrid", "passage_walk", "evidence"]
    (folder / "corpus.toml").write_text('methods = ["gor", "lightpal"]\n')
    assert defaults() == ["gor", "lightpal"]
