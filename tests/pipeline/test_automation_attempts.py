"""Failed and incomplete assets are retried exactly once per request."""

import dagster as dg
import pytest

from gsum_assets.runner.execute import observe_sources
from gsum_assets.runner.run import refresh
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, materialized_by
from tests.models import FirstWords
from tests.pipeline.daemon import reindex, requested, start
from tests.pipeline.homes import BAD, GOOD

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]
SUMMARIES = ("retrieval/summaries", Partition(CORPUS, method="bm25"))


def test_failure_is_retried_once_per_request(changeable: House) -> None:
    changeable.model = FirstWords("changed", refuses="boat")
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        assert requested(pipeline, instance) == {SUMMARIES}
        assert not start(pipeline, instance, SUMMARIES).success
        assert requested(pipeline, instance) == set()  # given up
        observe_sources(pipeline, instance, CORPUS, {})
        assert requested(pipeline, instance) == set()  # looking is no wish to try again
        reindex(pipeline, instance)
        assert requested(pipeline, instance) == {SUMMARIES}
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
        assert materialized_by(report) == ["retrieval/summaries[bm25]"]
        assert len(report.gaps) == 1
        assert changeable.model.n_requests == n_before + 1  # the one that failed, no other
        assert requested(pipeline, instance) == set()

        reindex(pipeline, instance)
        assert requested(pipeline, instance) == {SUMMARIES}
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
        reindex(pipeline, instance)
        assert requested(pipeline, instance) == {SUMMARIES}
