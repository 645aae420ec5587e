"""Tables of Graph of Records."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    DOCUMENT_LEVEL,
    FLOAT,
    FLOAT32,
    INT,
    RESULT,
    TEXT,
    TEXTS,
    VECTOR,
)
from gsum_resources.store.table import Column, Rule, Table, TableCheck, lacks

_CHUNKS_AND_RESPONSES = """
    SELECT chunk_id AS node_id, document_id FROM "chunks"
    UNION ALL SELECT response_id, document_id FROM "gor.historical_responses"
"""

TABLES = (
    Table(
        "gor.simulated_queries",
        "question simulated about a passage",
        (
            Column(
                "query_id", TEXT, "content hash of document, source passage and text", label=True
            ),
            DOCUMENT_ID,
            Column("round", INT, "number of the question in its document, from 1"),
            Column("chunk_id", TEXT, "source passage of the question", label=True),
            Column("text", TEXT, "the question"),
            Column("score", INT, "score by the judge model, 1 to 10; null: not judged", True),
            Column("model", TEXT, "language model that wrote it", label=True),
        ),
        DOCUMENT_LEVEL,
        ("query_id",),
    ),
    Table(
        "gor.historical_responses",
        "simulated question with a response",
        (
            Column("response_id", TEXT, "content hash of question and answer", label=True),
            DOCUMENT_ID,
            Column("query_id", TEXT, "the simulated question", label=True),
            Column("round", INT, "round of the simulated question, from 1"),
            Column("text", TEXT, "the answer"),
            Column("node_ids", TEXTS, "nodes retrieved for it, best first"),
            Column("model", TEXT, "language model that wrote it", label=True),
            Column("tokens_in", INT, "tokens read by the model"),
            Column("tokens_out", INT, "tokens written by the model"),
            Column("query_embedding", VECTOR, "unit-length vector of the question"),
        ),
        DOCUMENT_LEVEL,
        ("response_id",),
    ),
    Table(
        "gor.record_nodes",
        "passage or response",
        (
            Column("node_id", TEXT, "chunk_id or response_id, by kind", label=True),
            DOCUMENT_ID,
            Column("kind", TEXT, "'chunk' or 'response'", label=True),
            Column("position", INT, "position in the document, or round of the response"),
            Column("degree", INT, "edges at the node; 0: isolated"),
            Column("text", TEXT, "the passage or the response"),
            Column("embedding", VECTOR, "unit-length vector of the text"),
        ),
        DOCUMENT_LEVEL,
        ("node_id",),
        checks=(
            TableCheck(
                "are_chunks_and_responses",
                "The nodes are the chunks and the responses of their documents.",
                "node",
                (
                    Rule(
                        f"node_id NOT IN (SELECT node_id FROM ({_CHUNKS_AND_RESPONSES}))",
                        "are neither a chunk nor a response",
                    ),
                    Rule(
                        lacks("node_id", "gor.record_nodes"),
                        "have no node",
                        "chunk or response|chunks and responses",
                        _CHUNKS_AND_RESPONSES,
                    ),
                ),
                "node_id, document_id",
            ),
        ),
    ),
    Table(
        "gor.record_edges",
        "pair of a response and a node that it used",
        (
            Column("source_id", TEXT, "the node used", label=True),
            Column("target_id", TEXT, "the response that used it", label=True),
            DOCUMENT_ID,
            Column("rank", INT, "rank of the node in the retrieval, from 1"),
        ),
        DOCUMENT_LEVEL,
        ("source_id", "target_id"),
        checks=(
            TableCheck(
                "join_nodes",
                "Each edge leads from a node to a later response of the same document.",
                "edge",
                (
                    Rule(
                        "is_right IS NOT true",
                        "do not lead from a node to a later response of its document",
                    ),
                ),
                "document_id, source_id, target_id",
                """
                SELECT e.*, s.document_id = e.document_id AND t.document_id = e.document_id
                    AND t.kind = 'response'
                    AND (s.kind = 'chunk' OR s.position < t.position) AS is_right
                FROM "gor.record_edges" e
                LEFT JOIN "gor.record_nodes" s ON s.node_id = source_id
                LEFT JOIN "gor.record_nodes" t ON t.node_id = target_id
                """,
            ),
        ),
    ),
    Table(
        "gor.node_rankings",
        "pair of a simulated question and a node of its document",
        (
            DOCUMENT_ID,
            Column("query_id", TEXT, "the simulated question", label=True),
            Column("node_id", TEXT, "the node", label=True),
            Column("rank", INT, "from 1, most similar first"),
            Column("f1", FLOAT32, "BERTScore F1 with the question's source passage"),
        ),
        DOCUMENT_LEVEL,
        ("query_id", "node_id"),
        checks=(
            TableCheck(
                "source_comes_first",
                "No node is more similar to a question's source passage than that passage itself.",
                "question",
                (Rule("f1 IS NULL OR f1 < f1_max", "do not rank their own source first"),),
                examined="""
    SELECT query_id, any_value(chunk_id) AS node_id,
        max(f1) FILTER (node_id = chunk_id) AS f1, max(f1) AS f1_max
    FROM "gor.node_rankings" r LEFT JOIN "gor.simulated_queries" q USING (query_id)
    GROUP BY query_id""",
            ),
        ),
    ),
    Table(
        "gor.model",
        "trained network",
        (
            Column("encoder", TEXT, "name of the architecture", label=True),
            Column("dimension", INT, "length of input and output embeddings"),
            Column(
                "embedding_model", TEXT, "identity of the embedder of its training data", label=True
            ),
            Column("epochs", INT, "passes over all training graphs"),
            Column("n_graphs", INT, "number of training documents"),
            Column("learnt_from", TEXTS, "hashes of the ids of the training documents"),
            Column("settings", TEXT, "training settings, JSON", label=True),
            Column("weights", pa.binary(), "the checkpoint, safetensors"),
        ),
        RESULT,
    ),
    Table(
        "gor.training_log",
        "epoch of a training",
        (
            Column("epoch", INT, "from 1"),
            Column("loss", FLOAT, "L_CL + alpha L_RANK, nats, mean over questions"),
            Column("loss_cl", FLOAT, "contrastive loss L_CL, nats"),
            Column("loss_rank", FLOAT, "ranking loss L_RANK before alpha, nats"),
            Column(
                "entropy", FLOAT, "mean entropy of a question's similarities to its nodes, nats"
            ),
            Column("learning_rate", FLOAT, "learning rate of Adam"),
            Column("seconds", FLOAT, "wall time", measured=True),
        ),
        RESULT,
        ("epoch",),
    ),
    Table(
        "gor.node_embeddings",
        "node of a graph of records",
        (
            Column("node_id", TEXT, "chunk_id or response_id, by kind", label=True),
            DOCUMENT_ID,
            Column("kind", TEXT, "'chunk' or 'response'", label=True),
            Column("embedding", VECTOR, "output of the trained network"),
        ),
        RESULT,
        ("node_id",),
    ),
    Table(
        "gor.source_ranks",
        "simulated question with the ranks of its source passage",
        (
            Column("query_id", TEXT, "the simulated question", label=True),
            DOCUMENT_ID,
            Column("is_learnt", pa.bool_(), "whether the network was trained on the document"),
            Column("chunk_rank_before", INT, "rank of the source among chunks, by dense retrieval"),
            Column("chunk_rank", INT, "rank of the source among chunks, by trained embeddings"),
            Column("rank_before", INT, "rank of the source among all nodes, by text embeddings"),
            Column("rank", INT, "rank of the source among all nodes, by trained embeddings"),
            Column("entropy_before", FLOAT, "entropy of similarities to the text embeddings, nats"),
            Column("entropy", FLOAT, "entropy of similarities to the trained embeddings, nats"),
        ),
        RESULT,
        ("query_id",),
    ),
)
