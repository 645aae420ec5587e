"""How tables are partitioned: corpora, corpora x buckets, corpora x variants of a method."""

from collections.abc import Sequence

import dagster as dg

from gsum_assets.corpus.load import N_BUCKETS
from gsum_resources.parquet_store import Partition

corpora = dg.DynamicPartitionsDefinition(name="corpora")
"""A corpus is a folder under `corpora/`; a sensor or the command line registers it."""

corpus_buckets = dg.MultiPartitionsDefinition(
    {
        "corpus": corpora,
        "bucket": dg.StaticPartitionsDefinition([f"{i:02d}" for i in range(N_BUCKETS)]),
    }
)
"""Document-level tables: a document's bucket is a stable hash of its id."""

to_corpus = dg.MultiToSingleDimensionPartitionMapping("corpus")
"""Between a table by corpus and one by corpus and something else, either way."""

across = dg.MultiPartitionMapping(
    {"corpus": dg.DimensionPartitionMapping("corpus", dg.IdentityPartitionMapping())}
)
"""From document-level tables to results: all buckets of the same corpus."""


def corpus_variants(variants: Sequence[str]) -> dg.MultiPartitionsDefinition:
    """Results of one family of methods: corpora x its variants."""
    return dg.MultiPartitionsDefinition(
        {"corpus": corpora, "variant": dg.StaticPartitionsDefinition(list(variants))}
    )


def variant_key(partition: Partition) -> dg.MultiPartitionKey:
    """Dagster's key of a result's partition."""
    return dg.MultiPartitionKey({"corpus": partition.corpus, "variant": partition.method or ""})


def partitions_of(definition: dg.PartitionsDefinition | None, corpus: str) -> list[Partition]:
    """The store's partitions of one corpus, whether they have a file or not."""
    if not isinstance(definition, dg.MultiPartitionsDefinition):
        return [Partition(corpus)]
    (other,) = (d for d in definition.partitions_defs if d.name != "corpus")
    keys = other.partitions_def.get_partition_keys()
    if other.name == "bucket":
        return [Partition(corpus, bucket=key) for key in keys]
    return [Partition(corpus, method=key) for key in keys]
