"""Partitions of tables: corpora, corpora x buckets, corpora x variants of a method."""

from collections.abc import Sequence

import dagster as dg

from gsum_assets.corpus.load import N_BUCKETS
from gsum_resources.parquet_store import Partition

corpora = dg.DynamicPartitionsDefinition(name="corpora")
"""One partition for each folder under `corpora/`; a sensor or the command line adds it."""

corpus_buckets = dg.MultiPartitionsDefinition(
    {
        "corpus": corpora,
        "bucket": dg.StaticPartitionsDefinition([f"{i:02d}" for i in range(N_BUCKETS)]),
    }
)
"""Document-level tables: a document's bucket is a stable hash of its id."""

to_corpus = dg.MultiToSingleDimensionPartitionMapping("corpus")
"""Maps between tables by corpus and tables by corpus and another dimension."""

across = dg.MultiPartitionMapping(
    {"corpus": dg.DimensionPartitionMapping("corpus", dg.IdentityPartitionMapping())}
)
"""Maps document-level tables to results: all buckets of the same corpus."""


def corpus_variants(variants: Sequence[str]) -> dg.MultiPartitionsDefinition:
    """Return the partitions of the results of a method: corpora x its variants."""
    return dg.MultiPartitionsDefinition(
        {"corpus": corpora, "variant": dg.StaticPartitionsDefinition(list(variants))}
    )


def variant_key(partition: Partition) -> dg.MultiPartitionKey:
    """Return Dagster's key of a result's partition."""
    return dg.MultiPartitionKey({"corpus": partition.corpus, "variant": partition.method or ""})


def partitions_of(definition: dg.PartitionsDefinition | None, corpus: str) -> list[Partition]:
    """Return the store's partitions of one corpus, whether they have a file or not."""
    if not isinstance(definition, dg.MultiPartitionsDefinition):
        return [Partition(corpus)]
    (other,) = (d for d in definition.partitions_defs if d.name != "corpus")
    keys = other.partitions_def.get_partition_keys()
    if other.name == "bucket":
        return [Partition(corpus, bucket=key) for key in keys]
    return [Partition(corpus, method=key) for key in keys]
