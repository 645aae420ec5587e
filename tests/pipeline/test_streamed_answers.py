"""Answers of a served model over stored tables: streamed, cited, and refused where it says so."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import ask
from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.models.by_work import Models
from tests.conftest import CORPUS, House
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.servers.scripted import scripted_server

pytestmark = pytest.mark.slow
METHODS = ["dense", "graphrag-local"]
STATED = "The council agreed to repair the roof of the hall."
TEXT = f"{STATED} Ruth Adeyemi found eleven cracked slates. Tom Varga asked three firms. "


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("streamed")) as house:
        house.write_document("minutes", TEXT * 6)
        write_lines(house.folder / "queries.jsonl", [{"query_id": "q", "text": "Who?"}])
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        assert house.run(METHODS).errors == []
        yield house


def answer_of(house: House, log: Path, method: str, reply: str) -> tuple[Answer, str]:
    """The answer to one question, and what of it was streamed."""
    pieces: list[str | None] = []
    with scripted_server(log, lambda body: reply) as server:
        (house.home.root / "gsum.toml").write_text(
            '[llm]\nbackend = "openai_compatible"\nmodel = "scripted"\napi_key_env = ""\n'
            f'base_url = "{server.base_url}"\n'
        )
        models = Models(
            house.home.settings(),
            house.store,
            TABLES["llm_calls"],
            {"embedding_model": house.embedder},
            on_words=pieces.append,
        )
        workspace = Workspace(house.home, house.store, models)
        answer = ask(
            workspace, CORPUS, f"What did the council repair? ({method}{len(reply)})", method
        )
    return answer, "".join(piece for piece in pieces if piece)


@pytest.mark.parametrize("method", METHODS)
def test_cited_answer_is_streamed_with_numbers_and_a_refusal_recognized(
    indexed: House, tmp_path: Path, method: str
) -> None:
    reply = f"{STATED} [1] The moon is made of cheese. [1]"
    answer, streamed = answer_of(indexed, tmp_path / "requests.jsonl", method, reply)
    assert streamed == reply
    stated, invented = [s for line in answer.lines for s in line.sentences]
    assert stated.numbers
    assert TEXT.count(answer.sources[stated.numbers[0] - 1].text[:30])
    assert not invented.numbers  # named, and not supported
    assert invented.unsupported == [1]
    assert not answer.is_refusal
    reply = "UNANSWERED The passages do not say what was repaired."
    answer, _ = answer_of(indexed, tmp_path / "requests.jsonl", method, reply)
    assert answer.is_refusal
    assert "UNANSWERED" not in answer.text
