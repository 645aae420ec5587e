"""A corpus whose questions are written and whose answers are judged by a model behind a socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import Pipeline, pipeline_for, refresh
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import JudgeSettings, LlmSettings, Settings
from tests.checks.indexed import evaluations
from tests.conftest import House
from tests.evaluation.judges.scripted_judges import texts_of, verdict
from tests.evaluation.test_questions import writer
from tests.models import HashEmbedder
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of, house_at, write_lines
from tests.servers.replies import text_for, wanted_schema
from tests.servers.scripted import ScriptedServer, scripted_server

pytestmark = pytest.mark.slow

METHODS = ["bm25", "random"]
SETTINGS = f"""
{WITHOUT_BERTSCORE}[answer]
max_words = 20
[retrieval]
k = 1
[questions]
n = 2
description = "Tales of a river town."
[judges]
methods = ["bm25", "random"]
max_questions = 9
"""
LOG = "The boat came late. The lamp went out. Nobody paid. " * 60


def replies(body: dict) -> str:
    """Reply with answers, questions, and verdicts for the answer shown first."""
    schema = wanted_schema(body)
    if schema is None:
        said = body["messages"][-1]["content"]
        return text_for(said, str(sum(said.encode())))
    if "mark" not in schema["properties"]:
        return writer(body)
    return verdict(body, winner=1 if len(texts_of(body)) > 1 else 0, rating=4)


def pipeline(house: House, server: ScriptedServer, judge: str) -> Pipeline:
    served = {"base_url": server.base_url, "api_key_env": "", "max_retries": 1}
    llm = LlmSettings(backend="openai_compatible", model="writer", **served)
    judging = JudgeSettings(backend="openai_compatible", model=judge, **served)
    settings = Settings(llm=llm, judge=judging)
    overrides = {"embedding_model": HashEmbedder()}
    return pipeline_for(house.home, Models(settings, house.store, TABLES["llm_calls"], overrides))


def run(
    house: House, server: ScriptedServer, methods: list[str] | None = None, judge: str = "judge"
) -> RunReport:
    with house.instance() as instance:
        return refresh(pipeline(house, server, judge), instance, "tales", methods)


@pytest.fixture(scope="module")
def done(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[House, ScriptedServer]]:
    root = tmp_path_factory.mktemp("judged")
    with house_at(root) as house, scripted_server(root / "requests.jsonl", replies) as server:
        house.write_document("log", LOG)
        write_lines(house.folder / "queries.jsonl", [{"text": "Why so late?", "references": ["?"]}])
        (house.folder / "corpus.toml").write_text(SETTINGS)
        report = run(house, server, METHODS)
        assert report.is_complete, [*report.errors, *report.gaps]
        yield house, server


def test_questions_are_generated_answers_judged_and_nothing_requested_twice(
    done: tuple[House, ScriptedServer],
) -> None:
    house, server = done
    queries = house.table("queries").to_pylist()
    assert [q["split"] for q in queries].count("generated") == 8
    verdicts = house.table("judgements").to_pylist()
    assert {row["model"] for row in verdicts if row["verdict"] != "tie"} == {"judge"}
    pairs = [row for row in verdicts if row["judge"] == "pairwise" and row["model"]]
    assert pairs
    assert {row["first"] == row["method"] for row in pairs if row["verdict"] == "win"} == {True}
    board = house.table("leaderboard").to_pylist()
    grades = [row for row in board if row["metric"] == "g_eval_relevance"]
    assert {row["mean"] for row in grades} == {4.0}
    overall = [row for row in house.table("win_rates").to_pylist() if row["criterion"] == "overall"]
    assert {(row["method"], row["win_rate"]) for row in overall} == {("bm25", 0.5), ("random", 0.5)}
    assert {row["disagreement"] for row in overall} == {1.0}  # a judge with position bias
    with house.instance() as instance:
        checks = {f"{e.asset_key.path[-1]}:{e.check_name}": e.passed for e in evaluations(instance)}
    assert not checks["judgements:no_position_bias"]
    n_before = len(server.lines("/chat/completions"))
    assert run(house, server).steps == []
    house.write_document("log", LOG + "\n\n")
    assert not run(house, server).errors
    assert len(server.lines("/chat/completions")) == n_before


def test_judge_without_verdict_is_counted(
    done: tuple[House, ScriptedServer], tmp_path: Path
) -> None:
    def no_verdict(body: dict) -> str:
        is_judgement = "mark" in (wanted_schema(body) or {}).get("properties", {})
        return "Both are fine, I would say." if is_judgement else replies(body)

    with copy_of(done[0], tmp_path) as house:
        with scripted_server(tmp_path / "mute.jsonl", no_verdict) as mute:
            report = run(house, mute, judge="mute")
        assert not report.errors
        (gap,) = [gap for gap in report.gaps if gap.startswith("judgements")]
        assert "no valid reply" in gap
        rows = house.table("judgements").to_pylist()
        assert {row["verdict"] for row in rows if row["model"]} == {"unparsed"}
        assert {row["value"] for row in rows if row["verdict"] == "unparsed"} == {None}
        rates = house.table("win_rates").to_pylist()
        assert {row["n"] for row in rates if row["unparsed"] and not row["ties"]} <= {0}
        assert sum(row["unparsed"] for row in rates) > 0
