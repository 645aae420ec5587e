"""Tables of Graph of Records."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    FLOAT32,
    check,
    document_table,
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

_CHUNKS_AND_RESPONSES = """
    SELECT chunk_id AS node_id, document_id FROM "chunks"
    UNION ALL SELECT response_id, document_id FROM "gor.historical_responses"
"""

TABLES = (
    document_table(
        "gor.simulated_queries",
        "question simulated about a passage",
        "query_id",
        label("query_id", "content hash of document, source passage and text"),
        DOCUMENT_ID,
        integer("round", "number of the question in its document, from 1"),
        label("chunk_id", "source passage of the question"),
        text("text", "the question"),
        integer("score", "score by the judge model, 1 to 10; null: not judged", nullable=True),
        label("model", "language model that wrote it"),
    ),
    document_table(
        "gor.historical_responses",
        "simulated question with a response",
        "response_id",
        label("response_id", "content hash of question and answer"),
        DOCUMENT_ID,
        label("query_id", "the simulated question"),
        integer("round", "round of the simulated question, from 1"),
        text("text", "the answer"),
        texts("node_ids", "nodes retrieved for it, best first"),
        label("model", "language model that wrote it"),
        integer("tokens_in", "tokens read by the model"),
        integer("tokens_out", "tokens written by the model"),
        vector("query_embedding", "unit-length vector of the question"),
    ),
    document_table(
        "gor.record_nodes",
        "passage or response",
        "node_id",
        label("node_id", "chunk_id or response_id, by kind"),
        DOCUMENT_ID,
        label("kind", "'chunk' or 'response'"),
        integer("position", "position in the document, or round of the response"),
        integer("degree", "edges at the node; 0: isolated"),
        text("text", "the passage or the response"),
        vector("embedding", "unit-length vector of the text"),
        check(
            "are_chunks_and_responses",
            "The nodes are the chunks and the responses of their documents.",
            "node",
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
            shown="node_id, document_id",
        ),
    ),
    document_table(
        "gor.record_edges",
        "pair of a response and a node that it used",
        "source_id, target_id",
        label("source_id", "the node used"),
        label("target_id", "the response that used it"),
        DOCUMENT_ID,
        integer("rank", "rank of the node in the retrieval, from 1"),
        check(
            "join_nodes",
            "Each edge leads from a node to a later response of the same document.",
            "edge",
            Rule(
                "is_right IS NOT true",
                "do not lead from a node to a later response of its document",
            ),
            shown="document_id, source_id, target_id",
            examined="""
                SELECT e.*, s.document_id = e.document_id AND t.document_id = e.document_id
                    AND t.kind = 'response'
                    AND (s.kind = 'chunk' OR s.position < t.position) AS is_right
                FROM "gor.record_edges" e
                LEFT JOIN "gor.record_nodes" s ON s.node_id = source_id
                LEFT JOIN "gor.record_nodes" t ON t.node_id = target_id
                """,
        ),
    ),
    document_table(
        "gor.node_rankings",
        "pair of a simulated question and a node of its document",
        "query_id, node_id",
        DOCUMENT_ID,
        label("query_id", "the simulated question"),
        label("node_id", "the node"),
        integer("rank", "from 1, most similar first"),
        Column("f1", FLOAT32, "BERTScore F1 with the question's source passage"),
        check(
            "source_comes_first",
            "No node is more similar to a question's source passage than that passage itself.",
            "question",
            Rule("f1 IS NULL OR f1 < f1_max", "do not rank their own source first"),
            examined="""
    SELECT query_id, any_value(chunk_id) AS node_id,
        max(f1) FILTER (node_id = chunk_id) AS f1, max(f1) AS f1_max
    FROM "gor.node_rankings" r LEFT JOIN "gor.simulated_queries" q USING (query_id)
    GROUP BY query_id""",
        ),
    ),
    result_table(
        "gor.model",
        "trained network",
        "",
        label("encoder", "name of the architecture"),
        integer("dimension", "length of input and output embeddings"),
        label("embedding_model", "identity of the embedder of its training data"),
        integer("epochs", "passes over all training graphs"),
        integer("n_graphs", "number of training documents"),
        texts("learnt_from", "hashes of the ids of the training documents"),
        label("settings", "training settings, JSON"),
        Column("weights", pa.binary(), "the checkpoint, safetensors"),
    ),
    result_table(
        "gor.training_log",
        "epoch of a training",
        "epoch",
        integer("epoch", "from 1"),
        number("loss", "L_CL + alpha L_RANK, nats, mean over documents"),
        number("loss_cl", "contrastive loss L_CL, nats"),
        number("loss_rank", "ranking loss L_RANK before alpha, nats"),
        number("entropy", "mean entropy of a question's similarities to its nodes, nats"),
        number("learning_rate", "learning rate of Adam at the epoch's first step"),
        number("seconds", "wall time", measured=True),
    ),
    result_table(
        "gor.node_embeddings",
        "node of a graph of records",
        "node_id",
        label("node_id", "chunk_id or response_id, by kind"),
        DOCUMENT_ID,
        label("kind", "'chunk' or 'response'"),
        vector("embedding", "output of the trained network"),
    ),
    result_table(
        "gor.source_ranks",
        "simulated question with the ranks of its source passage",
        "query_id",
        label("query_id", "the simulated question"),
        DOCUMENT_ID,
        flag("is_learnt", "whether the network was trained on the document"),
        integer("chunk_rank_before", "rank of the source among chunks, by dense retrieval"),
        integer("chunk_rank", "rank of the source among chunks, by trained embeddings"),
        integer("rank_before", "rank of the source among all nodes, by text embeddings"),
        integer("rank", "rank of the source among all nodes, by trained embeddings"),
        number("entropy_before", "entropy of similarities to the text embeddings, nats"),
        number("entropy", "entropy of similarities to the trained embeddings, nats"),
    ),
)
