"""Every table of the warehouse: columns, types, meanings. The single source of truth.

The store checks what is written against it, DuckDB's views and the UI's column descriptions are
made from it. `corpus`, `bucket` and `method` are not columns of a file: they stand in its path,
and are added when a table is read.
"""

from collections.abc import Iterator, Mapping, Sequence

import pyarrow as pa

from gsum_resources.arrow import pc
from gsum_resources.table import Column, Table

TEXT = pa.string()
INT = pa.int32()
FLOAT = pa.float64()
FLOAT32 = pa.float32()
TEXTS = pa.list_(pa.string())
VECTOR = pa.list_(pa.float32())  # of one length within a file: stored as fixed-size lists

DOCUMENT_LEVEL = ("corpus", "bucket")
RESULT = ("corpus", "method")

_DOCUMENT_ID = Column("document_id", TEXT, "id of the document, unique within its corpus")
_QUERY_ID = Column("query_id", TEXT, "id of the question, unique within its corpus")
_LEVEL = Column("level", TEXT, "'document' or 'node', a chunk")
_PASSAGE_ID = Column("passage_id", TEXT, "the passage, document_id or chunk_id by level")
_LINE = Column(
    "line",
    INT,
    "line or row within that file, from 1; 0 for a whole file",
    measured=True,  # a line put in above moves those below, and changes nothing
)

_SPENT = (
    Column("model", TEXT, "language model that wrote it; empty: none was asked"),
    Column("calls", INT, "language model calls it took"),
    Column("tokens_in", INT, "tokens read by the model"),
    Column("tokens_out", INT, "tokens written by the model"),
    Column("latency_s", FLOAT, "seconds the calls took", measured=True),
    Column("cost_usd", FLOAT, "price of the calls in US dollars", measured=True),
)

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            "source_documents",
            "document found in the corpus folder",
            (
                _DOCUMENT_ID,
                Column("file", TEXT, "file that holds it, relative to the corpus folder"),
                _LINE,
                Column("content_hash", TEXT, "hash of the document's bytes and its settings"),
            ),
            DOCUMENT_LEVEL,
            ("document_id", "file", "line"),
        ),
        Table(
            "source_queries",
            "file of questions found in the corpus folder",
            (
                Column("file", TEXT, "name of the file, relative to the corpus folder"),
                Column("content_hash", TEXT, "hash of its bytes"),
            ),
            ("corpus",),
            ("file",),
        ),
        Table(
            "documents",
            "document",
            (
                _DOCUMENT_ID,
                Column("title", TEXT, "title, or the id where the source names none"),
                Column("text", TEXT, "full text, offsets of chunks refer to it"),
                Column("n_words", INT, "length in words"),
                Column(
                    "cites", TEXTS, "documents that it cites; null: the source does not say", True
                ),
            ),
            DOCUMENT_LEVEL,
            ("document_id",),
        ),
        Table(
            "rejected_documents",
            "document that could not be taken in",
            (
                _DOCUMENT_ID,
                Column("file", TEXT, "file that holds it, relative to the corpus folder"),
                _LINE,
                Column("reason", TEXT, "what is wrong and how to repair it"),
            ),
            DOCUMENT_LEVEL,
        ),
        Table(
            "chunks",
            "passage of a document",
            (
                Column("chunk_id", TEXT, "content hash of document, text and occurrence"),
                _DOCUMENT_ID,
                Column("position", INT, "place within the document, from 0"),
                Column("start", INT, "first character in the document's text"),
                Column("end", INT, "one past the last character in the document's text"),
                Column("n_tokens", INT, "length in word pieces"),
                Column("text", TEXT, "the passage, equal to text[start:end] of the document"),
            ),
            DOCUMENT_LEVEL,
            ("chunk_id",),
        ),
        Table(
            "chunk_embeddings",
            "chunk",
            (
                Column("chunk_id", TEXT, "the chunk"),
                _DOCUMENT_ID,
                Column("embedding", VECTOR, "unit-length vector of the chunk's text"),
            ),
            DOCUMENT_LEVEL,
            ("chunk_id",),
        ),
        Table(
            "queries",
            "question",
            (
                _QUERY_ID,
                Column("text", TEXT, "the question as a person asked it"),
                Column("retrieval_text", TEXT, "what retrieval searches for; mostly the same"),
                Column("kind", TEXT, "'general' asks for a whole, 'specific' for a part"),
                Column("document_id", TEXT, "the document asked about; null: the corpus", True),
                Column("references", TEXTS, "reference summaries"),
                Column("relevant_document_ids", TEXTS, "documents that an answer rests on"),
                Column("relevant_chunk_ids", TEXTS, "passages that hold the source's evidence"),
                Column("form", TEXT, "of the answer: 'summary', 'short' or 'choice'"),
                Column("options", TEXTS, "what a 'choice' is made from, in order; else empty"),
                Column("split", TEXT, "train, dev or test, as the source names it"),
            ),
            ("corpus",),
            ("query_id",),
        ),
        Table(
            "rankings",
            "question, level and rank, to depth 100",
            (
                _QUERY_ID,
                Column("level", TEXT, "'document' or 'node'"),
                Column("rank", INT, "from 1, best first"),
                Column("item_id", TEXT, "document_id or node id, by level"),
                Column("score", FLOAT, "the method's own score, higher is better"),
                Column("latency_s", FLOAT, "seconds the question took to rank", measured=True),
            ),
            RESULT,
            ("query_id", "level", "rank"),
        ),
        Table(
            "contexts",
            "passage given to the language model",
            (
                _QUERY_ID,
                Column(
                    "sample", INT, "which of several contexts, from 0; mostly one: full_context"
                ),
                Column("rank", INT, "from 1, best first"),
                Column("node_id", TEXT, "chunk_id, response_id, …, by kind"),
                Column("node_kind", TEXT, "'chunk', 'response', 'report', …"),
                Column("document_id", TEXT, "document it comes from; null: several", True),
                Column("position", INT, "place in its document's reading order; null: none", True),
                Column("score", FLOAT, "the method's own score, higher is better"),
                Column("text", TEXT, "the passage"),
            ),
            RESULT,
            ("query_id", "sample", "rank"),
        ),
        Table(
            "summaries",
            "question",
            (
                _QUERY_ID,
                Column("sample", INT, "which of several contexts it rests on, from 0; mostly one"),
                Column("text", TEXT, "the answer"),
                *_SPENT,
            ),
            RESULT,
            ("query_id", "sample"),
        ),
        Table(
            "scores",
            "question and metric",
            (
                _QUERY_ID,
                Column("metric", TEXT, "rouge1, bertscore_f1, exact_match, p@10, …"),
                Column("value", FLOAT, "0 to 1, higher is better"),
                Column("latency_s", FLOAT, "seconds from question to answer", measured=True),
            ),
            RESULT,
            ("query_id", "metric"),
        ),
        Table(
            "leaderboard",
            "method, split, kind of question and metric",
            (
                Column("method", TEXT, "the method"),
                Column("split", TEXT, "train, dev or test; all: together"),
                Column("kind", TEXT, "'general' or 'specific'"),
                Column("metric", TEXT, "rouge1, rougeL, p@10, g_eval_relevance, …"),
                Column("mean", FLOAT, "mean over the questions"),
                Column("low", FLOAT, "lower end of the mean's 95% bootstrap interval"),
                Column("high", FLOAT, "upper end of the mean's 95% bootstrap interval"),
                Column("n", INT, "number of questions"),
                Column("p_best", FLOAT, "that it equals the best, Holm; null: the best", True),
                Column("ties_best", pa.bool_(), "no significant difference from the best (5%)"),
                Column("latency_s", FLOAT, "mean seconds from question to answer", measured=True),
            ),
            ("corpus",),
            ("method", "split", "kind", "metric"),
        ),
        Table(
            "comparisons",
            "pair of methods, split, kind of question and metric",
            (
                Column("method", TEXT, "the method"),
                Column("opponent", TEXT, "what it is compared with, later in the alphabet"),
                Column("split", TEXT, "train, dev or test; all: together"),
                Column("kind", TEXT, "'general' or 'specific'"),
                Column("metric", TEXT, "rouge1, rougeL, p@10, …"),
                Column("difference", FLOAT, "mean of method - opponent over the same questions"),
                Column("low", FLOAT, "lower end of its 95% interval, paired bootstrap"),
                Column("high", FLOAT, "upper end of its 95% interval, paired bootstrap"),
                Column("p_value", FLOAT, "two-sided, of no difference; for this pair alone"),
                Column("n", INT, "questions that both answered"),
            ),
            ("corpus",),
            ("method", "opponent", "split", "kind", "metric"),
        ),
        Table(
            "costs",
            "method and stage",
            (
                Column("method", TEXT, "the method"),
                Column("stage", TEXT, "'index' or 'query'"),
                Column("n", INT, "documents indexed, or questions answered"),
                Column("calls", INT, "language model calls", measured=True),
                Column("tokens_in", pa.int64(), "tokens read by the model", measured=True),
                Column("tokens_out", pa.int64(), "tokens written by the model", measured=True),
                Column("latency_s", FLOAT, "seconds of calls and retrieval", measured=True),
                Column("cost_usd", FLOAT, "price in US dollars", measured=True),
            ),
            ("corpus",),
            ("method", "stage"),
        ),
        Table(
            "judgements",
            "verdict of a judge",
            (
                _QUERY_ID,
                Column("judge", TEXT, "'pairwise', 'g_eval' or 'llm_rater'"),
                Column("criterion", TEXT, "comprehensiveness, …, overall; consistency; lr1; …"),
                Column("method", TEXT, "the method judged"),
                Column("opponent", TEXT, "pairwise: the other, later in the alphabet", True),
                Column("first", TEXT, "pairwise: the method whose answer was shown first", True),
                Column("repeat", INT, "which of several times it was asked, from 1"),
                Column("verdict", TEXT, "win, loss, tie; 1 to 5; yes, partly, no; unparsed"),
                Column("value", FLOAT, "1, 0, 0.5; 1 to 5; 1 or 0; null: unparsed", True),
                Column("reason", TEXT, "what the judge gave as its reason, or why it was unparsed"),
                Column("model", TEXT, "language model that judged; empty: not asked"),
            ),
            ("corpus",),
            ("query_id", "judge", "criterion", "method", "opponent", "first", "repeat"),
        ),
        Table(
            "win_rates",
            "method, opponent and criterion",
            (
                Column("method", TEXT, "the method"),
                Column("opponent", TEXT, "the other; each pair stands here both ways"),
                Column("criterion", TEXT, "comprehensiveness, …, overall"),
                Column("win_rate", FLOAT, "a tie counts half; null: no verdict", True),
                Column("low", FLOAT, "lower end of its 95% bootstrap interval", True),
                Column("high", FLOAT, "upper end of its 95% bootstrap interval", True),
                Column("n", INT, "questions with a verdict"),
                Column("wins", INT, "verdicts for the method"),
                Column("ties", INT, "verdicts for neither"),
                Column("losses", INT, "verdicts for the opponent"),
                Column("unparsed", INT, "replies that held no verdict"),
                Column("first_won", FLOAT, "share of decided verdicts for the first shown", True),
                Column("disagreement", FLOAT, "share of both orders that differ in winner", True),
            ),
            ("corpus",),
            ("method", "opponent", "criterion"),
        ),
        Table(
            "generated_questions",
            "question written for a persona",
            (
                _QUERY_ID,
                Column("persona", TEXT, "who asks: name and description"),
                Column("task", TEXT, "what the persona wants to do"),
                Column("text", TEXT, "the question, about the corpus as a whole"),
                Column("model", TEXT, "language model that wrote it"),
            ),
            ("corpus",),
            ("query_id",),
        ),
        Table(
            "gor.simulated_queries",
            "question simulated about a passage",
            (
                Column("query_id", TEXT, "content hash of document, source passage and text"),
                _DOCUMENT_ID,
                Column("round", INT, "place in the order of asking, from 1"),
                Column("chunk_id", TEXT, "the passage that it was asked of"),
                Column("text", TEXT, "the question"),
                Column("score", INT, "the judge's verdict, 1 to 10; null: not judged", True),
                Column("model", TEXT, "language model that wrote it"),
            ),
            DOCUMENT_LEVEL,
            ("query_id",),
        ),
        Table(
            "gor.historical_responses",
            "simulated question that was answered",
            (
                Column("response_id", TEXT, "content hash of question and answer"),
                _DOCUMENT_ID,
                Column("query_id", TEXT, "the simulated question"),
                Column("round", INT, "place in the order of asking, from 1"),
                Column("text", TEXT, "the answer"),
                Column("node_ids", TEXTS, "nodes that it rests on, best first"),
                Column("model", TEXT, "language model that wrote it"),
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
                Column("node_id", TEXT, "chunk_id or response_id, by kind"),
                _DOCUMENT_ID,
                Column("kind", TEXT, "'chunk' or 'response'"),
                Column("position", INT, "place in the document, or round of the response"),
                Column("degree", INT, "edges at the node; 0: isolated"),
                Column("text", TEXT, "the passage or the response"),
                Column("embedding", VECTOR, "unit-length vector of the text"),
            ),
            DOCUMENT_LEVEL,
            ("node_id",),
        ),
        Table(
            "gor.record_edges",
            "node that a response used",
            (
                Column("source_id", TEXT, "the node used"),
                Column("target_id", TEXT, "the response that used it"),
                _DOCUMENT_ID,
                Column("rank", INT, "place of the node in the retrieval, from 1"),
            ),
            DOCUMENT_LEVEL,
            ("source_id", "target_id"),
        ),
        Table(
            "gor.node_rankings",
            "simulated question and node of its document",
            (
                _DOCUMENT_ID,
                Column("query_id", TEXT, "the simulated question"),
                Column("node_id", TEXT, "the node"),
                Column("rank", INT, "from 1, most similar first"),
                Column("f1", FLOAT32, "BERTScore F1 against the question's source passage"),
            ),
            DOCUMENT_LEVEL,
            ("query_id", "node_id"),
        ),
        Table(
            "gor.model",
            "trained network",
            (
                Column("encoder", TEXT, "name of the architecture"),
                Column("dimension", INT, "of the embeddings that it takes and gives"),
                Column("embedding_model", TEXT, "identity of the embedder it was trained on"),
                Column("epochs", INT, "passes over all graphs"),
                Column("n_graphs", INT, "documents learnt from"),
                Column("settings", TEXT, "training settings, JSON"),
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
                Column("loss_cl", FLOAT, "contrastive part, nats"),
                Column("loss_rank", FLOAT, "ranking part before alpha, nats"),
                Column("entropy", FLOAT, "of a question's similarities to its nodes, nats"),
                Column("learning_rate", FLOAT, "of Adam"),
                Column("seconds", FLOAT, "wall time", measured=True),
            ),
            RESULT,
            ("epoch",),
        ),
        Table(
            "gor.node_embeddings",
            "node of a graph of records",
            (
                Column("node_id", TEXT, "chunk_id or response_id, by kind"),
                _DOCUMENT_ID,
                Column("kind", TEXT, "'chunk' or 'response'"),
                Column("embedding", VECTOR, "what the trained network makes of it"),
            ),
            RESULT,
            ("node_id",),
        ),
        Table(
            "gor.source_ranks",
            "simulated question, and how well it finds the passage it was asked of",
            (
                Column("query_id", TEXT, "the simulated question"),
                _DOCUMENT_ID,
                Column("is_learnt", pa.bool_(), "whether the network was trained on the document"),
                Column("rank_before", INT, "of the source among all nodes, by their texts"),
                Column("rank", INT, "of the source among all nodes, by the trained embeddings"),
                Column("chunk_rank_before", INT, "of the source among chunks, by their texts"),
                Column("chunk_rank", INT, "of the source among chunks, by trained embeddings"),
                Column("entropy_before", FLOAT, "of similarities to the nodes' texts, nats"),
                Column("entropy", FLOAT, "of similarities to the trained embeddings, nats"),
            ),
            RESULT,
            ("query_id",),
        ),
        Table(
            "lightpal.candidates",
            "passage and another that resembles it",
            (
                _LEVEL,
                _PASSAGE_ID,
                Column("candidate_id", TEXT, "the other passage"),
                Column("rank", INT, "from 1, most similar first"),
                Column("similarity", FLOAT32, "cosine; of documents that of their closest chunks"),
            ),
            ("corpus",),
            ("level", "passage_id", "candidate_id"),
        ),
        Table(
            "lightpal.context_scores",
            "passage and one of its candidates",
            (
                _LEVEL,
                _PASSAGE_ID,
                Column("candidate_id", TEXT, "the candidate"),
                Column(
                    "score",
                    FLOAT,
                    "log P(candidate | passage), nats per token; null: not to be had",
                    True,
                ),
            ),
            ("corpus",),
            ("level", "passage_id", "candidate_id"),
        ),
        Table(
            "lightpal.passage_edges",
            "edge of a passage graph",
            (
                Column("graph", TEXT, "'context', 'embedding' or 'walk': what chose its edges"),
                _LEVEL,
                Column("scope", TEXT, "'corpus', or 'document': both ends are of one document"),
                Column("source_id", TEXT, "the passage, document_id or chunk_id by level"),
                Column("target_id", TEXT, "the passage that it leads to"),
                Column("rank", INT, "from 1, best edge of the source first"),
                Column("weight", FLOAT, "of the step in a walk, before weights are made to sum 1"),
            ),
            ("corpus",),
            ("graph", "level", "scope", "source_id", "target_id"),
        ),
        Table(
            "lightpal.walk_trust",
            "graph that passage_walk walks, and how far it is trusted",
            (
                _LEVEL,
                Column("scope", TEXT, "'corpus' or 'document'"),
                Column("n_probes", INT, "passages held out and searched for"),
                Column("walk_evidence", FLOAT, "what the walk finds, by the other retriever, z"),
                Column("seed_evidence", FLOAT, "what the seeds find, by the other retriever, z"),
                Column("trust", FLOAT, "probability that the walk finds no worse, 0 to 1"),
            ),
            ("corpus",),
            ("level", "scope"),
        ),
        Table(
            "gae.graph_edges",
            "edge of the graph that an auto-encoder learns, either way alike",
            (
                _LEVEL,
                Column("kind", TEXT, "'neighbour', 'citation' or 'nearest': what joins its ends"),
                Column("source_id", TEXT, "one end, document_id or chunk_id by level"),
                Column("target_id", TEXT, "the other end"),
                Column("weight", FLOAT, "cosine of TF-IDF vectors; 1 for the other kinds"),
            ),
            ("corpus",),
            ("level", "kind", "source_id", "target_id"),
        ),
        Table(
            "gae.node_features",
            "passage",
            (
                _LEVEL,
                _PASSAGE_ID,
                Column("embedding", VECTOR, "weighted sum of TF-IDF and embedding after PCA"),
            ),
            ("corpus",),
            ("level", "passage_id"),
        ),
        Table(
            "gae.embeddings",
            "passage",
            (
                _LEVEL,
                _PASSAGE_ID,
                Column("embedding", VECTOR, "what the auto-encoder makes of it, not normalized"),
            ),
            ("corpus",),
            ("level", "passage_id"),
        ),
        Table(
            "gae.clusters",
            "passage, for each way of clustering",
            (
                _LEVEL,
                Column("clustering", TEXT, "how clusters were found: leiden-3, dbscan, k_means, …"),
                _PASSAGE_ID,
                Column("cluster", INT, "from 0, largest first"),
            ),
            ("corpus",),
            ("level", "clustering", "passage_id"),
        ),
        Table(
            "gae.clusterings",
            "way of clustering, and how good it is",
            (
                _LEVEL,
                Column("scope", TEXT, "what questions search: 'corpus', or 'document', one of it"),
                Column("clustering", TEXT, "how clusters were found: leiden-3, dbscan, k_means, …"),
                Column("is_chosen", pa.bool_(), "whether methods re-rank by it"),
                Column("weight", FLOAT, "of what re-ranking by it adds, 0 to 1"),
                Column("agreement", FLOAT, "paired t: what re-ranking finds, by another retriever"),
                Column(
                    "stability", FLOAT, "Jaccard of pairs found again without a tenth of passages"
                ),
                Column("n_clusters", INT, "number of clusters"),
                Column("largest", FLOAT, "share of the passages that the largest cluster has"),
                Column("silhouette", FLOAT, "of the embeddings, -1 to 1; null: one cluster", True),
                Column("pair_precision", FLOAT, "of pairs by questions; null: no labels", True),
                Column("pair_recall", FLOAT, "of pairs by questions; null: no labels", True),
            ),
            ("corpus",),
            ("level", "scope", "clustering"),
        ),
        Table(
            "gae.topics",
            "question and cluster among its passages",
            (
                _QUERY_ID,
                Column("cluster", INT, "as in gae.clusters"),
                Column("topic", TEXT, "what the cluster's passages are about"),
                Column("relevance", INT, "of the topic to the question, 1 to 10"),
                Column("n_passages", INT, "passages of the question in this cluster"),
                Column("n_read", INT, "of them those that fitted into the prompt"),
                *_SPENT,
            ),
            RESULT,
            ("query_id", "cluster"),
        ),
        Table(
            "gae.reflections",
            "question and passage",
            (
                _QUERY_ID,
                Column("node_id", TEXT, "the passage, a chunk_id"),
                Column("relevance", INT, "of the passage to the question, 1 to 10"),
                *_SPENT,
            ),
            RESULT,
            ("query_id", "node_id"),
        ),
        Table(
            "gae.refined_contexts",
            "passage as it is given to the language model",
            (
                _QUERY_ID,
                Column("sample", INT, "0: there is one context"),
                Column("rank", INT, "from 1, as in contexts"),
                Column("node_id", TEXT, "the chunk that it was made from, as in contexts"),
                Column("node_kind", TEXT, "'chunk'"),
                Column("document_id", TEXT, "document it comes from"),
                Column("position", INT, "place in its document's reading order"),
                Column("score", FLOAT, "relevance of topic and passage, weighted; 1 to 10", True),
                Column("grade", TEXT, "'high', 'medium' or 'low'; null: not judged", True),
                Column("fate", TEXT, "'whole', 'edited', 'condensed', 'reduced', 'cut', 'dropped'"),
                Column("tokens_before", INT, "length of the chunk, word pieces"),
                Column("tokens_after", INT, "length of the text, word pieces"),
                Column("text", TEXT, "what the model reads; empty: nothing of it"),
                *_SPENT,
            ),
            RESULT,
            ("query_id", "sample", "rank"),
        ),
        Table(
            "embedding_calls",
            "batch of texts that was embedded, or of pairs of passages that was scored",
            (
                Column("asset", TEXT, "asset that asked"),
                Column("model", TEXT, "identity of the embedder or scorer"),
                Column("n_texts", INT, "texts, or pairs, that no memo had"),
                Column("tokens_in", pa.int64(), "tokens that a server read; 0: a local model"),
                Column("latency_s", FLOAT, "seconds", measured=True),
                Column("cost_usd", FLOAT, "price in US dollars"),
                Column("time", pa.timestamp("us", "UTC"), "when it ended", measured=True),
            ),
            ("corpus",),
        ),
        Table(
            "llm_calls",
            "request made of a language model",
            (
                Column("asset", TEXT, "asset that asked"),
                Column("document_id", TEXT, "document concerned; '' for a whole corpus"),
                Column("model", TEXT, "identity of the model"),
                Column("prompt_hash", TEXT, "hash of everything the reply depends on"),
                Column("tokens_in", INT, "tokens read"),
                Column("tokens_out", INT, "tokens written"),
                Column("latency_s", FLOAT, "seconds", measured=True),
                Column("retries", INT, "attempts that got no answer"),
                Column("cached", pa.bool_(), "answered from the memo, at no cost"),
                Column("cost_usd", FLOAT, "price of the call in US dollars"),
                Column("error", TEXT, "why it failed; null where it did not", True),
                Column("time", pa.timestamp("us", "UTC"), "when it ended", measured=True),
            ),
            ("corpus",),
        ),
    )
}

_RESULT_TABLES = frozenset({"rankings", "contexts", "summaries", "scores"})


def table_of(asset_path: Sequence[str]) -> Table:
    """The table that an asset writes: `retrieval/scores` -> scores, `gor/model` -> gor.model.

    Raises
    ------
    KeyError
        If `tables.py` declares no such table.
    """
    name = asset_path[-1] if asset_path[-1] in _RESULT_TABLES else ".".join(asset_path)
    if name not in TABLES:
        raise KeyError(f"asset '{'/'.join(asset_path)}': no table '{name}' in tables.py; add it")
    return TABLES[name]


def by_corpus(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Each corpus's share of a table that may span several, in order of their names."""
    for corpus in sorted(pc.unique(rows["corpus"]).to_pylist()):
        yield corpus, rows.filter(pc.equal(rows["corpus"], corpus))
