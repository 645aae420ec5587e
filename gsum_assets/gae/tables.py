"""Tables of graph-augmented summarization."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    FLOAT,
    INT,
    LEVEL,
    PASSAGE_ID,
    QUERY_ID,
    RESULT,
    SPENT,
    TEXT,
    TEXTS,
    VECTOR,
)
from gsum_resources.store.table import Column, Rule, Table, TableCheck, lacks

_PASSAGES = """
    SELECT DISTINCT 'document' AS level, document_id AS passage_id, document_id, NULL AS position
    FROM "chunks"
    UNION ALL SELECT 'node', chunk_id, document_id, position FROM "chunks"
"""

TABLES = (
    Table(
        "gae.model",
        "trained auto-encoder with the statistics and bases of its features",
        (
            Column("encoder", TEXT, "name of the architecture", label=True),
            Column("dimension", INT, "length of the embeddings of its training data"),
            Column(
                "embedding_model", TEXT, "identity of the embedder of its training data", label=True
            ),
            Column("epochs", INT, "number of steps of the training"),
            Column("n_documents", INT, "number of training documents"),
            Column("n_chunks", INT, "number of training chunks"),
            Column("learnt_from", TEXTS, "hashes of the ids of the training documents"),
            Column("settings", TEXT, "settings of graph and training, JSON", label=True),
            Column("weights", pa.binary(), "the checkpoint, safetensors; words are hashed"),
        ),
        ("corpus",),
    ),
    Table(
        "gae.training_log",
        "level and epoch of a training",
        (
            LEVEL,
            Column("epoch", INT, "from 1"),
            Column("loss", FLOAT, "squared error of the reconstruction, mean over pairs"),
        ),
        ("corpus",),
        ("level", "epoch"),
    ),
    Table(
        "gae.graph_edges",
        "undirected edge of the graph that the auto-encoder reconstructs",
        (
            LEVEL,
            Column("kind", TEXT, "'neighbour', 'citation' or 'nearest'", label=True),
            Column("source_id", TEXT, "one end, document_id or chunk_id by level"),
            Column("target_id", TEXT, "the other end"),
            Column("weight", FLOAT, "cosine of TF-IDF vectors; 1 for the other kinds"),
        ),
        ("corpus",),
        ("level", "kind", "source_id", "target_id"),
        checks=(
            TableCheck(
                "join_passages",
                "Each edge joins two passages of its level; neighbours are adjacent in one "
                "document.",
                "edge",
                (
                    Rule("NOT are_known", "join an id that is no passage of their level"),
                    Rule("source_id = target_id", "join a passage to itself"),
                    Rule(
                        "kind = 'neighbour' AND are_known AND source_id <> target_id "
                        "AND are_adjacent IS NOT true",
                        "join as neighbours passages that are not adjacent in one document",
                    ),
                ),
                "level, kind, source_id, target_id",
                f"""
                SELECT e.*, s.document_id IS NOT NULL AND t.document_id IS NOT NULL AS are_known,
                    s.document_id = t.document_id AND abs(s.position - t.position) = 1
                    AS are_adjacent
                FROM "gae.graph_edges" e
                LEFT JOIN ({_PASSAGES}) s ON s.level = e.level AND s.passage_id = source_id
                LEFT JOIN ({_PASSAGES}) t ON t.level = e.level AND t.passage_id = target_id
                """,
            ),
        ),
    ),
    Table(
        "gae.node_features",
        "passage",
        (
            LEVEL,
            PASSAGE_ID,
            Column("embedding", VECTOR, "weighted sum of TF-IDF and embedding after PCA"),
        ),
        ("corpus",),
        ("level", "passage_id"),
    ),
    Table(
        "gae.embeddings",
        "passage",
        (
            LEVEL,
            PASSAGE_ID,
            Column("embedding", VECTOR, "output of the auto-encoder, not normalized"),
        ),
        ("corpus",),
        ("level", "passage_id"),
        checks=(
            TableCheck(
                "finite",
                "Each passage has one embedding, and it is finite.",
                "embedding",
                (
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
                    Rule(
                        lacks("level, passage_id", _PASSAGES), "belong to no passage of their level"
                    ),
                ),
                "level, passage_id",
            ),
        ),
    ),
    Table(
        "gae.clusters",
        "passage and clustering",
        (
            LEVEL,
            Column(
                "clustering",
                TEXT,
                "name of the clustering: leiden-3, dbscan, k_means, …",
                label=True,
            ),
            PASSAGE_ID,
            Column("cluster", pa.int64(), "the smallest hash of an id of its passages"),
        ),
        ("corpus",),
        ("level", "clustering", "passage_id"),
    ),
    Table(
        "gae.clusterings",
        "clustering with its quality measures",
        (
            LEVEL,
            Column(
                "scope",
                TEXT,
                "scope of questions: 'corpus' or 'document' (a single one)",
                label=True,
            ),
            Column(
                "clustering",
                TEXT,
                "name of the clustering: leiden-3, dbscan, k_means, …",
                label=True,
            ),
            Column("is_chosen", pa.bool_(), "whether methods re-rank by it"),
            Column("weight", FLOAT, "weight of the gain by re-ranking, 0 to 1"),
            Column("agreement", FLOAT, "paired t of re-ranked results, by another retriever"),
            Column("stability", FLOAT, "Jaccard similarity of pairs without a tenth of passages"),
            Column("n_clusters", INT, "number of clusters"),
            Column("largest", FLOAT, "share of the passages in the largest cluster"),
            Column("silhouette", FLOAT, "of the embeddings, -1 to 1; null: one cluster", True),
            Column("pair_precision", FLOAT, "of pairs relevant together; null: no labels", True),
            Column("pair_recall", FLOAT, "of pairs relevant together; null: no labels", True),
        ),
        ("corpus",),
        ("level", "scope", "clustering"),
    ),
    Table(
        "gae.topics",
        "pair of a question and a cluster among its passages",
        (
            QUERY_ID,
            Column("cluster", pa.int64(), "as in gae.clusters"),
            Column("topic", TEXT, "topic of the cluster's passages"),
            Column("relevance", INT, "relevance of the topic to the question, 1 to 10"),
            Column("n_passages", INT, "number of passages of the question in this cluster"),
            Column("n_read", INT, "number of these that fit into the prompt"),
            *SPENT,
        ),
        RESULT,
        ("query_id", "cluster"),
    ),
    Table(
        "gae.reflections",
        "pair of a question and a passage",
        (
            QUERY_ID,
            Column("node_id", TEXT, "the passage, a chunk_id", label=True),
            Column("relevance", INT, "relevance of the passage to the question, 1 to 10"),
            *SPENT,
        ),
        RESULT,
        ("query_id", "node_id"),
    ),
    Table(
        "gae.refined_contexts",
        "passage as it is given to the language model",
        (
            QUERY_ID,
            Column("sample", INT, "always 0: one context per question"),
            Column("rank", INT, "from 1, as in contexts"),
            Column("node_id", TEXT, "the original chunk, as in contexts", label=True),
            Column("node_kind", TEXT, "'chunk'", label=True),
            Column("document_id", TEXT, "document of the chunk"),
            Column("position", INT, "position of the chunk in its document"),
            Column("score", FLOAT, "weighted relevance of topic and passage, 1 to 10", True),
            Column("grade", TEXT, "'high', 'medium' or 'low'; null: not judged", True, label=True),
            Column(
                "fate",
                TEXT,
                "'whole', 'edited', 'condensed', 'reduced', 'cut', 'dropped'",
                label=True,
            ),
            Column("tokens_before", INT, "length of the chunk, word pieces"),
            Column("tokens_after", INT, "length of the text, word pieces"),
            Column("text", TEXT, "text in the prompt; empty: left out"),
            *SPENT,
        ),
        RESULT,
        ("query_id", "sample", "rank"),
        checks=(
            TableCheck(
                "made_from_contexts",
                "Each passage is one of its question's contexts, and longer than it only if it "
                "was edited.",
                "refined passage",
                (
                    Rule(
                        lacks("query_id, node_id", "contexts"),
                        "are not among their question's contexts",
                    ),
                    Rule(
                        "tokens_after > tokens_before AND fate <> 'edited'",
                        "are longer though they were not edited",
                    ),
                ),
                "query_id, node_id, rank, fate, tokens_before, tokens_after",
            ),
        ),
    ),
)
