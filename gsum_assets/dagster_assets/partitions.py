"""Partitions of tables: corpora, corpora x buckets, corpora x methods of a family."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

import dagster as dg
from sqlalchemy.exc import IntegrityError

from gsum_assets.corpus.load import N_BUCKETS
from gsum_resources.store.parquet_store import Partition
from gsum_resources.store.partition import bucket_names

corpora = dg.DynamicPartitionsDefinition(name="corpora")
"""One partition for each folder under `corpora/`; a sensor or the command line adds it."""

buckets = dg.DynamicPartitionsDefinition(name="buckets")
"""As many as the corpus with the most has; `with_buckets` adds them.

Dagster's partitions are the product of two dimensions. One partition for each bucket that exists
would need a mapping of our own to the corpora, which Dagster does not pass on to its daemon and its
UI: there a table by corpus would not wait for its documents.
"""

corpus_buckets = dg.MultiPartitionsDefinition({"corpus": corpora, "bucket": buckets})
"""Document-level tables: a document's bucket is a stable hash of its id.

A corpus with fewer buckets than another one leaves the others empty: nothing of them is ever due,
and a run of one writes no file.
"""

to_corpus = dg.MultiToSingleDimensionPartitionMapping("corpus")
"""Maps between tables by corpus and tables by corpus and another dimension."""

across = dg.MultiPartitionMapping(
    {"corpus": dg.DimensionPartitionMapping("corpus", dg.IdentityPartitionMapping())}
)
"""Maps document-level tables to results: all buckets of the same corpus."""


def corpus_methods(methods: Sequence[str]) -> dg.MultiPartitionsDefinition:
    """Return the partitions of the results of a family: corpora x its methods."""
    return dg.MultiPartitionsDefinition(
        {"corpus": corpora, "method": dg.StaticPartitionsDefinition(list(methods))}
    )


def method_key(partition: Partition) -> dg.MultiPartitionKey:
    """Return Dagster's key of a result's partition."""
    return dg.MultiPartitionKey({"corpus": partition.corpus, "method": partition.method or ""})


def key_of(partition: Partition) -> str:
    """Return Dagster's key of a partition of the store."""
    if partition.bucket is not None:
        return dg.MultiPartitionKey({"corpus": partition.corpus, "bucket": partition.bucket})
    return method_key(partition) if partition.method is not None else partition.corpus


def partitions_of(
    definition: dg.PartitionsDefinition | None, corpus: str, n_buckets: int = N_BUCKETS
) -> list[Partition]:
    """Return the store's partitions of one corpus, whether they have a file or not."""
    if not isinstance(definition, dg.MultiPartitionsDefinition):
        return [Partition(corpus)]
    (other,) = (d for d in definition.partitions_defs if d.name != "corpus")
    if other.name == "bucket":
        return [Partition(corpus, bucket=key) for key in bucket_names(n_buckets)]
    return [Partition(corpus, method=key) for key in other.partitions_def.get_partition_keys()]


def with_buckets(instance: dg.DagsterInstance, numbers: Iterable[int]) -> None:
    """Add the partitions of the dimension `buckets` that corpora with so many buckets need."""
    wanted = bucket_names(max(numbers, default=N_BUCKETS))
    for _ in range(2):
        if instance.has_dynamic_partition("buckets", wanted[-1]):
            return
        with suppress(IntegrityError):  # another process has added some in this moment
            instance.add_dynamic_partitions("buckets", wanted)


def without_surplus_buckets(instance: dg.DagsterInstance, numbers: Iterable[int]) -> None:
    """Remove the partitions of that dimension that no corpus needs, after one was deleted."""
    n = max(numbers, default=N_BUCKETS)
    for name in sorted(set(instance.get_dynamic_partitions("buckets")) - set(bucket_names(n))):
        instance.delete_dynamic_partition("buckets", name)


def has_buckets(instance: dg.DagsterInstance, n_buckets: int) -> bool:
    """Return whether Dagster knows all buckets of a corpus with so many."""
    return instance.has_dynamic_partition("buckets", bucket_names(n_buckets)[-1])
