"""Tables of graph-augmented summarization."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    CHUNK_ID,
    QUERY_ID,
    SAMPLE,
    SPENT,
    check,
    corpus_table,
    integer,
    label,
    number,
    result_table,
    text,
    vector,
)
from gsum_resources.store.table import Column, Rule, lacks

TABLES = (
    corpus_table(
        "gae.graph_edges",
        "undirected edge between two passages",
        "kind, source_id, target_id",
        label("kind", "'neighbour', 'citation' or 'nearest'"),
        label("source_id", "one end, a chunk_id"),
        label("target_id", "the other end"),
        number("weight", "cosine of TF-IDF vectors; 1 for the other kinds"),
        check(
            "join_passages",
            "Each edge joins two passages; neighbours are adjacent in one document.",
            "edge",
            Rule("NOT are_known", "join an id that is no passage"),
            Rule("source_id = target_id", "join a passage to itself"),
            Rule(
                "kind = 'neighbour' AND are_known AND source_id <> target_id "
                "AND are_adjacent IS NOT true",
                "join as neighbours passages that are not adjacent in one document",
            ),
            shown="kind, source_id, target_id",
            examined="""
                SELECT e.*, s.document_id IS NOT NULL AND t.document_id IS NOT NULL AS are_known,
                    s.document_id = t.document_id AND abs(s.position - t.position) = 1
                    AS are_adjacent
                FROM "gae.graph_edges" e
                LEFT JOIN "chunks" s ON s.chunk_id = source_id
                LEFT JOIN "chunks" t ON t.chunk_id = target_id
                """,
        ),
    ),
    result_table(
        "gae.training_log",
        "epoch of a training",
        "epoch",
        integer("epoch", "from 1"),
        number("loss", "loss of the reconstruction of the edges, mean over pairs"),
        number("constant_loss", "least loss of one value for all pairs"),
    ),
    result_table(
        "gae.embeddings",
        "passage, for a method with an auto-encoder",
        "chunk_id",
        CHUNK_ID,
        vector("embedding", "output of the auto-encoder, not normalized"),
        check(
            "finite",
            "Each passage has one embedding, or none has, and it is finite.",
            "embedding",
            Rule(
                "NOT isfinite(list_inner_product(embedding, embedding))",
                "are not finite",
                remedy="set a lower learning_rate in corpus.toml, [gae.training]",
            ),
            Rule(
                lacks("chunk_id", "gae.embeddings"),
                "have no embedding",
                "passage",
                'SELECT chunk_id FROM "chunks" WHERE EXISTS (FROM "gae.embeddings")',
            ),
            Rule(lacks("chunk_id", "chunks"), "belong to no passage"),
            shown="chunk_id",
        ),
    ),
    result_table(
        "gae.clusters",
        "passage",
        "chunk_id",
        CHUNK_ID,
        Column("cluster", pa.int64(), "the smallest hash of an id of its passages"),
        check(
            "every_passage",
            "Each passage has a cluster, or none has.",
            "row",
            Rule(
                lacks("chunk_id", "gae.clusters"),
                "are in no cluster",
                "passage",
                'SELECT chunk_id FROM "chunks" WHERE EXISTS (FROM "gae.clusters")',
            ),
            Rule(lacks("chunk_id", "chunks"), "name no passage"),
            shown="chunk_id",
        ),
    ),
    result_table(
        "gae.clusterings",
        "scope of questions, with measures of the clustering",
        "scope",
        label("scope", "scope of questions: 'corpus' or 'document' (a single one)"),
        label("clustering", "'leiden', 'k_means' or 'dbscan'"),
        number("weight", "weight of the gain by re-ranking, 0 to 1"),
        number("agreement", "paired t of re-ranked results, by another retriever"),
        integer("n_clusters", "number of clusters"),
        number("largest", "share of the passages in the largest cluster"),
        number("silhouette", "of the embeddings, -1 to 1; null: one cluster", nullable=True),
        check(
            "not_degenerate",
            "No clustering has over half of the passages in one cluster, or nearly each in a "
            "cluster of its own.",
            "clustering",
            Rule(
                "n > 2 AND largest > 0.5",
                "have over half of the passages in one cluster",
                remedy="set a greater resolution, a smaller dbscan_eps or a smaller k_means_size "
                "in corpus.toml, [gae.clusters]; where embeddings are clustered also fewer layers "
                "in [gae.training]",
            ),
            Rule(
                "n > 2 AND n_clusters > 0.9 * n",
                "have nearly every passage alone in its cluster",
                remedy="set a smaller resolution, a greater dbscan_eps or a greater k_means_size "
                "in corpus.toml, [gae.clusters], or a greater n_nearest in [gae.graph]",
            ),
            shown="clustering, n_clusters, largest",
            examined="SELECT DISTINCT clustering, n_clusters, largest, "
            '(SELECT count(*) FROM "chunks") AS n FROM "gae.clusterings"',
            warns=True,
        ),
    ),
    result_table(
        "gae.topics",
        "pair of a question and a cluster among its passages",
        "query_id, cluster",
        QUERY_ID,
        Column("cluster", pa.int64(), "as in gae.clusters"),
        text("topic", "topic of the cluster's passages"),
        integer("relevance", "relevance of the topic to the question, 1 to 10"),
        integer("n_passages", "number of passages of the question in this cluster"),
        integer("n_read", "number of these that fit into the prompt"),
        *SPENT,
    ),
    result_table(
        "gae.reflections",
        "pair of a question and a passage",
        "query_id, node_id",
        QUERY_ID,
        label("node_id", "the passage, a chunk_id"),
        integer("relevance", "relevance of the passage to the question, 1 to 10"),
        *SPENT,
    ),
    result_table(
        "gae.refined_contexts",
        "passage as it is given to the language model",
        "query_id, sample, rank",
        QUERY_ID,
        SAMPLE,
        integer("rank", "from 1, as in contexts"),
        label("node_id", "the original chunk, as in contexts"),
        label("node_kind", "'chunk'"),
        text("document_id", "document of the chunk"),
        integer("position", "position of the chunk in its document"),
        number("score", "weighted relevance of topic and passage, 1 to 10", nullable=True),
        label("grade", "'high', 'medium' or 'low'; null: not judged", nullable=True),
        label("fate", "'whole', 'edited', 'condensed', 'reduced', 'cut', 'dropped'"),
        integer("tokens_before", "length of the chunk, word pieces"),
        integer("tokens_after", "length of the text, word pieces"),
        text("text", "text in the prompt; empty: left out"),
        *SPENT,
        check(
            "made_from_contexts",
            "Each passage is one of its question's contexts, and longer than it only if it "
            "was edited.",
            "refined passage",
            Rule(lacks("query_id, node_id", "contexts"), "are not among their question's contexts"),
            Rule(
                "tokens_after > tokens_before AND fate <> 'edited'",
                "are longer though they were not edited",
            ),
            shown="query_id, node_id, rank, fate, tokens_before, tokens_after",
        ),
    ),
)
