"""Every table of the warehouse: columns, types, meanings. The single source of truth.

The store checks what is written against it, DuckDB's views and the UI's column descriptions are
made from it. `corpus`, `bucket` and `method` are not columns of a file: they stand in its path,
and are added when a table is read. The tables of a method stand in its folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

import pyarrow as pa

from gsum_assets.columns import (
    DOCUMENT_ID,
    DOCUMENT_LEVEL,
    FLOAT,
    INT,
    LINE,
    QUERY_ID,
    RESULT,
    SPENT,
    TEXT,
    TEXTS,
    VECTOR,
)
from gsum_assets.registered import FOLDERS
from gsum_resources.arrow import pc
from gsum_resources.table import Column, Table

_OF_METHODS = [import_module(f"{folder}.tables").TABLES for folder in FOLDERS]

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            "source_documents",
            "document found in the corpus folder",
            (
                DOCUMENT_ID,
                Column("file", TEXT, "file that holds it, relative to the corpus folder"),
                LINE,
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
            "source_graph",
            "file of a given graph found in the corpus folder",
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
                DOCUMENT_ID,
                Column("title", TEXT, "title, or the id where the source names none"),
                Column(
                    "text",
                    TEXT,
                    "full text, offsets of chunks refer to it; no blanks at its end",
                ),
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
                DOCUMENT_ID,
                Column("file", TEXT, "file that holds it, relative to the corpus folder"),
                LINE,
                Column("reason", TEXT, "what is wrong and how to repair it"),
                Column(
                    "is_other_type", pa.bool_(), "a file of a type that gsum does not read at all"
                ),
            ),
            DOCUMENT_LEVEL,
        ),
        Table(
            "converted_documents",
            "document whose file was converted to text",
            (
                DOCUMENT_ID,
                Column("content_hash", TEXT, "hash of the file's bytes"),
                Column("converter", TEXT, "what converted it, with its version"),
                Column("title", TEXT, "title that the document gives itself; empty: none"),
                Column("text", TEXT, "plain text or Markdown"),
                Column("page_starts", pa.list_(INT), "first character of each page or slide"),
            ),
            DOCUMENT_LEVEL,
            ("document_id",),
        ),
        Table(
            "document_sections",
            "page, slide or heading of a document",
            (
                DOCUMENT_ID,
                Column("kind", TEXT, "'page', 'slide' or 'heading'"),
                Column("position", INT, "place among those of its kind, from 1: the page's number"),
                Column("level", INT, "of a heading, 1 the highest; 0 for pages and slides"),
                Column("label", TEXT, "the page's number, or the heading's text"),
                Column("start", INT, "its first character in the document's text"),
            ),
            DOCUMENT_LEVEL,
            ("document_id", "kind", "position"),
        ),
        Table(
            "chunks",
            "passage of a document",
            (
                Column("chunk_id", TEXT, "content hash of document, text and occurrence"),
                DOCUMENT_ID,
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
                DOCUMENT_ID,
                Column("embedding", VECTOR, "unit-length vector of the chunk's text"),
            ),
            DOCUMENT_LEVEL,
            ("chunk_id",),
        ),
        Table(
            "queries",
            "question",
            (
                QUERY_ID,
                Column("text", TEXT, "the question as a person asked it"),
                Column("retrieval_text", TEXT, "what retrieval searches for; mostly the same"),
                Column(
                    "kind", TEXT, "'general' asks for a whole, 'specific' for a part, or a type"
                ),
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
            "query_embeddings",
            "question",
            (
                QUERY_ID,
                Column("embedding", VECTOR, "unit-length vector of its retrieval_text"),
            ),
            ("corpus",),
            ("query_id",),
        ),
        Table(
            "rankings",
            "question, level and rank, to depth 100",
            (
                QUERY_ID,
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
                QUERY_ID,
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
                QUERY_ID,
                Column("sample", INT, "which of several contexts it rests on, from 0; mostly one"),
                Column("text", TEXT, "the answer"),
                *SPENT,
            ),
            RESULT,
            ("query_id", "sample"),
        ),
        Table(
            "scores",
            "question and metric",
            (
                QUERY_ID,
                Column("metric", TEXT, "rouge1, bertscore_f1, exact_match, p@10, context_r, …"),
                Column(
                    "k",
                    INT,
                    "null: of the answer in summaries; else of one made from so many passages, "
                    "for the table curves",
                    True,
                ),
                Column("value", FLOAT, "0 to 1, higher is better; context_tokens: word pieces"),
                Column("latency_s", FLOAT, "seconds from question to answer", measured=True),
            ),
            RESULT,
            ("query_id", "metric", "k"),
        ),
        Table(
            "leaderboard",
            "method, split, kind of question and metric",
            (
                Column("method", TEXT, "the method"),
                Column("split", TEXT, "train, dev or test; all: together"),
                Column("kind", TEXT, "of question: 'general', 'specific', 'fact-retrieval', …"),
                Column("metric", TEXT, "rouge1, rougeL, p@10, g_eval_relevance, …"),
                Column("mean", FLOAT, "mean over the questions"),
                Column("low", FLOAT, "lower end of the mean's 95% interval"),
                Column("high", FLOAT, "upper end of the mean's 95% interval"),
                Column("n", INT, "number of questions"),
                Column(
                    "p_best", FLOAT, "that it equals the best, for all pairs; null: the best", True
                ),
                Column("ties_best", pa.bool_(), "no significant difference from the best (5%)"),
                Column("latency_s", FLOAT, "mean seconds from question to answer", measured=True),
            ),
            ("corpus",),
            ("method", "split", "kind", "metric"),
        ),
        Table(
            "curves",
            "method, number of passages read, split, kind of question and metric",
            (
                Column("method", TEXT, "the method"),
                Column("k", INT, "passages read, of the list `k` in [retrieval]"),
                Column("split", TEXT, "train, dev or test; all: together"),
                Column("kind", TEXT, "the kind of question, as in leaderboard"),
                Column("metric", TEXT, "rouge1, context_r, context_tokens, …"),
                Column("mean", FLOAT, "mean over the questions"),
                Column("low", FLOAT, "lower end of the mean's 95% interval"),
                Column("high", FLOAT, "upper end of the mean's 95% interval"),
                Column("n", INT, "number of questions"),
            ),
            ("corpus",),
            ("method", "k", "split", "kind", "metric"),
        ),
        Table(
            "comparisons",
            "pair of methods, split, kind of question and metric",
            (
                Column("method", TEXT, "the method"),
                Column("opponent", TEXT, "what it is compared with, later in the alphabet"),
                Column("split", TEXT, "train, dev or test; all: together"),
                Column("kind", TEXT, "of question: 'general', 'specific', 'fact-retrieval', …"),
                Column("metric", TEXT, "rouge1, rougeL, p@10, …"),
                Column("difference", FLOAT, "mean of method - opponent over the same questions"),
                Column("low", FLOAT, "lower end of its 95% interval"),
                Column("high", FLOAT, "upper end of its 95% interval"),
                Column("p_value", FLOAT, "two-sided, of no difference; for this pair alone"),
                Column("p_adjusted", FLOAT, "the same, for all pairs of the metric at once"),
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
                QUERY_ID,
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
                Column("is_own", pa.bool_(), "whether that model wrote an answer that it judged"),
                Column(
                    "share_shown",
                    FLOAT,
                    "consistency: share of what the answer was written from that the judge was "
                    "shown, in characters, best first; null: it is not shown",
                    True,
                ),
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
                Column("low", FLOAT, "lower end of its 95% interval", True),
                Column("high", FLOAT, "upper end of its 95% interval", True),
                Column("p_adjusted", FLOAT, "of a rate of 1/2, for all pairs and criteria", True),
                Column("n", INT, "questions with a verdict"),
                Column("wins", INT, "verdicts for the method"),
                Column("ties", INT, "verdicts for neither"),
                Column("losses", INT, "verdicts for the opponent"),
                Column("unparsed", INT, "replies that held no verdict"),
                Column("first_won", FLOAT, "share of decided verdicts for the first shown", True),
                Column("disagreement", FLOAT, "share of both orders that differ in winner", True),
                Column("is_own", pa.bool_(), "whether the judge wrote one of the two's answers"),
            ),
            ("corpus",),
            ("method", "opponent", "criterion"),
        ),
        Table(
            "generated_questions",
            "question written for a persona",
            (
                QUERY_ID,
                Column("persona", TEXT, "who asks: name and description"),
                Column("task", TEXT, "what the persona wants to do"),
                Column("text", TEXT, "the question, about the corpus as a whole"),
                Column("model", TEXT, "language model that wrote it"),
            ),
            ("corpus",),
            ("query_id",),
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
                Column("calls", INT, "answers that it took, re-asks included", True),
                Column("retries", INT, "attempts that got no answer"),
                Column("structured", pa.bool_(), "whether JSON was wanted", True),
                Column("left_out", INT, "invalid items of the reply that were dropped", True),
                Column("cached", pa.bool_(), "answered from the memo, at no cost"),
                Column("cost_usd", FLOAT, "price of the call in US dollars"),
                Column("error", TEXT, "why it failed; null where it did not", True),
                Column("run_id", TEXT, "run that asked; '' outside a run", True),
                Column("time", pa.timestamp("us", "UTC"), "when it ended", measured=True),
            ),
            ("corpus",),
        ),
        *(
            Table(
                f"{folder.rpartition('.')[2]}.index",
                "table that questions are answered from",
                (
                    Column("table_name", TEXT, "the table, as SQL names it"),
                    Column("n_rows", pa.int64(), "its rows of this corpus"),
                    Column("content_hash", TEXT, "changes with any of these rows"),
                ),
                ("corpus",),
                ("table_name",),
            )
            for folder in FOLDERS
        ),
        *(table for tables in _OF_METHODS for table in tables),
    )
}

RESULT_TABLES = frozenset({"rankings", "contexts", "summaries", "scores"})


def table_of(asset_path: Sequence[str]) -> Table:
    """The table that an asset writes: `retrieval/scores` -> scores, `gor/model` -> gor.model.

    Raises
    ------
    KeyError
        If `tables.py` declares no such table.
    """
    name = asset_path[-1] if asset_path[-1] in RESULT_TABLES else ".".join(asset_path)
    if name not in TABLES:
        raise KeyError(f"asset '{'/'.join(asset_path)}': no table '{name}' in tables.py; add it")
    return TABLES[name]


def by_corpus(rows: pa.Table) -> Iterator[tuple[str, pa.Table]]:
    """Each corpus's share of a table that may span several, in order of their names."""
    for corpus in sorted(pc.unique(rows["corpus"]).to_pylist()):
        yield corpus, rows.filter(pc.equal(rows["corpus"], corpus))
