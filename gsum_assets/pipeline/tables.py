"""Declarations of all tables of the warehouse: columns, types and meanings.

The store validates what is written against them; DuckDB's views and the UI's column descriptions
are derived from them. `corpus`, `bucket` and `method` are not columns of a file: they are part of
its path, and are added when a table is read. The tables of a method are declared in its folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    DOCUMENT_LEVEL,
    FLOAT,
    INT,
    LINE,
    QUERY_ID,
    RESULT,
    ROUNDING,
    SPENT,
    TEXT,
    TEXTS,
    TIME,
    VECTOR,
    mean_in_interval,
)
from gsum_assets.pipeline.registered import FOLDERS
from gsum_resources.store.arrow import pc
from gsum_resources.store.table import Column, Rule, Table, TableCheck, counts_up

_OF_METHODS = [import_module(f"{folder}.tables").TABLES for folder in FOLDERS]

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        Table(
            "source_documents",
            "document found in the corpus folder",
            (
                DOCUMENT_ID,
                Column("file", TEXT, "file that contains it, relative to the corpus folder"),
                LINE,
                Column(
                    "content_hash",
                    TEXT,
                    "hash of the document's bytes and its settings",
                    label=True,
                ),
                Column("added", TIME, "when it was first observed", True, measured=True),
                Column("changed", TIME, "when its present content was first observed", True, True),
            ),
            DOCUMENT_LEVEL,
            ("document_id", "file", "line"),
        ),
        Table(
            "source_queries",
            "file of questions found in the corpus folder",
            (
                Column("file", TEXT, "name of the file, relative to the corpus folder"),
                Column("content_hash", TEXT, "hash of its bytes", label=True),
            ),
            ("corpus",),
            ("file",),
        ),
        Table(
            "source_graph",
            "file of a given graph found in the corpus folder",
            (
                Column("file", TEXT, "name of the file, relative to the corpus folder"),
                Column("content_hash", TEXT, "hash of its bytes", label=True),
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
                    "full text, to which offsets of chunks refer; without trailing blanks",
                ),
                Column("n_words", INT, "length in words"),
                Column(
                    "cites", TEXTS, "documents that it cites; null: the source does not say", True
                ),
                Column(
                    "encoding",
                    TEXT,
                    "encoding of its text file, with the number of invalid bytes if there are any: "
                    "'utf-8', 'cp1252'; null: a record in UTF-8, or a converted file",
                    True,
                    label=True,
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
                Column("file", TEXT, "file that contains it, relative to the corpus folder"),
                LINE,
                Column("reason", TEXT, "what is wrong and how to repair it", label=True),
                Column(
                    "is_other_type",
                    pa.bool_(),
                    "whether it is a file of a type that gsum does not read",
                ),
            ),
            DOCUMENT_LEVEL,
        ),
        Table(
            "converted_documents",
            "document whose file was converted to text",
            (
                DOCUMENT_ID,
                Column("content_hash", TEXT, "hash of the file's bytes", label=True),
                Column("converter", TEXT, "name and version of the converter", label=True),
                Column("title", TEXT, "title in the document's metadata; empty: none"),
                Column("text", TEXT, "plain text or Markdown"),
                Column("page_starts", pa.list_(INT), "first character of each page or caption"),
                Column("page_labels", pa.list_(TEXT), "their names; empty: numbered from 1"),
            ),
            DOCUMENT_LEVEL,
            ("document_id",),
        ),
        Table(
            "document_sections",
            "page, time, row or heading of a document",
            (
                DOCUMENT_ID,
                Column(
                    "kind", TEXT, "'page', 'slide', 'time', 'row', 'cell' or 'heading'", label=True
                ),
                Column("position", INT, "number among those of its kind, from 1"),
                Column("level", INT, "level of a heading, 1 the highest; 0 for other kinds"),
                Column("label", TEXT, "the page's number, the time, or the heading's text"),
                Column("start", INT, "its first character in the document's text"),
            ),
            DOCUMENT_LEVEL,
            ("document_id", "kind", "position"),
        ),
        Table(
            "chunks",
            "passage of a document",
            (
                Column(
                    "chunk_id", TEXT, "content hash of document, text and occurrence", label=True
                ),
                DOCUMENT_ID,
                Column("position", INT, "index within the document, from 0"),
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
                Column("chunk_id", TEXT, "the chunk", label=True),
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
                Column("text", TEXT, "the question"),
                Column(
                    "retrieval_text", TEXT, "text that retrieval searches for; mostly the question"
                ),
                Column(
                    "kind",
                    TEXT,
                    "'general' for the whole text, 'specific' for a detail, or a type",
                    label=True,
                ),
                Column("document_id", TEXT, "document that it is about; null: the corpus", True),
                Column("references", TEXTS, "reference summaries"),
                Column("relevant_document_ids", TEXTS, "documents that an answer depends on"),
                Column(
                    "relevant_chunk_ids",
                    TEXTS,
                    "passages that contain the evidence marked by the source",
                ),
                Column(
                    "form", TEXT, "form of the answer: 'summary', 'short' or 'choice'", label=True
                ),
                Column("options", TEXTS, "options of a 'choice', in order; else empty"),
                Column("split", TEXT, "train, dev or test, as the source names it", label=True),
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
                Column("level", TEXT, "'document' or 'node'", label=True),
                Column("rank", INT, "from 1, best first"),
                Column("item_id", TEXT, "document_id or node id, by level"),
                Column("score", FLOAT, "the method's own score, higher is better"),
                Column("latency_s", FLOAT, "seconds the question took to rank", measured=True),
            ),
            RESULT,
            ("query_id", "level", "rank"),
            checks=(
                TableCheck(
                    "ranks_consecutive",
                    "The ranks of each question and level count up from 1.",
                    "ranking",
                    (counts_up("rankings", "rank", "query_id, level"),),
                ),
            ),
        ),
        Table(
            "contexts",
            "passage given to the language model",
            (
                QUERY_ID,
                Column(
                    "sample", INT, "number of the context, from 0; only full_context has several"
                ),
                Column("rank", INT, "from 1, best first"),
                Column("node_id", TEXT, "chunk_id, response_id, …, by kind", label=True),
                Column("node_kind", TEXT, "'chunk', 'response', 'report', …", label=True),
                Column("document_id", TEXT, "document it comes from; null: several", True),
                Column("position", INT, "index in its document's reading order; null: none", True),
                Column("score", FLOAT, "the method's own score, higher is better"),
                Column("text", TEXT, "the passage"),
            ),
            RESULT,
            ("query_id", "sample", "rank"),
            checks=(
                TableCheck(
                    "cite_what_exists",
                    "Passages that are chunks exist in `chunks`, with the same text.",
                    "cited chunk",
                    (
                        Rule("known IS NULL", "do not exist"),
                        Rule("known <> text", "have another text"),
                    ),
                    "query_id, rank, node_id",
                    """SELECT c.*, k.text AS known
                    FROM "contexts" c
                    LEFT JOIN (
                        SELECT chunk_id, text FROM "chunks"
                        WHERE chunk_id IN (SELECT node_id FROM "contexts")  -- few of many
                    ) k ON chunk_id = node_id
                    WHERE node_kind = 'chunk'""",
                ),
            ),
        ),
        Table(
            "summaries",
            "question",
            (
                QUERY_ID,
                Column("sample", INT, "number of the context it was written from, from 0"),
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
                Column(
                    "metric",
                    TEXT,
                    "rouge1, bertscore_f1, exact_match, p@10, context_r, …",
                    label=True,
                ),
                Column(
                    "k",
                    INT,
                    "number of passages of an answer for the table curves; null: the answer in "
                    "summaries",
                    True,
                ),
                Column("value", FLOAT, "0 to 1, higher is better; context_tokens: word pieces"),
                Column("latency_s", FLOAT, "seconds from question to answer", measured=True),
            ),
            RESULT,
            ("query_id", "metric", "k"),
            checks=(
                TableCheck(
                    "in_range",
                    "Every score is finite and between 0 and 1.",
                    "score",
                    (
                        Rule(
                            f"NOT isfinite(value) OR value < -{ROUNDING} OR "
                            f"(metric <> 'context_tokens' AND value > 1 + {ROUNDING})",
                            "are not between 0 and 1",
                        ),
                    ),
                    "query_id, metric, value",
                ),
            ),
        ),
        Table(
            "leaderboard",
            "method, split, kind of question and metric",
            (
                Column("method", TEXT, "the method", label=True),
                Column("split", TEXT, "train, dev or test; all: together", label=True),
                Column("kind", TEXT, "kind of question: 'general', 'specific', …", label=True),
                Column("metric", TEXT, "rouge1, rougeL, p@10, g_eval_relevance, …", label=True),
                Column("mean", FLOAT, "mean over the questions"),
                Column("low", FLOAT, "lower end of the mean's 95% interval"),
                Column("high", FLOAT, "upper end of the mean's 95% interval"),
                Column("n", INT, "number of questions"),
                Column(
                    "p_best",
                    FLOAT,
                    "p-value of equality with the best, for all pairs; null: the best",
                    True,
                ),
                Column("ties_best", pa.bool_(), "no significant difference from the best (5%)"),
                Column("latency_s", FLOAT, "mean seconds from question to answer", measured=True),
            ),
            ("corpus",),
            ("method", "split", "kind", "metric"),
            checks=mean_in_interval("mean", "method"),
        ),
        Table(
            "curves",
            "method, number of passages read, split, kind of question and metric",
            (
                Column("method", TEXT, "the method", label=True),
                Column("k", INT, "number of passages read, from the list `k` in [retrieval]"),
                Column("split", TEXT, "train, dev or test; all: together", label=True),
                Column("kind", TEXT, "the kind of question, as in leaderboard", label=True),
                Column("metric", TEXT, "rouge1, context_r, context_tokens, …", label=True),
                Column("mean", FLOAT, "mean over the questions"),
                Column("low", FLOAT, "lower end of the mean's 95% interval"),
                Column("high", FLOAT, "upper end of the mean's 95% interval"),
                Column("n", INT, "number of questions"),
            ),
            ("corpus",),
            ("method", "k", "split", "kind", "metric"),
            checks=mean_in_interval("mean", "method"),
        ),
        Table(
            "comparisons",
            "pair of methods, split, kind of question and metric",
            (
                Column("method", TEXT, "the method", label=True),
                Column(
                    "opponent", TEXT, "the method compared with, later in the alphabet", label=True
                ),
                Column("split", TEXT, "train, dev or test; all: together", label=True),
                Column("kind", TEXT, "kind of question: 'general', 'specific', …", label=True),
                Column("metric", TEXT, "rouge1, rougeL, p@10, …", label=True),
                Column("difference", FLOAT, "mean of method - opponent over the same questions"),
                Column("low", FLOAT, "lower end of its 95% interval"),
                Column("high", FLOAT, "upper end of its 95% interval"),
                Column("p_value", FLOAT, "two-sided p-value of no difference, for this pair alone"),
                Column("p_adjusted", FLOAT, "p_value adjusted for all pairs of the metric"),
                Column("n", INT, "questions that both answered"),
            ),
            ("corpus",),
            ("method", "opponent", "split", "kind", "metric"),
            checks=mean_in_interval("difference", "method, opponent"),
        ),
        Table(
            "costs",
            "method and stage",
            (
                Column("method", TEXT, "the method", label=True),
                Column("stage", TEXT, "'index' or 'query'", label=True),
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
                Column("judge", TEXT, "'pairwise', 'g_eval' or 'llm_rater'", label=True),
                Column(
                    "criterion",
                    TEXT,
                    "comprehensiveness, …, overall; consistency; lr1; …",
                    label=True,
                ),
                Column("method", TEXT, "the method judged", label=True),
                Column(
                    "opponent",
                    TEXT,
                    "pairwise: the other method, later in the alphabet",
                    True,
                    label=True,
                ),
                Column(
                    "first",
                    TEXT,
                    "pairwise: the method whose answer was shown first",
                    True,
                    label=True,
                ),
                Column("repeat", INT, "number of the repetition, from 1"),
                Column(
                    "verdict", TEXT, "win, loss, tie; 1 to 5; yes, partly, no; unparsed", label=True
                ),
                Column("value", FLOAT, "1, 0, 0.5; 1 to 5; 1 or 0; null: unparsed", True),
                Column("reason", TEXT, "reason that the judge gave, or why it was unparsed"),
                Column(
                    "model", TEXT, "language model that judged; empty: none was called", label=True
                ),
                Column("is_own", pa.bool_(), "whether that model wrote an answer that it judged"),
                Column(
                    "share_shown",
                    FLOAT,
                    "consistency: share, in characters, of the answer's passages that the judge "
                    "was shown, best first; null: the judge is not shown passages",
                    True,
                ),
            ),
            ("corpus",),
            ("query_id", "judge", "criterion", "method", "opponent", "first", "repeat"),
            checks=(
                TableCheck(
                    "verdicts_parsed",
                    "Every reply of the judge contained a verdict.",
                    "verdict",
                    (Rule("verdict = 'unparsed'", "could not be read from the reply"),),
                    "query_id, judge, criterion, method, opponent, reason",
                    remedy="`gsum run {corpus}` repeats them; if many fail, set another model in "
                    "[judge]",
                    warns=True,
                ),
            ),
        ),
        Table(
            "win_rates",
            "method, opponent and criterion",
            (
                Column("method", TEXT, "the method", label=True),
                Column(
                    "opponent",
                    TEXT,
                    "the other method; each pair has a row in both orders",
                    label=True,
                ),
                Column("criterion", TEXT, "comprehensiveness, …, overall", label=True),
                Column("win_rate", FLOAT, "a tie counts half; null: no verdict", True),
                Column("low", FLOAT, "lower end of its 95% interval", True),
                Column("high", FLOAT, "upper end of its 95% interval", True),
                Column(
                    "p_adjusted",
                    FLOAT,
                    "p-value of a rate of 1/2, for all pairs and criteria",
                    True,
                ),
                Column("n", INT, "questions with a verdict"),
                Column("wins", INT, "verdicts for the method"),
                Column("ties", INT, "ties"),
                Column("losses", INT, "verdicts for the opponent"),
                Column("unparsed", INT, "replies without a verdict"),
                Column("first_won", FLOAT, "share of decided verdicts for the first shown", True),
                Column(
                    "disagreement",
                    FLOAT,
                    "share of pairs whose winner differs between both orders",
                    True,
                ),
                Column(
                    "is_own", pa.bool_(), "whether the judge wrote answers of one of the methods"
                ),
            ),
            ("corpus",),
            ("method", "opponent", "criterion"),
        ),
        Table(
            "generated_questions",
            "question written for a persona",
            (
                QUERY_ID,
                Column("persona", TEXT, "name and description of the persona"),
                Column("task", TEXT, "what the persona wants to do"),
                Column("text", TEXT, "the question, about the corpus as a whole"),
                Column("model", TEXT, "language model that wrote it", label=True),
            ),
            ("corpus",),
            ("query_id",),
        ),
        Table(
            "embedding_calls",
            "batch of embedded texts, or of scored pairs of passages",
            (
                Column("asset", TEXT, "asset that sent the request", label=True),
                Column("model", TEXT, "identity of the embedder or scorer", label=True),
                Column("n_texts", INT, "texts, or pairs, that were not in the memo"),
                Column("tokens_in", pa.int64(), "tokens read by a server; 0: a local model"),
                Column("latency_s", FLOAT, "seconds", measured=True),
                Column("cost_usd", FLOAT, "price in US dollars"),
                Column("time", TIME, "when it ended", measured=True),
            ),
            ("corpus",),
        ),
        Table(
            "llm_calls",
            "request to a language model",
            (
                Column("asset", TEXT, "asset that sent the request", label=True),
                Column("document_id", TEXT, "document concerned; '' for a whole corpus"),
                Column("model", TEXT, "identity of the model", label=True),
                Column("prompt_hash", TEXT, "hash of everything the reply depends on", label=True),
                Column("tokens_in", INT, "tokens read"),
                Column("tokens_out", INT, "tokens written"),
                Column("latency_s", FLOAT, "seconds", measured=True),
                Column("calls", INT, "number of replies, including those to repetitions", True),
                Column("retries", INT, "attempts without a reply"),
                Column("structured", pa.bool_(), "whether a JSON reply was requested", True),
                Column("left_out", INT, "invalid items of the reply that were dropped", True),
                Column("cached", pa.bool_(), "answered from the memo, at no cost"),
                Column("cost_usd", FLOAT, "price of the call in US dollars"),
                Column("error", TEXT, "why it failed; null where it did not", True),
                Column(
                    "run_id", TEXT, "run that sent the request; '' outside a run", True, label=True
                ),
                Column("time", TIME, "when it ended", measured=True),
            ),
            ("corpus",),
        ),
        *(
            Table(
                f"{folder.rpartition('.')[2]}.index",
                "table that questions are answered from",
                (
                    Column("table_name", TEXT, "the table, as SQL names it", label=True),
                    Column("n_rows", pa.int64(), "its rows of this corpus"),
                    Column("content_hash", TEXT, "changes with any of these rows", label=True),
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
    """Return the table that an asset writes: `retrieval/scores` -> scores.

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
    """Yield the corpora of a table with their rows, in order of their names."""
    corpora = sorted(pc.unique(rows["corpus"]).to_pylist())
    if len(corpora) == 1:
        yield corpora[0], rows  # not a copy
        return
    for corpus in corpora:
        yield corpus, rows.filter(pc.equal(rows["corpus"], corpus))
