"""Graph, clusters and every method as assets: materialized on request, and equal to a rebuild."""

import json
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.store.arrow import pc
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House, document_in, materialized_by, text_of
from tests.evaluation.judges.scripted_judges import judging
from tests.models import HashEmbedder
from tests.pipeline.homes import (
    WITHOUT_BERTSCORE,
    contents,
    copy_of,
    emptied_copy_of,
    house_at,
    write_lines,
)
from tests.servers.replies import wanted_schema

pytestmark = pytest.mark.slow

DOCUMENTS = [document_in(bucket) for bucket in range(6)]
NEW = document_in(6)
SETTINGS = f"""
{WITHOUT_BERTSCORE}[chunking]
max_tokens = 32
overlap_tokens = 0
[gae.training]
epochs = 5
dim = 8
[gae.clusters]
resolutions = [1.0, 3.0]
n_probes = 20
[gae.contexts]
k = 4
"""
TRAINED_STATE = {"gae/model[]", "gae/training_log[]", "gae/clusterings[]"}
METHODS = ["gae", "gae-no-graph", "gae-no-reflection"]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    """Six documents, a question about all of them and one about the first."""
    with house_at(tmp_path_factory.mktemp("clusters")) as house:
        house.model = ExtractiveModel(HashEmbedder())
        for number, document_id in enumerate(DOCUMENTS):
            house.write_document(document_id, text_of(document_id, 8 + number))
        (house.folder / "corpus.toml").write_text(SETTINGS)
        about = [("all", None, DOCUMENTS[:3]), ("first", DOCUMENTS[0], [])]
        write_lines(
            house.folder / "queries.jsonl",
            [
                {"query_id": query_id, "text": "Who met the Boat?"}
                | {"document_id": document_id, "references": ["A clerk."]}
                | {"relevant_document_ids": relevant}
                for query_id, document_id, relevant in about
            ],
        )
        assert house.run(METHODS).errors == []
        yield house


@pytest.fixture
def changeable(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        house.model = ExtractiveModel(HashEmbedder())
        yield house


def of_method(house: House, table: str, method: str) -> list[dict]:
    rows = house.table(table)
    return rows.filter(pc.equal(rows["method"], method)).to_pylist()


def test_every_method_ranks_refines_and_answers(indexed: House) -> None:
    for method in METHODS:
        assert {r["query_id"] for r in of_method(indexed, "rankings", method)} == {"all", "first"}
        refined = of_method(indexed, "gae.refined_contexts", method)
        read = of_method(indexed, "contexts", method)
        assert [(r["query_id"], r["node_id"]) for r in refined] == [
            (r["query_id"], r["node_id"]) for r in read
        ]
        assert len(of_method(indexed, "summaries", method)) == 2
    broken = {name for name in failing(indexed) if name.startswith("gae")}
    assert broken <= {"gae/clusterings:not_degenerate"}  # texts of twelve words are much alike


def test_ablations_leave_out_their_step(indexed: House) -> None:
    tables = {
        method: {
            table: of_method(indexed, f"gae.{table}", method) for table in ("topics", "reflections")
        }
        for method in METHODS
    }
    assert tables["gae"]["topics"]
    assert tables["gae"]["reflections"]
    assert not tables["gae-no-graph"]["topics"]
    assert tables["gae-no-graph"]["reflections"]
    assert not tables["gae-no-reflection"]["topics"]
    assert not tables["gae-no-reflection"]["reflections"]
    whole = of_method(indexed, "gae.refined_contexts", "gae-no-reflection")
    assert {row["fate"] for row in whole} == {"whole"}


def test_answer_cost_is_the_sum_of_its_steps(indexed: House) -> None:
    steps = ("gae.topics", "gae.reflections", "gae.refined_contexts")
    for method in ("gae", "gae-no-reflection"):
        before = sum(
            row["calls"]
            for table in steps
            for row in of_method(indexed, table, method)
            if row["query_id"] == "all"
        )
        (answer,) = (
            row for row in of_method(indexed, "summaries", method) if row["query_id"] == "all"
        )
        assert answer["calls"] == before + 1
        assert (before > 0) == (method == "gae")


def test_clusterings_are_scored_on_pairs_of_documents(indexed: House) -> None:
    rows = indexed.table("gae.clusterings").to_pylist()
    chosen = [(row["level"], row["scope"]) for row in rows if row["is_chosen"]]
    assert sorted(chosen) == [("document", "corpus"), ("node", "corpus"), ("node", "document")]
    recalls = {row["level"]: row["pair_recall"] for row in rows}
    assert recalls["document"] is not None
    assert recalls["node"] is None


@pytest.mark.usefixtures("only_tables_here")
def test_update_equals_rebuild(changeable: House, tmp_path_factory: pytest.TempPathFactory) -> None:
    house = changeable
    house.write_document(NEW, text_of(NEW, 5))
    house.write_document(DOCUMENTS[2], "A lamp met a clerk by the river. " * 20)
    (house.folder / f"{DOCUMENTS[4]}.txt").unlink()
    report = house.run(["gae"])
    assert report.is_complete
    assert not TRAINED_STATE & set(materialized_by(report))
    with emptied_copy_of(house, tmp_path_factory.mktemp("anew")) as fresh:
        for name in ("gae.model", "gae.training_log", "gae.clusterings"):
            shutil.copytree(Path(house.store.root, name), Path(fresh.store.root, name))
        again = fresh.run(METHODS)
        assert again.is_complete
        assert not TRAINED_STATE & set(materialized_by(again))
        assert contents(fresh) == contents(house)


def vectors(house: House, table: str) -> dict[str, list[float]]:
    return {row["passage_id"]: row["embedding"] for row in house.table(table).to_pylist()}


def edges_of(house: House) -> set[tuple[str, str]]:
    rows = house.table("gae.graph_edges").to_pylist()
    return {(row["source_id"], row["target_id"]) for row in rows}


@pytest.mark.usefixtures("only_tables_here")
def test_edit_keeps_distant_embeddings_and_trains_nothing(changeable: House) -> None:
    house = changeable
    (house.folder / "corpus.toml").write_text(f"{SETTINGS}[gae.graph]\nn_nearest = 1\n")
    assert house.run(["gae"]).is_complete
    features, embeddings = vectors(house, "gae.node_features"), vectors(house, "gae.embeddings")
    before = edges_of(house)
    file = house.folder / f"{DOCUMENTS[0]}.txt"
    file.write_text(f"{file.read_text()} A ferry left.")
    report = house.run(["gae"])
    assert report.is_complete
    materialized = set(materialized_by(report))
    assert "gae/embeddings[]" in materialized
    assert not TRAINED_STATE & materialized
    now = vectors(house, "gae.node_features")
    near = {passage for passage, vector in now.items() if features.get(passage) != vector}
    assert {passage for passage in near if passage in DOCUMENTS} == {DOCUMENTS[0]}
    near.update(*(before ^ edges_of(house)))
    for _ in range(2):  # layers of the encoder
        near.update(*(pair for pair in before | edges_of(house) if near.intersection(pair)))
    far = embeddings.keys() - near
    assert far
    now = vectors(house, "gae.embeddings")
    assert {passage: now[passage] for passage in far} == {p: embeddings[p] for p in far}


@pytest.mark.usefixtures("only_tables_here")
def test_corpus_that_has_doubled_is_trained_again(changeable: House) -> None:
    house = changeable
    for bucket in range(6, 8):
        house.write_document(document_in(bucket), text_of(document_in(bucket), 8))
    report = house.run(["gae"])  # the eighth document
    assert report.is_complete
    assert {"gae/model[]", "gae/clusterings[]"} <= set(materialized_by(report))
    (row,) = house.table("gae.model").to_pylist()
    assert row["n_documents"] == len(row["learnt_from"]) == 8
    assert all(document_id not in str(row) for document_id in DOCUMENTS)
    levels = house.table("gae.training_log")["level"].to_pylist()
    assert levels == ["document"] * 5 + ["node"] * 5


@pytest.mark.usefixtures("only_tables_here")
def test_retraining_on_the_same_corpus_changes_nothing(changeable: House) -> None:
    before = changeable.table("gae.model").to_pylist()
    with changeable.instance() as instance:
        job = changeable.pipeline().definitions.resolve_job_def("retrain_gae")
        assert job.execute_in_process(partition_key=CORPUS, instance=instance).success
    assert changeable.table("gae.model").to_pylist() == before
    assert materialized_by(changeable.run(METHODS)) == []


@pytest.mark.usefixtures("only_tables_here")
def test_setting_affects_only_the_steps_that_read_it(changeable: House) -> None:
    file = changeable.folder / "corpus.toml"
    file.write_text(file.read_text() + "[gae.refine]\nlow_words = 10\n")
    assets = {name.split("[")[0] for name in materialized_by(changeable.run(METHODS))}
    assert "gae/refined_contexts" in assets
    assert not assets & {"gae/embeddings", "gae/clusterings", "gae/rankings", "gae/reflections"}


@pytest.mark.usefixtures("only_tables_here")
def test_only_failed_requests_are_repeated_over_http(changeable: House, tmp_path: Path) -> None:
    house, ill = changeable, [True]

    def says(body: dict) -> str:
        fields = (wanted_schema(body) or {}).get("properties", {})
        if "topic" in fields:
            return "no JSON" if ill else json.dumps({"topic": "Boats", "relevance": 8})
        return json.dumps({"score": 2}) if "score" in fields else "They met."

    def n_requests() -> int:
        return len(server.lines("/chat/completions"))

    with judging(tmp_path, says, max_repairs=0) as (model, server):
        house.model = model
        report = house.run(["gae"])
        assert not report.errors
        assert not report.is_complete
        assert not of_method(house, "gae.topics", "gae")
        before = n_requests()
        ill.clear()
        assert house.run(["gae"]).is_complete
        topics = of_method(house, "gae.topics", "gae")
        assert {row["topic"] for row in topics} == {"Boats"}
        # the topics; prompts that their relevance changes; the answers
        refined = of_method(house, "gae.refined_contexts", "gae")
        assert n_requests() - before <= len(topics) + len(refined) + 2
        assert {row["score"] for row in refined} == {5.0}
