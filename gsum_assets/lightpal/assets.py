"""Passage graphs as assets, and the results of the methods that walk them."""

import dagster as dg
import pyarrow as pa

from gsum_assets.lightpal.candidates import candidates as find_candidates
from gsum_assets.lightpal.context_scores import context_scores as score_candidates
from gsum_assets.lightpal.earlier import note, read_earlier
from gsum_assets.lightpal.passage_edges import passage_edges as choose_edges
from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.plots import passage_graph_picture
from gsum_assets.lightpal.settings import (
    GraphSettings,
    WalkSettings,
)
from gsum_assets.lightpal.variants import PASSAGE_WALK, VARIANTS
from gsum_assets.lightpal.walk_trust import walk_trust as judge_graph
from gsum_assets.partitions import corpora, to_corpus
from gsum_assets.presentation import plot_of
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.progress import reporter
from gsum_resources.settings_io import SettingsReader
from gsum_resources.warehouse_io import Lazy, as_dictionaries, partition_of

GROUP = "lightpal"
_NO_TRUST = TABLES["lightpal.walk_trust"].empty()

_PASSAGES = {
    name: dg.AssetIn(name, partition_mapping=to_corpus)
    for name in ("documents", "chunks", "chunk_embeddings")
}


_PAIRS = as_dictionaries("level", "passage_id", "candidate_id")


def _graph_settings(reader: SettingsReader, corpus: str) -> GraphSettings:
    return GraphSettings.model_validate(reader.section(corpus, "lightpal.graph"))


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpora,
    group_name=GROUP,
    pool="compute",
    code_version="2",
    ins=_PASSAGES,
    required_resource_keys={"io_manager"},
    description="Those that are worth scoring. Exact: every pair is compared, but those of which "
    "neither has changed.",
)
def candidates(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    partition = partition_of(context.partition_key)
    store: ParquetStore = context.resources.io_manager.store
    collection = Collection.from_tables(documents, chunks, chunk_embeddings)
    told = reporter("lightpal/candidates: chunks compared", context.log.info)
    n = _graph_settings(corpus_settings, partition.corpus).n_candidates
    rows = find_candidates(collection, n, told, read_earlier(store, partition))
    note(store, partition, rows, collection)
    return rows


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpora,
    group_name=GROUP,
    pool="llm",
    code_version="1",
    ins={
        **{name: _PASSAGES[name] for name in ("documents", "chunks")},
        "candidates": dg.AssetIn([GROUP, "candidates"], metadata=_PAIRS),
    },
    description="How well a passage predicts its candidate; pairs that were scored before are "
    "not scored again.",
)
def context_scores(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    candidates: pa.Table,
    passage_scorer: Lazy,
) -> pa.Table:
    scorer = passage_scorer.get()
    collection = Collection.from_tables(documents, chunks)
    rows = score_candidates(candidates, collection, scorer)
    context.add_asset_metadata(
        {"pairs_scored": scorer.n_scored, "pairs_remembered": scorer.n_remembered}
    )
    return rows


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpora,
    group_name=GROUP,
    pool="compute",
    code_version="1",
    ins={
        **{name: _PASSAGES[name] for name in ("documents", "chunks")},
        **{
            name: dg.AssetIn([GROUP, name], metadata=_PAIRS)
            for name in ("candidates", "context_scores")
        },
    },
    description="From each passage to its best candidates: what is walked from a question's first "
    "passages to those that it does not name.",
)
def passage_edges(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    candidates: pa.Table,
    context_scores: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    collection = Collection.from_tables(documents, chunks)
    n_edges = _graph_settings(corpus_settings, corpus).n_edges
    edges = choose_edges(candidates, context_scores, collection, n_edges)
    context.add_asset_metadata(
        plot_of(edges, lambda: passage_graph_picture(edges, chunks, corpus), "passage graph")
    )
    return edges


@dg.asset(
    key_prefix=GROUP,
    partitions_def=corpora,
    group_name=GROUP,
    pool="compute",
    code_version="1",
    ins={**_PASSAGES, "passage_edges": dg.AssetIn([GROUP, "passage_edges"])},
    description="Judged without labels, by passages that are held out and searched for.",
)
def walk_trust(
    context: dg.AssetExecutionContext,
    documents: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    passage_edges: pa.Table,
    corpus_settings: SettingsReader,
) -> pa.Table:
    corpus = partition_of(context.partition_key).corpus
    collection = Collection.from_tables(documents, chunks, chunk_embeddings)
    walked = VARIANTS[PASSAGE_WALK].graph
    graphs = PassageGraphs.of(passage_edges, walked, both_ways=True)
    chosen = WalkSettings.model_validate(corpus_settings.section(corpus, "lightpal.walk"))
    language = corpus_settings.section(corpus, "language")
    trust = judge_graph(collection, graphs, language, chosen)
    context.add_asset_metadata(
        {f"{row['level']}_{row['scope']}": row["trust"] for row in trust.to_pylist()}
    )
    return trust


lightpal_assets = [candidates, context_scores, passage_edges, walk_trust]
