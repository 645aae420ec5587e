"""Index and every method as assets: which requests a change, a bad reply or a given graph costs."""

import json
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.models.by_work import Models
from gsum_resources.settings.schema import Settings
from gsum_resources.store.arrow import pc
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House, document_in
from tests.evaluation.judges.scripted_judges import judging
from tests.families.small import DOCUMENTS, SMALL, furnish, home_of
from tests.fast_runs import without_records
from tests.graphrag.test_given_communities import PACKAGE_INDEX
from tests.models import HashEmbedder
from tests.pipeline.homes import (
    WITHOUT_BERTSCORE,
    contents,
    copy_of,
    emptied_copy_of,
    house_at,
    requests_by_asset,
    write_lines,
)
from tests.servers.replies import wanted_schema
from tests.servers.scripted import scripted_server
from tests.tales import PEOPLE, PLACES

pytestmark = pytest.mark.slow

NEW = document_in(6)
METHODS = list(SMALL["graphrag"].methods)
INDEX = [name for name in TABLES if name.startswith("graphrag.") and name != "graphrag.embeddings"]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with home_of("graphrag", tmp_path_factory.mktemp("communities")) as house:
        yield house


@pytest.fixture
def changeable(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        yield house


def test_every_table_is_filled(indexed: House) -> None:
    assert [name for name in INDEX if not indexed.table(name).num_rows] == []


def test_answer_cost_is_the_sum_of_its_steps(indexed: House) -> None:
    partial = Counter(
        (row["method"], row["query_id"])
        for row in indexed.table("graphrag.partial_answers").to_pylist()
    )
    assert partial["graphrag-ts", "all"] > 1
    rows = indexed.table("graphrag.reduced_contexts").to_pylist()
    helped = {(row["method"], row["query_id"]) for row in rows if row["fate"] == "kept"}
    for row in indexed.table("summaries").to_pylist():
        asked = row["method"], row["query_id"]
        assert row["calls"] == partial[asked] + (asked in helped)


def test_given_graph_is_not_extracted_again(changeable: House) -> None:
    house, graph = changeable, changeable.folder / "graph"
    graph.mkdir()
    named = {"title": PEOPLE[:3], "type": ["person"] * 3, "description": ["A skipper."] * 3}
    ends = {"source": PEOPLE[:1], "target": PEOPLE[1:2], "description": ["They met."]}
    pq.write_table(pa.table(named), graph / "entities.parquet")
    pq.write_table(pa.table(ends), graph / "relationships.parquet")
    counts = requests_by_asset(house)
    written = set(house.run().written)
    assert "graphrag/extractions" in written
    assert not written & {"chunks", "documents"}
    counts = requests_by_asset(house) - counts
    assert counts["graphrag/extractions"] == counts["graphrag/entities"] == 0
    assert counts["graphrag/community_reports"] == 1  # of the two who met
    assert set(house.table("graphrag.entities")["name"].to_pylist()) == set(PEOPLE[:3])
    assert {name for name in failing(house) if name.startswith("graphrag")} == set()


def replied(body: dict) -> str | None:
    """A valid reply to a request for a report, points or an extraction."""
    fields = (wanted_schema(body) or {}).get("properties", {})
    if "findings" in fields:
        finding = {"summary": "They met.", "explanation": "At the jetty.", "references": [1]}
        report = {"title": "Jetty", "summary": "All.", "rating": 5, "findings": [finding]}
        return json.dumps(report)
    if "points" in fields:
        point = {"description": "The jetty at Tarnholt.", "score": 50, "references": [1]}
        return json.dumps({"points": [point]})
    if "entities" in fields:
        names = [n for n in (*PEOPLE, *PLACES) if n in body["messages"][1]["content"]]
        described = {"type": "concept", "description": "It is named."}
        met = [{"source": a, "target": b, "description": "Met."} for a, b in pairwise(names)]
        return json.dumps(
            {"entities": [{"name": n, **described} for n in names], "relationships": met}
        )
    return None


def test_malformed_reply_over_http_costs_its_window_and_is_requested_again(tmp_path: Path) -> None:
    ill = [True]

    def says(body: dict) -> str:
        fields = (wanted_schema(body) or {}).get("properties", {})
        if ill and "entities" in fields and "day 00" in body["messages"][1]["content"]:
            return '{"entities": [{"name": "Marit Olsen", "type": "person", "description": "A s'
        return replied(body) or "They met at the jetty."

    with (
        house_at(tmp_path / "home") as house,
        judging(tmp_path, says, max_repairs=0) as (model, server),
    ):
        furnish(house, "graphrag", DOCUMENTS[:2])
        house.model = model  # type: ignore[assignment]
        report: RunReport = house.run(["graphrag-c1"])
        assert not report.errors
        assert any("graphrag/extractions" in gap for gap in report.gaps)
        rows = house.table("graphrag.extractions")
        bad = rows.filter(pc.greater(pc.list_value_length(rows["problems"]), 0)).to_pylist()
        assert [row["document_id"] for row in bad] == [DOCUMENTS[0]]
        assert bad[0]["n_rounds"] == 0
        # a document is one window here, whose first chunk has its cost and problems
        named = {row["document_id"] for row in rows.to_pylist() if row["n_entities"]}
        assert named == {DOCUMENTS[1]}
        assert "graphrag/extractions:requests_answered" in failing(house)
        counts, n_requests = requests_by_asset(house), len(server.lines("/chat/completions"))
        ill.clear()
        assert house.run(["graphrag-c1"]).is_complete
        counts = requests_by_asset(house) - counts
        assert sum(counts.values()) == len(server.lines("/chat/completions")) - n_requests
        rows = house.table("graphrag.extractions").to_pylist()
        (repaired,) = (row for row in rows if row["chunk_id"] == bad[0]["chunk_id"])
        assert counts["graphrag/extractions"] == repaired["calls"] == repaired["n_rounds"]
        assert {name for name in failing(house) if name.startswith("graphrag/extr")} == set()


def test_mode_fast_requests_reports_and_answers_alone(tmp_path: Path) -> None:
    said: list[str] = []

    def says(body: dict) -> str:
        fields = (wanted_schema(body) or {}).get("properties", {})
        said.append("report" if "findings" in fields else "other")
        return (replied(body) if "findings" in fields else None) or "They met at the jetty [1]."

    with (
        house_at(tmp_path / "home") as house,
        scripted_server(tmp_path / "requests.jsonl", says) as server,
    ):
        furnish(house, "graphrag", DOCUMENTS[:2])
        served = {"backend": "openai_compatible", "model": "m", "api_key_env": ""}
        settings = {
            "llm": served | {"base_url": server.base_url},
            "models": {"extraction": {"backend": "extractive"}},
        }
        local = {"embedding_model": house.embedder, "passage_scorer": house.scorer}
        models = Models(Settings.model_validate(settings), house.store, TABLES["llm_calls"], local)
        pipeline = pipeline_for(house.home, models, house.presented)
        with house.instance() as instance, without_records():
            assert not refresh(pipeline, instance, CORPUS, ["graphrag-c1"]).errors
        assert house.table("graphrag.extractions")["model"].unique().to_pylist() == ["extractive"]
        counts = requests_by_asset(house)
        reports = house.table("graphrag.community_reports")
        assert 0 < reports.num_rows == said.count("report")
        assert set(reports["title"].to_pylist()) == {"Jetty"}
        sent = server.lines("/chat/completions")
        answers = {"graphrag/partial_answers", "graphrag/summaries"}
        assert len(sent) == sum(
            n for name, n in counts.items() if name in {"graphrag/community_reports", *answers}
        )


@pytest.mark.usefixtures("only_tables_here")
def test_imported_index_is_answered_without_further_requests(
    tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with house_at(tmp_path / "home") as house:
        house.model = ExtractiveModel(HashEmbedder())  # type: ignore[assignment]
        house.folder.rmdir()
        import_benchmark("graphrag", PACKAGE_INDEX, house.home.corpora, CORPUS)
        settings = house.folder / "corpus.toml"
        settings.write_text(f"{settings.read_text()}{WITHOUT_BERTSCORE}")
        question = {"query_id": "q", "text": "Who paid for the coal?", "references": ["The trust."]}
        write_lines(house.folder / "queries.jsonl", [question])
        assert house.run(METHODS).errors == []
        assert {name for name in failing(house) if name.startswith("graphrag")} == set()
        assert house.table("graphrag.community_reports").num_rows == 8
        asked = {name for name in requests_by_asset(house) if name.startswith("graphrag")}
        assert asked <= {"graphrag/summaries", "graphrag/partial_answers"}
        # of a deleted document nothing is left, and the other reports stay
        documents = house.folder / "documents.jsonl"
        lines = documents.read_text().splitlines(keepends=True)
        documents.write_text("".join(line for line in lines if '"mill"' not in line))
        assert house.run(METHODS).is_complete
        titles = house.table("graphrag.community_reports")["title"].to_pylist()
        assert sorted(set(titles)) == [
            "Councillor Marsh and Ida Brandt",
            "Minna Orme and Norrick",
            "Norrick Trust and Coal Dispute",
        ]
        with emptied_copy_of(house, tmp_path_factory.mktemp("anew")) as fresh:
            assert fresh.run(METHODS).is_complete
            assert contents(fresh) == contents(house)
