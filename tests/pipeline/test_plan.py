"""`gsum plan`: its estimates are near a server's counts, and it changes nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.estimate import Requests
from gsum_assets.planning.plan import Earlier, Line, Plan, filled, plan
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import Settings
from gsum_resources.state.database import MemoryStore, state_of
from tests.conftest import CORPUS, House, document_in, keep_no_step_logs
from tests.models import FirstWords, LetterHashes
from tests.pipeline.homes import BAD, WITHOUT_BERTSCORE, house_at, write_lines
from tests.servers.extractive import extractive_says
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
SAMPLE = Path(__file__).parents[2] / "data" / "corpora" / "sample-meetings"
NEAR = 0.2
METHODS_ASKED = ["bm25", "random", "jerr"]
SERVED = """[llm]
backend = "openai_compatible"
model = "scripted"
api_key_env = ""
base_url = "{}"
usd_per_million_tokens_in = 2.0
usd_per_million_tokens_out = 6.0
"""
TALES = {
    document_in(0): "The ferry broke its pump in March. Ann ordered a new pump from the yard at "
    "Quarry Landing. The yard asked for nine hundred pounds and six weeks. Bob paid the yard in "
    "April out of the winter fund. The ferry sailed again in May with a full deck of walkers. "
    "The harbour board thanked Ann for her patience with the yard.",
    document_in(3): "The library closed its reading room when the roof leaked. Cleo counted forty "
    "ruined books on the lower shelves. Dan carried the dry books to Quarry Landing. The "
    "council promised a slate roof before the autumn storms. Cleo opened a reading corner beside "
    "the climbing ropes. Children read more there than they ever did in the old room.",
}


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """Two tales and three questions."""
    with house_at(tmp_path / "home") as house:
        for document_id, text in TALES.items():
            house.write_document(document_id, text)
        texts = ["What broke?", "Who paid, and for what?", "What did the council promise?"]
        rows = [
            {"query_id": f"q{i}", "text": text, "references": ["It."]}
            for i, text in enumerate(texts)
        ]
        write_lines(house.folder / "queries.jsonl", rows)
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        keep_no_step_logs(house.home)
        yield house


def models_of(house: House) -> Models:
    """Those of `gsum.toml`, with an embedder that is loaded in no time."""
    overrides = {"embedding_model": house.embedder}
    return Models(house.home.settings(), house.store, TABLES["llm_calls"], overrides)


def planned(house: House, methods: list[str] | None = None, models: Models | None = None) -> Plan:
    """A plan; that it wrote nothing is checked each time."""
    before = stamps(house.home.root), list(state_of(house.store).texts())
    found = plan(house.home, CORPUS, methods, models=models or models_of(house))
    assert (stamps(house.home.root), list(state_of(house.store).texts())) == before
    return found


def stamps(root: Path) -> dict[str, tuple[int, int]]:
    """Time and size of every file but the database, whose rows are compared."""
    return {
        str(path): (path.stat().st_mtime_ns, path.stat().st_size)
        for path in root.rglob("*")
        if path.is_file() and not path.name.startswith("state.db")
    }


@contextmanager
def served(house: House, log: Path) -> Iterator[ScriptedServer]:
    """A server that replies as the extractive model does, with a price."""
    with scripted_server(log, extractive_says(LetterHashes())) as server:
        (house.home.root / "gsum.toml").write_text(SERVED.format(server.base_url))
        yield server


def spent_in_a_run(house: House, server: ScriptedServer) -> tuple[int, int]:
    """Calls and tokens that the server counts."""
    before = len(server.lines("/chat/completions"))
    with house.instance() as instance:
        pipeline = pipeline_for(house.home, models_of(house), presented=False)
        report = refresh(pipeline, instance, CORPUS, METHODS_ASKED)
    assert report.is_complete, report
    lines = server.lines("/chat/completions")[before:]
    return len(lines), sum(line["tokens"] for line in lines)


def figures(found: Plan) -> tuple[int, int]:
    total = found.total()
    return total.n, total.tokens_in + total.tokens_out


def test_plan_is_near_to_the_first_run_and_to_an_edit(house: House, tmp_path: Path) -> None:
    shutil.rmtree(house.folder)
    shutil.copytree(SAMPLE, house.folder)
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
    with served(house, tmp_path / "log.jsonl") as server:
        found = planned(house, METHODS_ASKED)
        assert server.lines() == []
        assert figures(found) == pytest.approx(spent_in_a_run(house, server), rel=NEAR)
        assert {line.asset: line.stage for line in found.lines} == {
            "jerr/synopses": "index",
            "retrieval/summaries": "query",
            "jerr/summaries": "query",
        }
        assert not any(line.is_known for line in found.lines)
        assert found.n_questions == 39
        edited = house.folder / "07-the-hatch.txt"
        edited.write_text(edited.read_text().replace("hatch", "trapdoor"))
        found = planned(house, METHODS_ASKED)
        assert figures(found) == pytest.approx(spent_in_a_run(house, server), rel=0.5)
        assert {line.asset for line in found.lines if line.is_known} >= {"retrieval/summaries"}
        assert planned(house).is_current
        settings = house.folder / "corpus.toml"
        settings.write_text(f"{settings.read_text()}\n[answer]\nmax_words = 50\n")
        found = planned(house)
    assert {line.asset for line in found.lines} == {"retrieval/summaries", "jerr/summaries"}
    assert all(line.is_most for line in found.lines)  # the texts may turn out to be equal


def test_what_is_current_costs_nothing_and_an_edit_its_own_questions(changeable: House) -> None:
    def planned_by_first_words() -> Plan:
        overrides = {"embedding_model": changeable.embedder, "language_model": FirstWords()}
        models = Models(Settings(), changeable.store, TABLES["llm_calls"], overrides)
        return planned(changeable, models=models)

    current = planned_by_first_words()
    assert current.is_current
    assert figures(current) == (0, 0)
    changeable.write_document(BAD, f"A lamp met {BAD}. " * 20)
    edited = planned_by_first_words()
    n_before = changeable.model.n_requests
    assert changeable.run().is_complete
    assert edited.total().n == changeable.model.n_requests - n_before == 1  # of two questions


def test_requests_that_another_method_of_the_family_sends_count_in_part(
    house: House, tmp_path: Path
) -> None:
    """`gae-published` repeats 0.86 of the requests of `gae-reflection` for relevance."""
    with served(house, tmp_path / "log.jsonl"):
        plans = [planned(house, ["gae-reflection", *more]) for more in ([], ["gae-published"])]
    one, both = (
        sum(line.n for line in found.lines if line.asset == "gae/reflections") for found in plans
    )
    assert one == 30  # three questions, ten passages each
    assert both == pytest.approx(one * (2 - 0.86), abs=1)


def test_tokens_are_those_of_earlier_calls_where_they_are_many() -> None:
    settings = Settings.model_validate(
        {
            "llm": {
                "backend": "openai_compatible",
                "model": "m",
                "base_url": "http://127.0.0.1:1/v1",
                "usd_per_million_tokens_in": 1.0,
                "usd_per_million_tokens_out": 10.0,
            }
        }
    )
    models = Models(settings, MemoryStore(), TABLES["llm_calls"])
    line, requests, usual = (
        Line("a", "index", "answers"),
        Requests(10, 10, 1000, 50),
        Requests(20, 20, 1000, 100),
    )

    def with_earlier(n: int) -> Line:
        earlier = {("a", "m"): Earlier(n, 1.2, 130.0, 70.0)}
        return filled(line, models, requests, usual, 0, earlier)

    few = with_earlier(19)
    assert (few.n, few.tokens_in, few.tokens_out, few.is_known) == (10, 1000, 50, False)
    assert few.usd == pytest.approx((1000 + 500) / 1e6)
    many = with_earlier(20)  # these prompts are twice as long as usual
    assert (many.n, many.tokens_in, many.tokens_out, many.is_known) == (12, 2600, 700, True)
    assert filled(line, models, Requests(), usual, 3, {}).tokens_in == 150


def test_without_questions_only_the_index_is_planned(house: House, tmp_path: Path) -> None:
    (house.folder / "queries.jsonl").unlink()
    with served(house, tmp_path / "log.jsonl"):
        found = planned(house, ["jerr-search"])
    assert found.n_questions == 0
    assert found.total("query").n == 0
    assert found.total("index").n > 0


def test_plan_of_a_new_home_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = Home(tmp_path, str(tmp_path / "warehouse"))
    (home.corpora / CORPUS).mkdir(parents=True)
    for document_id, text in TALES.items():
        (home.corpora / CORPUS / f"{document_id}.txt").write_text(text)
    before = sorted(tmp_path.rglob("*"))
    monkeypatch.setenv("GSUM_HOME", str(tmp_path))
    result = CliRunner().invoke(main, ["plan", CORPUS, "--methods", "bm25"])
    assert result.exit_code == 0, result.output
    assert "nothing to pay" in result.output
    assert sorted(tmp_path.rglob("*")) == before


def test_command_plans_several_corpora_and_names_mistakes(house: House, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["plan", *arguments])
        assert "Traceback" not in result.output
        return f"{result.exit_code} {' '.join(result.output.split())}"

    shutil.copytree(house.folder, house.home.corpora / "other")
    with served(house, tmp_path / "log.jsonl") as server:
        one = said(CORPUS, "--methods", "bm25")
        several = said(CORPUS, "nowhere", "other", "--methods", "bm25")
        assert server.lines() == []
        plans = [plan(house.home, corpus, ["bm25"]).total() for corpus in (CORPUS, "other")]
    assert one.startswith("0 ")
    assert "retrieval/summaries │ query │ 3 calls" in one
    assert one.endswith(f"next: gsum run {CORPUS} --methods bm25")
    assert several.startswith("1 ")  # because of the unknown one
    assert "Error: corpus 'nowhere' does not exist" in several
    assert several.count("each of 3 questions") == 2
    tokens = sum(one.tokens_in for one in plans), sum(one.tokens_out for one in plans)
    assert f"all 2 corpora: 6 calls, {tokens[0]:,} tokens in, {tokens[1]:,} out, USD 0.0" in several
    assert several.endswith(f"next: gsum run {CORPUS} other --methods bm25")
    assert "name a CORPUS to plan; available: " in said()
