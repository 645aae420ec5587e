"""`gsum plan`: its estimates match a server's counts, and it changes nothing."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.definitions import pipeline_for
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.plan import Plan, plan
from gsum_assets.planning.plan_lines import EARLIER, ESTIMATE, Spoken, call_line
from gsum_assets.runner.run import refresh
from gsum_resources.llm.stub_model import STUB, Recalled
from gsum_resources.models.by_work import Models
from gsum_resources.models.stub_models import LetterHashes
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import LlmSettings, Settings
from gsum_resources.state.database import state_of
from gsum_resources.store.appended import read_appended
from tests.conftest import CORPUS, House, document_in, keep_no_step_logs
from tests.models import FirstWords
from tests.pipeline.homes import BAD, WITHOUT_BERTSCORE, house_at, write_lines
from tests.servers.extractive import extractive_says
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
NEAR = 0.15
METHODS_ASKED = ["gor", "gae", "graphrag-c0"]
_SMALL = f"""{WITHOUT_BERTSCORE}
[chunking]
max_tokens = 60
[retrieval]
k = 2
[answer]
max_words = 30
[gor.simulation]
n_queries = 3
[gor.training]
epochs = 2
[gae.training]
epochs = 2
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
    """Two tales and four questions."""
    with house_at(tmp_path / "home") as house:
        for document_id, text in TALES.items():
            house.write_document(document_id, text)
        texts = ["What broke?", "Who paid, and for what?", "What did the council promise?"]
        rows = [
            {"query_id": f"q{i}", "text": text, "references": ["It."]}
            for i, text in enumerate(texts)
        ]
        write_lines(house.folder / "queries.jsonl", rows)
        (house.folder / "corpus.toml").write_text(_SMALL)
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
        (house.home.root / "gsum.toml").write_text(
            '[llm]\nbackend = "openai_compatible"\nmodel = "scripted"\napi_key_env = ""\n'
            f'base_url = "{server.base_url}"\n'
            "usd_per_million_tokens_in = 2.0\nusd_per_million_tokens_out = 6.0\n"
        )
        yield server


def spent_in_a_run(
    house: House, server: ScriptedServer, methods: list[str]
) -> tuple[int, int, float]:
    """Calls and tokens that the server counts, and the money that the ledger does."""
    with house.instance() as instance:
        pipeline = pipeline_for(house.home, models_of(house), presented=False)
        report = refresh(pipeline, instance, CORPUS, methods)
    assert report.is_complete, report
    lines = server.lines("/chat/completions")
    usd = sum(call["cost_usd"] for call in paid_calls(house))
    return len(lines), sum(line["tokens"] for line in lines), usd


def paid_calls(house: House) -> list[dict]:
    """Return the calls of the ledger that the memo did not answer, in order."""
    rows = read_appended(house.store, TABLES["llm_calls"], CORPUS).sort_by("time").to_pylist()
    return [row for row in rows if not row["cached"]]


def figures(found: Plan) -> tuple[int, int, float]:
    total = found.total()
    return total.n, total.tokens_in + total.tokens_out, total.usd


def test_plan_is_close_to_the_first_run(house: House, tmp_path: Path) -> None:
    with served(house, tmp_path / "log.jsonl") as server:
        found = planned(house, METHODS_ASKED)
        assert server.lines() == []
        spent = spent_in_a_run(house, server, METHODS_ASKED)
    assert spent[0] > 20
    assert figures(found) == pytest.approx(spent, rel=NEAR)
    stages = {line.asset: line.stage for line in found.lines}
    index = {asset for asset, stage in stages.items() if stage == "index"}
    assert index == {
        "gor/simulated_queries",
        "gor/historical_responses",
        "graphrag/extractions",
        "graphrag/community_reports",
    }
    assert {f"{family}/summaries" for family in ("gor", "gae", "graphrag")} <= (
        stages.keys() - index
    )
    assert found.n_questions == 3


def test_a_plan_trains_no_network(house: House, monkeypatch: pytest.MonkeyPatch) -> None:
    def trained(*_: object) -> None:
        raise AssertionError("a network is trained")

    monkeypatch.setattr("gsum_assets.gor.index.trained_tables", trained)
    monkeypatch.setattr("gsum_assets.gor.index.token_embedder", trained)
    names = {line.asset for line in planned(house, ["gor"]).lines}
    assert {"gor/simulated_queries", "gor/historical_responses", "gor/summaries"} <= names


def test_current_assets_cost_nothing_and_an_edit_its_own_questions(changeable: House) -> None:
    """`FirstWords` counts its requests; the dry run uses another model."""

    def planned_by_first_words() -> Plan:
        overrides = {"embedding_model": changeable.embedder, "language_model": FirstWords()}
        models = Models(Settings(), changeable.store, TABLES["llm_calls"], overrides)
        return planned(changeable, models=models)

    current = planned_by_first_words()
    assert current.is_current
    assert figures(current) == (0, 0, 0)
    changeable.write_document(BAD, f"A lamp met {BAD}. " * 20)
    edited = planned_by_first_words()
    n_before, ledger_before = changeable.model.n_requests, len(paid_calls(changeable))
    assert changeable.run().is_complete
    assert edited.total().n == changeable.model.n_requests - n_before == 1  # of two questions
    (call,) = paid_calls(changeable)[ledger_before:]
    assert edited.total().tokens_in == call["tokens_in"]


def spoken_in(pairs: list[tuple[int, int]]) -> Spoken:
    """Earlier calls of so many tokens in and out."""
    read, said = (sum(part) for part in zip(*pairs, strict=True))
    squares, products = sum(x * x for x, _ in pairs), sum(x * y for x, y in pairs)
    return Spoken(len(pairs), read, said, squares, products, max(y for _, y in pairs))


TERSE = spoken_in([(130, 70)] * 19)


def test_longer_prompt_has_a_longer_reply_as_before() -> None:
    half = spoken_in([(100, 60), (300, 160), (200, 110)])
    assert half.replies_to(4, 4 * 140) == 4 * 80
    assert half.replies_to(2, 2 * 9000) == 2 * 160  # as long as the longest, and no longer
    assert half.replies_to(1, 0) == 10
    assert TERSE.replies_to(3, 3 * 9000) == 3 * 70  # prompts of one length say nothing about others


def test_token_estimates_are_corrected_by_earlier_counts() -> None:
    """Ten requests of 100 estimated tokens each, of which a server counts 130."""
    call = {"cached": False, "model": STUB, "tokens_in": 100, "tokens_out": 5, "cost_usd": 0}
    rows = [call] * 10 + [call | {"cached": True}] * 4
    settings = LlmSettings(
        backend="openai_compatible",
        model="m",
        usd_per_million_tokens_in=1.0,
        usd_per_million_tokens_out=10.0,
    )
    plain = call_line("a", "index", rows, Recalled(), Spoken(), settings)
    assert (plain.n, plain.from_memo, plain.tokens_in, plain.tokens_out) == (10, 4, 1000, 50)
    assert (plain.tokens_in_from, plain.tokens_out_from) == (ESTIMATE, ESTIMATE)
    assert plain.usd == pytest.approx((1000 + 500) / 1e6)
    few = call_line("a", "index", rows, Recalled(19, 19, 1300, 1000), TERSE, settings)
    assert few == plain
    recalled, spoken = Recalled(20, 24, 2600, 2000), TERSE + TERSE
    known = call_line("a", "index", rows, recalled, spoken, settings)
    assert (known.n, known.tokens_in, known.tokens_out) == (12, 1300, 700)
    assert (known.tokens_in_from, known.tokens_out_from) == (EARLIER, EARLIER)
    assert known.usd == pytest.approx((1300 + 7000) / 1e6)


def test_without_questions_only_the_index_is_planned(house: House, tmp_path: Path) -> None:
    (house.folder / "queries.jsonl").unlink()
    with served(house, tmp_path / "log.jsonl"):
        found = planned(house, ["thought-retriever"])
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


def test_several_corpora_are_planned_and_added_up(house: House, tmp_path: Path) -> None:
    shutil.copytree(house.folder, house.home.corpora / "other")
    with served(house, tmp_path / "log.jsonl"):
        corpora = [CORPUS, "nowhere", "other"]
        result = CliRunner().invoke(main, ["plan", *corpora, "--methods", "bm25"])
        plans = [plan(house.home, corpus, ["bm25"]).total() for corpus in (CORPUS, "other")]
    assert result.exit_code == 1  # because of the unknown one
    said = " ".join(result.output.split())
    assert "Error: corpus 'nowhere' does not exist" in said
    assert said.count("each of 3 questions") == 2
    tokens = sum(one.tokens_in for one in plans), sum(one.tokens_out for one in plans)
    assert f"all 2 corpora: 6 calls, {tokens[0]:,} tokens in, {tokens[1]:,} out, USD 0.0" in said
    assert said.endswith(f"next: gsum run {CORPUS} other --methods bm25")
    named = CliRunner().invoke(main, ["plan"])
    assert (named.exit_code, "name a CORPUS to plan; available: " in named.output) == (2, True)


def test_command_names_mistakes_and_prints_the_plan(house: House, tmp_path: Path) -> None:
    def said(*arguments: str) -> str:
        result = CliRunner().invoke(main, ["plan", *arguments])
        assert "Traceback" not in result.output
        return f"{result.exit_code} {' '.join(result.output.split())}"

    assert said("nowhere").startswith("1 Error: corpus")
    assert f"not exist in {house.home.corpora}; known: {CORPUS}" in said("nowhere")
    assert "unknown method 'bm26'; did you mean" in said(CORPUS, "--methods", "bm26")
    with served(house, tmp_path / "log.jsonl") as server:
        found = said(CORPUS, "--methods", "bm25")
        assert server.lines() == []
    assert found.startswith("0 ")
    assert "retrieval/summaries │ query │ 3 calls" in found
    assert "each of 3 questions" in found
    assert found.endswith(f"next: gsum run {CORPUS} --methods bm25")
