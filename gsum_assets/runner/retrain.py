"""Training of networks again on request, since new documents do not make them out of date."""

from collections.abc import Callable, Collection

import dagster as dg
from pydantic import Field

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.registry.families import METHODS, trained_tables
from gsum_assets.runner.pipeline import Pipeline
from gsum_resources.dagster_io.failure import explained
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.table import Table


def owner(table: Table, model: Partition) -> str:
    """Return the method that a network is of, or the family whose methods share it."""
    return model.method or table.name.partition(".")[0]


def networks(
    pipeline: Pipeline, corpus: str, methods: Collection[str]
) -> list[tuple[Table, Partition]]:
    """Return the stored networks of some methods; methods that train nothing have none.

    Parameters
    ----------
    methods : names of methods or families; "all" for every method.

    Raises
    ------
    CorpusError
        If a method is unknown, or none of them has a network.
    """
    wanted = set(METHODS.wanted(pipeline.home.corpora, corpus, methods))
    families = {METHODS.family_of(method).name for method in wanted}
    stored = [
        (table, model)
        for table in trained_tables()
        for model, footer in pipeline.store.footers(
            table, pipeline.store.partitions(table, corpus)
        ).items()
        if footer.rows
    ]
    chosen = [(t, m) for t, m in stored if owner(t, m) in {*wanted, *families}]
    if not chosen:
        names = ", ".join(sorted(owner(table, model) for table, model in stored))
        raise CorpusError(
            f"corpus '{corpus}' has no network of {', '.join(sorted(methods))} to train again; "
            + (f"its networks: {names}" if names else "it has none: `gsum run` trains the first")
        )
    return chosen


def discard_networks(pipeline: Pipeline, corpus: str, methods: Collection[str]) -> list[str]:
    """Delete the stored networks of some methods, so that the next refresh trains them again.

    Returns their methods; see `networks`.
    """
    chosen = networks(pipeline, corpus, methods)
    for table, model in chosen:
        pipeline.store.delete(table, model)
    return [owner(table, model) for table, model in chosen]


class RetrainedNetworks(dg.Config):
    """Run configuration of the job `retrain_networks`."""

    corpus: str = Field(description="name of the corpus")
    methods: list[str] = Field(
        default=["all"],
        description="methods or families whose networks are trained again; all: every network",
    )


def retraining_job(pipeline: Callable[[], Pipeline]) -> dg.JobDefinition:
    """Return the job that does what `gsum run --retrain` does."""

    @dg.op(out=dg.Out(dg.Nothing), description="Delete the stored networks of a corpus.")
    def discard(context: dg.OpExecutionContext, config: RetrainedNetworks) -> None:
        with explained():
            discarded = discard_networks(pipeline(), config.corpus, config.methods)
        context.log.info(f"{config.corpus}: networks to train again: {', '.join(discarded)}")

    @dg.job(
        name="retrain_networks",
        description="Trains networks again on the documents of today, as `gsum run --retrain`: "
        "keep_current trains those that this job deletes, and computes what depends on them.",
        executor_def=dg.in_process_executor,
    )
    def retrain_networks() -> None:
        discard()

    return retrain_networks
