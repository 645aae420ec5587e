"""Tables of graph-augmented summarization."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    LEVEL,
    PASSAGE_ID,
    QUERY_ID,
    SAMPLE,
    SPENT,
    check,
    corpus_table,
    flag,
    integer,
    label,
    number,
    result_table,
    text,
    texts,
    vector,
)
from gsum_resources.store.table import Column, Rule, lacks

_PASSAGES = """
    SELECT DISTINCT 'document' AS level, document_id AS passage_id, document_id, NULL AS position
    FROM "chunks"
    UNION ALL SELECT 'node', chunk_id, document_id, position FROM "chunks"
"""

TABLES = (
    corpus_table(
        "gae.model",
        "trained auto-encoder with the statistics and bases of its features",
        "",
        label("encoder", "name of the architecture"),
        integer("dimension", "length of the embeddings of its training data"),
        label("embedding_model", "identity of the embedder of its training data"),
        integer("epochs", "number of steps of the training"),
        integer("n_documents", "number of training documents"),
        integer("n_chunks", "number of training chunks"),
        texts("learnt_from", "hashes of the ids of the training documents"),
        label("settings", "settings of graph and training, JSON"),
        Column("weights", pa.binary(), "the checkpoint, safetensors; words are hashed"),
    ),
    corpus_table(
        "gae.training_log",
        "level and epoch of a training",
        "level, epoch",
        LEVEL,
        integer("epoch", "from 1"),
        number("loss", "squared error of the reconstruction, mean over pairs"),
    ),
    corpus_table(
        "gae.graph_edges",
        "undirected edge of the graph that the auto-encoder reconstructs",
        "level, kind, source_id, target_id",
        LEVEL,
        label("kind", "'neighbour', 'citation' or 'nearest'"),
        text("source_id", "one end, document_id or chunk_id by level"),
        text("target_id", "the other end"),
        number("weight", "cosine of TF-IDF vectors; 1 for the other kinds"),
        check(
            "join_passages",
            "Each edge joins two passages of its level; neighbours are adjacent in one document.",
            "edge",
            Rule("NOT are_known", "join an id that is no passage of their level"),
            Rule("source_id = target_id", "join a passage to itself"),
            Rule(
                "kind = 'neighbour' AND are_known AND source_id <> target_id "
                "AND are_adjacent IS NOT true",
                "join as neighbours passages that are not adjacent in one document",
            ),
            shown="level, kind, source_id, target_id",
            examined=f"""
                SELECT e.*, s.document_id IS NOT NULL AND t.document_id IS NOT NULL AS are_known,
                    s.document_id = t.document_id AND abs(s.position - t.position) = 1
                    AS are_adjacent
                FROM "gae.graph_edges" e
                LEFT JOIN ({_PASSAGES}) s ON s.level = e.level AND s.passage_id = source_id
                LEFT JOIN ({_PASSAGES}) t ON t.level = e.level AND t.passage_id = target_id
                """,
        ),
    ),
    corpus_table(
        "gae.node_features",
        "passage",
        "level, passage_id",
        LEVEL,
        PASSAGE_ID,
        vector("embedding", "weighted sum of TF-IDF and embedding after PCA"),
    ),
    corpus_table(
        "gae.embeddings",
        "passage",
        "level, passage_id",
        LEVEL,
        PASSAGE_ID,
        vector("embedding", "output of the auto-encoder, not normalized"),
        check(
            "finite",
            "Each passage has one embedding, and it is finite.",
            "embedding",
            Rule(
                "NOT isfinite(list_inner_product(embedding, embedding))",
                "are not finite",
                remedy="set a lower learning_rate in corpus.toml, [gae.training]",
            ),
            Rule(
                lacks("level, passage_id", "gae.embeddings"),
                "have no embedding",
                "passage",
                f"SELECT level, passage_id FROM ({_PASSAGES})",
            ),
            Rule(lacks("level, passage_id", _PASSAGES), "belong to no passage of their level"),
            shown="level, passage_id",
        ),
    ),
    corpus_table(
        "gae.clusters",
        "passage and clustering",
        "level, clustering, passage_id",
        LEVEL,
        label("clustering", "name of the clustering: leiden-3, dbscan, k_means, …"),
        PASSAGE_ID,
        Column("cluster", pa.int64(), "the smallest hash of an id of its passages"),
    ),
    corpus_table(
        "gae.clusterings",
        "clustering with its quality measures",
        "level, scope, clustering",
        LEVEL,
        label("scope", "scope of questions: 'corpus' or 'document' (a single one)"),
        label("clustering", "name of the clustering: leiden-3, dbscan, k_means, …"),
        flag("is_chosen", "whether methods re-rank by it"),
        number("weight", "weight of the gain by re-ranking, 0 to 1"),
        number("agreement", "paired t of re-ranked results, by another retriever"),
        number("stability", "Jaccard similarity of pairs without a tenth of passages"),
        integer("n_clusters", "number of clusters"),
        number("largest", "share of the passages in the largest cluster"),
        number("silhouette", "of the embeddings, -1 to 1; null: one cluster", nullable=True),
        number("pair_precision", "of pairs relevant together; null: no labels", nullable=True),
        number("pair_recall", "of pairs relevant together; null: no labels", nullable=True),
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
