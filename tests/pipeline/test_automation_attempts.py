"""Failed and incomplete assets are retried exactly once per request."""

import dagster as dg
import pytest

from gsum_assets.automation.processes import ORPHANED
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.execute import observe_sources
from gsum_assets.runner.report import RunReport
from gsum_assets.runner.run import refresh
from gsum_resources.dagster_io.launcher import CONTINUES
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, materialized_by
from tests.models import FirstWords
from tests.pipeline.daemon import reindex, requested, start
from tests.pipeline.homes import BAD, GOOD

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
SUMMARIES = ("retrieval/summaries", Partition(CORPUS, method="bm25"))
ANSWERS = {SUMMARIES, ("retrieval/answer_sources", SUMMARIES[1])}  # written by one step


def test_failure_is_retried_once_per_request(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        assert requested(pipeline, instance) == ANSWERS
        assert not start(pipeline, instance, SUMMARIES).success
        assert requested(pipeline, instance) == set()  # given up
        observe_sources(pipeline, instance, CORPUS, {})
        assert requested(pipeline, instance) == set()  # looking is no wish to try again
        reindex(pipeline, instance)
        assert requested(pipeline, instance) == ANSWERS
        assert not start(pipeline, instance, SUMMARIES).success
        assert requested(pipeline, instance) == set()
        (result,) = refresh(pipeline, instance, CORPUS).results
        assert result.error
        assert requested(pipeline, instance) == set()
        changeable.model.refuses = None
        reindex(pipeline, instance)
        assert start(pipeline, instance, SUMMARIES).success
        assert SUMMARIES not in requested(pipeline, instance)


def test_incomplete_partition_is_retried_once_per_request(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses=f"met {BAD}.")
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        report = refresh(pipeline, instance, CORPUS)
        assert report.errors == []
        (gap,) = report.gaps
        for fragment in ("retrieval/summaries", "1 request ", "refused: ", "run it again"):
            assert fragment in gap
        assert not report.is_complete
        assert changeable.table("summaries")["query_id"].to_pylist() == [GOOD]
        assert requested(pipeline, instance) == set()

        n_before = changeable.model.n_requests
        report = refresh(pipeline, instance, CORPUS)
        assert materialized_by(report) == sorted(f"{name}[bm25]" for name, _ in ANSWERS)
        assert len(report.gaps) == 1
        assert changeable.model.n_requests == n_before + 1  # the one that failed, no other
        assert requested(pipeline, instance) == set()

        reindex(pipeline, instance)
        assert requested(pipeline, instance) == ANSWERS
        changeable.model.refuses = None
        report = refresh(pipeline, instance, CORPUS)
        assert report.is_complete
        assert len(changeable.table("summaries")) == 2
        assert refresh(pipeline, instance, CORPUS).results == []


def test_filtered_request_is_a_known_gap_that_no_run_repeats(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses=f"met {BAD}.", filters=True)
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        report = refresh(pipeline, instance, CORPUS)
        assert report.is_complete
        (gap,) = [gap for result in report.results for gap in result.known_gaps]
        for fragment in ("retrieval/summaries", "for good", "1 request;", "filter_version"):
            assert fragment in gap
        assert changeable.table("summaries")["query_id"].to_pylist() == [GOOD]
        n_before = changeable.model.n_requests
        assert refresh(pipeline, instance, CORPUS).results == []
        reindex(pipeline, instance)
        assert requested(pipeline, instance) == set()
        assert changeable.model.n_requests == n_before


def test_cancelled_assets_wait_for_the_next_request(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        run = instance.get_run_by_id(start(pipeline, instance, SUMMARIES).run_id)
        assert run
        instance.report_run_canceled(run)
        run = instance.get_run_by_id(run.run_id)
        assert run
        assert run.status == dg.DagsterRunStatus.CANCELED
        assert requested(pipeline, instance) == set()
        reindex(pipeline, instance, {"dagster/schedule_name": "reindex_nightly"})
        assert requested(pipeline, instance) == set()  # no schedule repeats it
        reindex(pipeline, instance)
        assert requested(pipeline, instance) == ANSWERS


def cancel(instance: dg.DagsterInstance, run_id: str) -> None:
    run = instance.get_run_by_id(run_id)
    assert run
    instance.report_run_canceled(run)


UNITING = ("leaderboard", "comparisons", "curves", "costs", "judgements", "win_rates")


def test_nothing_is_united_of_cancelled_methods(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    pipeline = changeable.pipeline()
    for name in ("summaries", "answer_sources", "scores", *UNITING):
        for partition in pipeline.store.partitions(TABLES[name]):
            pipeline.store.delete(TABLES[name], partition)
    scores = ("retrieval/scores", SUMMARIES[1])
    with changeable.instance() as instance:
        failed = start(pipeline, instance, SUMMARIES)
        cancelled = start(pipeline, instance, scores)  # before summaries, which it reads
        assert not failed.success
        assert not cancelled.success
        cancel(instance, cancelled.run_id)
        assert requested(pipeline, instance) == set()  # no leaderboard without a row
        snapshot = pipeline.new_snapshot(instance)
        report = RunReport()
        report.note_left(snapshot.left(CORPUS), snapshot)
        others = f"{len(UNITING)} not begun because of these"
        assert report.why_missing == f"1 cancelled, 2 failed, {others}"
        assert not refresh(pipeline, instance, CORPUS).is_complete  # what failed fails again
        assert changeable.table("leaderboard").num_rows == 0
        changeable.model.refuses = None
        assert refresh(pipeline, instance, CORPUS).is_complete
        assert changeable.table("leaderboard").num_rows


def test_run_within_a_cancelled_one_is_cancelled(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        outer = instance.create_run_for_job(
            pipeline.definitions.resolve_job_def("reconcile_corpora")
        )
        run_id = start(pipeline, instance, SUMMARIES).run_id
        tags = {CONTINUES: outer.run_id, "dagster/failure_reason": "UNEXPECTED_TERMINATION"}
        instance.add_run_tags(run_id, tags)
        assert requested(pipeline, instance) == ANSWERS  # a signal from elsewhere
        cancel(instance, outer.run_id)
        assert requested(pipeline, instance) == set()
        reindex(pipeline, instance)
        assert requested(pipeline, instance) == ANSWERS


def test_interrupted_run_is_tried_again_and_a_cancelled_one_in_the_queue_is_not(
    changeable: House,
) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        run_id = start(pipeline, instance, SUMMARIES).run_id
        instance.add_run_tags(run_id, {"dagster/failure_reason": "UNEXPECTED_TERMINATION"})
        assert requested(pipeline, instance) == ANSWERS
        instance.add_run_tags(run_id, {"dagster/will_retry": "true"})  # by the daemon itself
        assert requested(pipeline, instance) == set()
        cancel(instance, run_id)
        assert requested(pipeline, instance) == set()
        instance.add_run_tags(run_id, {ORPHANED: "true"})  # by a `gsum run` that computes it
        assert requested(pipeline, instance) == ANSWERS
