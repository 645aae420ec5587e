"""An edited prompt rewrites its outputs, and nothing else."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.answering.workspace import open_workspace
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import Settings
from gsum_resources.store.appended import read_appended
from tests.conftest import CORPUS, House
from tests.models import FirstWords
from tests.pipeline.homes import furnish, house_at, requests_by_asset

pytestmark = pytest.mark.usefixtures("only_tables")
METHODS = ["bm25", "readagent"]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Three documents and two questions."""
    with house_at(tmp_path) as house:
        furnish(house)
        yield house


def put(house: House, name: str, text: str, for_all: bool = False) -> None:
    file = (house.home.root if for_all else house.folder) / "prompts" / name
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


@pytest.mark.slow
def test_edited_prompt_rewrites_its_outputs(house: House) -> None:
    assert house.run(METHODS).is_complete
    assert not house.home.catalogue.exists()  # nothing but tables is written
    before = requests_by_asset(house)

    put(house, "jerr/gist.md", "Say it in {max_words} words.")
    assert set(house.run().written) == {"jerr/pages"}
    after = requests_by_asset(house)
    assert after["jerr/pages"] > before["jerr/pages"]
    assert {asset for asset in after if after[asset] > before[asset]} == {"jerr/pages"}

    tables = ("summaries", "answer_sources")
    answers = {f"{family}/{table}" for family in ("retrieval", "jerr") for table in tables}
    put(house, "answers/answer.md", "Answer in {max_words} words.", for_all=True)
    assert set(house.run().written) == answers

    put(house, "answers/answer.md", "Answer in {max_word} words.")
    with pytest.raises(CorpusError, match=r"answer.md: unknown placeholder \{max_word\}"):
        ask(
            open_workspace(house.home, house.pipeline().workspace.models),
            CORPUS,
            "Who met the boat?",
        )
    assert not house.run().is_complete

    put(house, "answers/answer.md", "Answer in {max_words} words.")  # as in the home
    assert not set(house.run().written) - answers
    n_before = requests_by_asset(house)["ask"]
    ask(open_workspace(house.home, house.pipeline().workspace.models), CORPUS, "Who met the boat?")
    put(house, "answers/answer.md", "Answer briefly in {max_words} words.")
    ask(open_workspace(house.home, house.pipeline().workspace.models), CORPUS, "Who met the boat?")
    assert requests_by_asset(house)["ask"] == n_before + 2


def test_corpus_language_is_part_of_writing_prompts(house: House) -> None:
    def prompt(name: str) -> str:
        return open_workspace(house.home).section(CORPUS, f"prompts.jerr.{name}")

    built_in = prompt("gist"), prompt("pause")
    (house.folder / "corpus.toml").write_text('language = "fi"\n')
    assert (prompt("gist"), prompt("pause")) == (f"{built_in[0]} Write in Finnish.", built_in[1])


@pytest.mark.slow
def test_model_for_one_task_rewrites_only_the_outputs_of_that_task(house: House) -> None:
    def run_with(**tasks: FirstWords) -> RunReport:
        given = {"embedding_model": house.embedder, "language_model": house.model, **tasks}
        models = Models(Settings(), house.store, TABLES["llm_calls"], given)  # type: ignore[arg-type]
        with house.instance() as instance:
            return refresh(pipeline_for(house.home, models), instance, CORPUS, ["bm25"])

    assert run_with().is_complete
    assert not run_with(reports=FirstWords("writer"), extraction=FirstWords("reader")).steps
    assets = set(run_with(answers=FirstWords("speaker")).written)
    assert {"retrieval/summaries", "retrieval/scores"} <= assets
    assert not assets & {"documents", "chunks", "retrieval/rankings", "retrieval/contexts"}
    assert set(house.table("summaries")["model"].to_pylist()) == {"speaker"}
    calls = read_appended(house.store, TABLES["llm_calls"], CORPUS).to_pylist()
    assert {row["model"] for row in calls} == {"first-words", "speaker"}
    assert not run_with(answers=FirstWords("speaker")).steps
