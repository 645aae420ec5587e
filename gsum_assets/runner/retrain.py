"""Training of networks again on request, since new documents do not make them out of date."""

from collections.abc import Collection

from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.registry.families import METHODS, trained_tables
from gsum_assets.runner.pipeline import Pipeline
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
