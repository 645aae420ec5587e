"""Entity types and a prompt, proposed from a sample."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.tune import Survey, TuningError, propose, sample
from gsum_assets.pipeline.prompts import PromptFolder, prompt_text
from gsum_resources.protocols.models import Completion, CompletionError, Reply, Request
from tests.conftest import CORPUS
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at
from tests.servers.scripted import scripted_server

TEXTS = ["a line without names", "In May the Paper Heron left Tarnholt with Ines Brandt {aboard}."]


class Surveyor:
    """Proposes two types, and extracts nothing."""

    def __init__(self, *types: str) -> None:
        self.types, self.requests = types, []

    identity = structure = "surveyor"

    def complete(self, requests: Sequence[Request], on_reply: object = None) -> list[Reply]:
        self.requests += requests
        (request,) = requests
        assert request.schema
        reply = {"entities": [], "relationships": []}
        if request.schema is Survey:
            reply = {"subject": "Boats.", "entity_types": self.types, "not_entities": ["a {line}"]}
        return [Completion("", "surveyor", 1, 1, 0.0, request.schema.model_validate(reply))]


def test_types_example_and_negative_examples_are_those_of_the_corpus() -> None:
    model = Surveyor("Ship", "place", "other", "ship")
    proposal = propose(TEXTS, model)
    assert proposal.entity_types == ["ship", "place"]
    assert model.requests[1].passages == (TEXTS[1],)  # it has the names
    prompt = proposal.prompt.format(types="ship, place", claims="", example="")
    assert prompt.startswith("The passages are about this: Boats.")
    assert f'An example: "{TEXTS[1]}" gives\n{{"entities": [], "relationships": []}}' in prompt
    assert 'In these texts also not: "a {line}".' in prompt
    assert "Corley" not in prompt
    assert PROMPTS.built_in["extract"].text.splitlines()[0] in prompt


def test_nothing_to_propose_is_an_error() -> None:
    with pytest.raises(TuningError, match="no type of entities"):
        propose(TEXTS, Surveyor("other"))
    with pytest.raises(TuningError, match="no passages"):
        propose([], Surveyor("ship"))

    class Silent(Surveyor):
        def complete(self, requests: Sequence[Request], on_reply: object = None) -> list[Reply]:
            return [CompletionError("the server is away", "silent")]

    with pytest.raises(TuningError, match="the server is away"):
        propose(TEXTS, Silent())


def test_sample_is_of_as_many_documents_as_there_are() -> None:
    rows = [
        {"document_id": f"d{i % 3}", "chunk_id": f"c{i}", "text": f"d{i % 3}"} for i in range(30)
    ]
    assert sorted(sample(pa.Table.from_pylist(rows), 6)) == ["d0", "d0", "d1", "d1", "d2", "d2"]


@pytest.mark.slow
def test_command_prints_a_proposal_and_writes_its_prompt_once(tmp_path: Path) -> None:
    with house_at(tmp_path) as house, scripted_server(tmp_path / "requests.jsonl") as server:
        house.write_document("a")
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        tune = ["tune", CORPUS]
        assert "has no passages yet" in CliRunner().invoke(main, tune).output
        assert house.run(["bm25"]).errors == []
        assert "set a language model" in CliRunner().invoke(main, tune).output
        (tmp_path / "gsum.toml").write_text(
            '[llm]\nbackend = "openai_compatible"\nmodel = "scripted"\napi_key_env = ""\n'
            f'base_url = "{server.base_url}"\n'
        )
        said = CliRunner().invoke(main, tune)
        assert said.exit_code == 0, said.output
        assert "[graphrag.extraction]\nentity_types = [" in said.output
        file = house.folder / "prompts" / "graphrag" / "extract.md"
        assert not file.exists()
        assert CliRunner().invoke(main, [*tune, "--write"]).exit_code == 0
        assert file.read_text() in f"{said.output}\n"
        assert "exists" in CliRunner().invoke(main, [*tune, "--write"]).output
        folders = [PromptFolder(house.folder)]
        used = prompt_text({"graphrag": PROMPTS}, "graphrag", "extract", folders, "en")
        assert used == file.read_text().strip()
