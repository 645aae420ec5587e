"""Checks as Dagster runs them: with their assets, alone, and never in the way of a run."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.checks import registry
from gsum_assets.checks.finding import Finding
from gsum_assets.checks.part import Part
from gsum_assets.checks.registry import CHECKS, Check
from gsum_resources.parquet_store import Partition
from tests.checks.indexed import METHODS, evaluations, indexed, plant, with_column
from tests.conftest import CORPUS, House, document_in
from tests.models import FirstWords
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of

ASKED_ABOUT = (document_in(0), document_in(3))
RESULTS = ("rankings", "contexts", "summaries", "scores")
GENERAL = {"schema", "ids_unique", "lineage_is_current"}
EXPECTED = {
    "documents": GENERAL,
    "rejected_documents": GENERAL - {"ids_unique"} | {"none_rejected"},
    "chunks": GENERAL | {"cover_documents"},
    "chunk_embeddings": GENERAL | {"finite"},
    "queries": GENERAL,
    "retrieval/rankings": GENERAL | {"ranks_consecutive"},
    "retrieval/contexts": GENERAL | {"cite_what_exists"},
    "retrieval/summaries": GENERAL | {"requests_answered", "every_question_answered"},
    "retrieval/scores": GENERAL | {"in_range"},
    "generated_questions": GENERAL | {"requests_answered"},
    "judgements": GENERAL | {"requests_answered", "verdicts_parsed", "no_position_bias"},
    "win_rates": GENERAL | {"requests_answered"},
    "leaderboard": GENERAL | {"mean_in_interval"},
    "comparisons": GENERAL | {"mean_in_interval"},
    "costs": GENERAL,
}


def furnish(house: House) -> None:
    """Two documents in different buckets, and a question for each."""
    for document_id in ASKED_ABOUT:
        house.write_document(document_id)
    house.write_queries(
        [
            {"query_id": f"q-{d}", "text": f"Who met {d}?", "document_id": d, "references": ["No"]}
            for d in ASKED_ABOUT
        ]
    )
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with indexed(tmp_path_factory.mktemp("good"), furnish) as house:
        yield house


@pytest.fixture
def house(good: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(good, tmp_path) as copy:
        yield copy


def recorded(house: House) -> list[dg.AssetCheckEvaluation]:
    with house.instance() as instance:
        return evaluations(instance)


def by_name(found: list[dg.AssetCheckEvaluation]) -> dict[str, dg.AssetCheckEvaluation]:
    """The last evaluation of each check."""
    return {f"{e.asset_key.to_user_string()}:{e.check_name}": e for e in found}


def execute_checks(house: House, *names: str) -> dict[str, dg.AssetCheckEvaluation]:
    """Run checks by themselves, all of them or those named, without a partition."""
    definitions = house.pipeline().definitions
    keys = definitions.resolve_asset_graph().asset_check_keys
    wanted = {k for k in keys if not names or k.to_user_string() in names}
    job = definitions.resolve_implicit_global_asset_job_def()
    with house.instance() as instance:
        result = job.get_subset(
            asset_selection=set(), asset_check_selection=wanted
        ).execute_in_process(instance=instance)
        assert result.success
        return by_name(evaluations(instance, result.run_id))


def test_every_asset_is_checked_in_the_run_that_makes_it(good: House) -> None:
    made = recorded(good)
    assert all(evaluation.passed for evaluation in made)
    assert {e.partition for e in made} == {None}
    checked = {e.asset_key.to_user_string() for e in made}
    assert checked == set(EXPECTED)
    for asset, names in EXPECTED.items():
        found = [e.check_name for e in made if e.asset_key.to_user_string() == asset]
        runs = len(METHODS) if asset.startswith("retrieval/") else 1  # all buckets in one
        assert sorted(found) == sorted([*names] * runs), asset
    last = by_name(made)
    assert last["documents:schema"].description == f"{CORPUS}: 8 files"
    assert last["retrieval/scores:schema"].description == f"{CORPUS}/dense: 1 file"


def test_no_check_holds_anything_back(good: House) -> None:
    graph = good.pipeline().definitions.resolve_asset_graph()
    assert graph.asset_check_keys
    for key in graph.asset_check_keys:
        node = graph.get(key)
        assert not node.blocking
        assert node.description
        assert node.description.endswith(".")


def test_checks_alone_look_at_the_whole_home(house: House) -> None:
    n = sum(len(names) for names in EXPECTED.values())
    told = execute_checks(house)
    # the methods of other families were not asked for
    others = ("gae/", "gor/", "graphrag/", "jerr/", "lightpal/")
    made = [n for n in told if not n.startswith(others)]
    assert len(made) == n
    assert all(evaluation.passed for evaluation in told.values())
    assert told["retrieval/scores:schema"].description.count("1 file") == len(METHODS)
    late = with_column("rank", lambda ranks: [rank + 1 for rank in ranks])
    plant(house, "rankings", Partition(CORPUS, method="bm25"), late)
    name = "retrieval/rankings:ranks_consecutive"
    told = execute_checks(house, name)
    assert set(told) == {name}
    evaluation = told[name]
    assert not evaluation.passed
    assert evaluation.severity == dg.AssetCheckSeverity.ERROR
    assert (evaluation.metadata["looked_at"].value, evaluation.metadata["wrong"].value) == (2, 4)
    first = evaluation.metadata["first"]
    assert isinstance(first, dg.MarkdownMetadataValue)
    assert (first.md_str or "").splitlines()[2].startswith(f"| {CORPUS}/bm25 | q-")


def test_a_rejected_document_is_told_and_the_rest_is_made(house: House) -> None:
    (house.folder / "latin.txt").write_bytes("Käse | <b>".encode("latin-1"))
    report = house.run()
    assert report.errors == []
    assert report.made
    told = by_name(recorded(house))
    failing = {name for name, evaluation in told.items() if not evaluation.passed}
    assert failing == {"rejected_documents:none_rejected"}
    evaluation = told["rejected_documents:none_rejected"]
    assert evaluation.severity == dg.AssetCheckSeverity.WARN
    assert "1 rejected document (first: latin.txt: " in (evaluation.description or "")
    assert f"| {CORPUS} | latin.txt | 0 | " in str(evaluation.metadata["first"].value)


def test_a_request_without_a_reply_is_told_until_it_has_one(house: House) -> None:
    refused, answered = ASKED_ABOUT
    house.model = FirstWords("picky", refuses=refused)
    report = house.run()
    assert report.errors == []
    assert house.table("leaderboard").num_rows
    assert set(house.table("summaries")["query_id"].to_pylist()) == {f"q-{answered}"}
    told = by_name(recorded(house))
    failing = {name for name, evaluation in told.items() if not evaluation.passed}
    assert failing == {
        "retrieval/summaries:requests_answered",
        "retrieval/summaries:every_question_answered",
    }
    requests = told["retrieval/summaries:requests_answered"]
    assert requests.severity == dg.AssetCheckSeverity.WARN
    error = f"refused: '{refused}' in the passages"
    for method in METHODS:  # the last run made one, and tells of the other again
        expected = f"{CORPUS}/{method}: 1 request got no valid reply, so that rows are missing"
        assert f"{expected} (latest: {error})" in (requests.description or "")
    assert f"| {CORPUS}/bm25 | {refused} | {error} |" in str(requests.metadata["first"].value)
    questions = told["retrieval/summaries:every_question_answered"]
    assert f"| {CORPUS}/bm25 | q-{refused} | Who met {refused}? |" in str(
        questions.metadata["first"].value
    )
    house.model = FirstWords("patient")
    assert house.run().errors == []
    assert all(evaluation.passed for evaluation in by_name(recorded(house)).values())


def break_down(part: Part) -> Finding:
    raise RuntimeError(f"no luck with {part.corpus}")


def test_a_check_that_breaks_fails_and_not_the_run(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = {**CHECKS, "chunks": [Check("lucky", "It has luck.", break_down, warns=True)]}
    monkeypatch.setattr(registry, "CHECKS", added)
    house.write_document(ASKED_ABOUT[0], "A lighthouse saw the boat. " * 40)
    report = house.run()
    assert report.errors == []
    made = {asset for made in report.made for asset in made.assets}
    assert made >= {"chunks", "chunk_embeddings", "retrieval/rankings", "retrieval/scores"}
    told = by_name(recorded(house))
    assert {name for name, evaluation in told.items() if not evaluation.passed} == {"chunks:lucky"}
    lucky = told["chunks:lucky"]
    assert lucky.severity == dg.AssetCheckSeverity.ERROR
    text = f"{CORPUS}: could not be checked: RuntimeError: no luck with {CORPUS}"
    assert lucky.description == text
