"""Checks as Dagster runs them: with their assets, alone, and never in the way of a run."""

import logging
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from pathlib import Path

import dagster as dg
import pytest
from dagster._core.storage.asset_check_execution_record import (
    AssetCheckExecutionRecordStatus as Status,
)
from gsum_assets.dagster_assets.evaluate import in_turn
from gsum_resources.dagster_io.dagster_private import STEPS_LOGGER

from gsum_assets.dagster_assets import check_assets as assets
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs, Subject
from gsum_assets.pipeline.finding import Finding
from gsum_assets.registry import checks as registry
from gsum_assets.registry.checks import CHECKS
from gsum_assets.registry.families import FAMILIES
from gsum_resources.store.parquet_store import ParquetStore, Partition
from tests.checks.indexed import METHODS, evaluations, indexed, plant, with_column
from tests.conftest import CORPUS, House, document_in
from tests.models import FirstWords
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of

pytestmark = pytest.mark.slow

ASKED_ABOUT = (document_in(0), document_in(3))
RESULTS = ("rankings", "contexts", "summaries", "answer_sources", "scores")
GENERAL = {"schema", "ids_unique", "lineage_is_current"}
EXPECTED = {
    "documents": GENERAL | {"has_rows"},
    "rejected_documents": GENERAL - {"ids_unique"} | {"none_rejected"},
    "converted_documents": GENERAL,
    "document_sections": GENERAL,
    "chunks": GENERAL | {"cover_documents", "has_rows"},
    "chunk_embeddings": GENERAL | {"finite", "has_rows"},
    "queries": GENERAL,
    "query_embeddings": GENERAL | {"finite", "has_rows"},
    "retrieval/index": GENERAL,
    "retrieval/rankings": GENERAL | {"ranks_consecutive"},
    "retrieval/contexts": GENERAL | {"cite_what_exists"},
    "retrieval/summaries": GENERAL
    | {"requests_answered", "every_question_answered"}
    | {"speakers_are_right", "models_name_speakers"},
    "retrieval/answer_sources": GENERAL
    | {"requests_answered", "citations_support", "say_where_they_stand"},
    "retrieval/scores": GENERAL | {"requests_answered", "in_range"},
    "answerability": GENERAL,
    "generated_questions": GENERAL | {"requests_answered"},
    "assertions": GENERAL | {"requests_answered"},
    "judgements": GENERAL | {"requests_answered", "verdicts_parsed", "no_position_bias"},
    "win_rates": GENERAL | {"requests_answered"},
    "leaderboard": GENERAL | {"mean_in_interval"},
    "comparisons": GENERAL | {"mean_in_interval"},
    "curves": GENERAL | {"mean_in_interval"},
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


def test_every_asset_is_checked_in_its_run(good: House) -> None:
    recorded_now = recorded(good)
    assert all(evaluation.passed for evaluation in recorded_now)
    assert {e.partition for e in recorded_now} == {None}
    checked = {e.asset_key.to_user_string() for e in recorded_now}
    assert checked == set(EXPECTED)
    for asset, names in EXPECTED.items():
        found = [e.check_name for e in recorded_now if e.asset_key.to_user_string() == asset]
        is_result = asset.startswith("retrieval/") and asset != "retrieval/index"
        runs = len(METHODS) if is_result else 1  # all buckets in one
        assert sorted(found) == sorted([*names] * runs), asset
    last = by_name(recorded_now)
    assert last["documents:schema"].description == f"{CORPUS}: 8 files"
    assert last["retrieval/scores:schema"].description == f"{CORPUS}/dense: 1 file"


BLOCKING = {
    "documents:has_rows",
    "chunks:has_rows",
    "chunk_embeddings:has_rows",
    "query_embeddings:has_rows",
    "chunks:cover_documents",
    "chunk_embeddings:finite",
    "graphrag/entity_mentions:of_chunks",
    "graphrag/aliases:names_resolve",
}


def test_few_checks_block_a_run(good: House) -> None:
    graph = good.pipeline().definitions.resolve_asset_graph()
    nodes = {
        f"{key.asset_key.to_user_string()}:{key.name}": graph.get(key)
        for key in graph.asset_check_keys
    }
    assert {name for name, node in nodes.items() if node.blocking} == BLOCKING
    assert all((node.description or "").endswith(".") for node in nodes.values())


@pytest.mark.parametrize("blocking", [True, False])
def test_failure_of_a_blocking_check_ends_the_run(
    house: House, monkeypatch: pytest.MonkeyPatch, blocking: bool
) -> None:
    wrong = Check("fits", "It fits.", lambda _: Finding("", "do not fit", 1), blocking=blocking)
    monkeypatch.setattr(registry, "CHECKS", {"chunks": [wrong]})
    job = house.pipeline().definitions.resolve_implicit_global_asset_job_def()
    assets = {dg.AssetKey("chunks"), dg.AssetKey("chunk_embeddings")}
    with house.instance() as instance:
        result = job.get_subset(asset_selection=assets).execute_in_process(
            instance=instance,
            partition_key=dg.MultiPartitionKey({"bucket": "00", "corpus": CORPUS}),
            raise_on_error=False,
        )
    written = {event.asset_key for event in result.get_asset_materialization_events()}
    assert result.success is not blocking
    assert written == ({dg.AssetKey("chunks")} if blocking else assets)


def test_standalone_checks_cover_the_whole_home(house: House) -> None:
    n = sum(len(names) for names in EXPECTED.values())
    results = execute_checks(house)
    # the methods of other families were not requested
    others = tuple(f"{family.name}/" for family in FAMILIES if family.name != "retrieval")
    recorded_now = [n for n in results if not n.startswith(others)]
    assert len(recorded_now) == n
    assert all(evaluation.passed for evaluation in results.values())
    assert results["retrieval/scores:schema"].description.count("1 file") == len(METHODS)
    delayed = with_column("rank", lambda ranks: [rank + 1 for rank in ranks])
    plant(house, "rankings", Partition(CORPUS, method="bm25"), delayed)
    name = "retrieval/rankings:ranks_consecutive"
    results = execute_checks(house, name)
    assert set(results) == {name}
    evaluation = results[name]
    assert not evaluation.passed
    assert evaluation.severity == dg.AssetCheckSeverity.ERROR
    assert (evaluation.metadata["looked_at"].value, evaluation.metadata["wrong"].value) == (2, 4)
    first = evaluation.metadata["first"]
    assert isinstance(first, dg.MarkdownMetadataValue)
    assert (first.md_str or "").splitlines()[2].startswith(f"| {CORPUS}/bm25 | q-")


def test_rejected_document_is_reported_and_others_are_processed(house: House) -> None:
    (house.folder / "torn.txt").write_bytes(bytes(range(256)) + b" | <b>")
    report = house.run()
    assert report.errors == []
    assert report.results
    results = by_name(recorded(house))
    failing = {name for name, evaluation in results.items() if not evaluation.passed}
    assert failing == {"rejected_documents:none_rejected"}
    evaluation = results["rejected_documents:none_rejected"]
    assert evaluation.severity == dg.AssetCheckSeverity.WARN
    assert "1 rejected document (first: torn.txt: " in (evaluation.description or "")
    assert f"| {CORPUS} | torn.txt | 0 | " in str(evaluation.metadata["first"].value)


def test_failed_request_is_reported_until_it_succeeds(house: House) -> None:
    refused, answered = ASKED_ABOUT
    house.model = FirstWords("picky", refuses=refused)
    report = house.run()
    assert report.errors == []
    assert house.table("leaderboard").num_rows
    assert set(house.table("summaries")["query_id"].to_pylist()) == {f"q-{answered}"}
    results = by_name(recorded(house))
    failing = {name for name, evaluation in results.items() if not evaluation.passed}
    assert failing == {
        "retrieval/summaries:requests_answered",
        "retrieval/answer_sources:requests_answered",
        "retrieval/summaries:every_question_answered",
    }
    requests = results["retrieval/summaries:requests_answered"]
    assert requests.severity == dg.AssetCheckSeverity.WARN
    error = f"refused: '{refused}' in the passages"
    for method in METHODS:  # the last run wrote one, and reports the other again
        expected = f"{CORPUS}/{method}: 1 request got no valid reply, so that rows are missing"
        assert f"{expected} (latest: {error})" in (requests.description or "")
    assert f"| {CORPUS}/bm25 | {refused} | {error} |" in str(requests.metadata["first"].value)
    questions = results["retrieval/summaries:every_question_answered"]
    length = f"{len(f'Who met {refused}?')} characters"
    assert f"| {CORPUS}/bm25 | q-{refused} | {length} |" in str(questions.metadata["first"].value)
    house.model = FirstWords("patient")
    assert house.run().errors == []
    assert all(evaluation.passed for evaluation in by_name(recorded(house)).values())


def test_run_that_keeps_a_checked_table_does_not_warn(
    house: House, caplog: pytest.LogCaptureFixture
) -> None:
    house.write_document(ASKED_ABOUT[0], "A lighthouse saw the boat. " * 40)
    report = house.run()
    written = {asset for result in report.results for asset in result.assets}
    assert "queries" in written
    assert "query_embeddings" not in written  # kept
    assert "Blocking asset check" not in caplog.text


@pytest.mark.parametrize(("asset", "is_shown"), [("query_embeddings", False), ("orders", True)])
def test_warnings_of_missing_results_are_shown_for_foreign_checks(
    caplog: pytest.LogCaptureFixture, asset: str, is_shown: bool
) -> None:
    check = f"{asset}:has_rows"
    logging.getLogger(STEPS_LOGGER).warning(
        f"Blocking asset check {check!r} emitted no result in step '{asset}_checks'; downstream "
        "step 'answerability' will proceed without gating on it."
    )
    assert (check in caplog.text) is is_shown


def break_down(part: CheckInputs) -> Finding:
    raise RuntimeError(f"no luck with {part.corpus}")


def test_broken_check_fails_without_failing_the_run(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = {**CHECKS, "chunks": [Check("lucky", "It has luck.", break_down, warns=True)]}
    monkeypatch.setattr(registry, "CHECKS", added)
    house.write_document(ASKED_ABOUT[0], "A lighthouse saw the boat. " * 40)
    report = house.run()
    assert report.errors == []
    recorded_now = {asset for recorded_now in report.results for asset in recorded_now.assets}
    assert recorded_now >= {"chunks", "chunk_embeddings", "retrieval/rankings", "retrieval/scores"}
    results = by_name(recorded(house))
    assert {name for name, evaluation in results.items() if not evaluation.passed} == {
        "chunks:lucky"
    }
    lucky = results["chunks:lucky"]
    assert lucky.severity == dg.AssetCheckSeverity.ERROR
    text = f"{CORPUS}: could not be checked: RuntimeError: no luck with {CORPUS}"
    assert lucky.description == text


class Torn:
    """A check of chunks that fails at first: another process is about to repair them.

    Two runs look. The second begins when the first called `is_first`, which may then wait until
    the second is `over`.
    """

    def __init__(self, house: House, monkeypatch: pytest.MonkeyPatch) -> None:
        self.over, self._came, self._calls = threading.Event(), threading.Event(), 0
        self._testbed = house
        check = Check("whole", "It is whole.", self.run)
        monkeypatch.setattr(registry, "CHECKS", {"chunks": [check]})

    def is_first(self) -> bool:
        """Whether the run that calls this is the first to do so."""
        was_there = self._came.is_set()
        self._came.set()
        return not was_there

    def run(self, _: CheckInputs) -> Finding:
        self._calls += 1
        return Finding("", "torn", 1) if self._calls == 1 else Finding("")

    def shown_after_two_runs(self) -> bool:
        """Whether Dagster shows that the check passed."""
        definitions = self._testbed.pipeline().definitions
        keys = definitions.resolve_asset_graph().asset_check_keys
        key = next(key for key in keys if key.name == "whole")
        job = definitions.resolve_implicit_global_asset_job_def()
        alone = job.get_subset(asset_selection=set(), asset_check_selection={key})
        with self._testbed.instance() as instance, ThreadPoolExecutor(1) as pool:
            first = pool.submit(alone.execute_in_process, instance=instance)
            assert self._came.wait(60)
            assert alone.execute_in_process(instance=instance).success
            self.over.set()
            assert first.result().success
            storage = instance.event_log_storage
            (shown,) = storage.get_latest_asset_check_execution_by_key([key]).values()
        assert self._calls == 2
        return shown.status == Status.SUCCEEDED


def test_later_check_waits_for_a_slow_earlier_one(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(Torn):
        def run(self, part: CheckInputs) -> Finding:
            found = super().run(part)
            if self.is_first():
                self.over.wait(3)  # the other run comes to its end meanwhile, unless it waits
            return found

    assert Slow(house, monkeypatch).shown_after_two_runs()


def test_latest_check_result_is_shown_regardless_of_start_order(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    torn = Torn(house, monkeypatch)

    def delayed(subject: Subject, store: ParquetStore) -> AbstractContextManager[None]:
        if torn.is_first():
            assert torn.over.wait(60)
        return in_turn(subject, store)

    monkeypatch.setattr(assets, "in_turn", delayed)
    assert torn.shown_after_two_runs()
