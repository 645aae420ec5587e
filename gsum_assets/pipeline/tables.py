"""Declarations of all tables of the warehouse: columns, types and meanings.

The store validates what is written against them; DuckDB's views and the UI's column descriptions
are derived from them. `corpus`, `bucket` and `method` are not columns of a file: they are part of
its path, and are added when a table is read. The tables of a method are declared in its folder.
"""

from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    CHUNK_ID,
    DOCUMENT_ID,
    INT,
    LINE,
    MEAN,
    METHOD,
    QUERY_ID,
    RANK,
    SCORE,
    SPENT,
    SPLIT,
    TEXT,
    TIME,
    corpus_table,
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
from gsum_assets.pipeline.registered import FOLDERS
from gsum_resources.store.arrow import pc
from gsum_resources.store.table import Column, Table

_OF_METHODS = [import_module(f"{folder}.tables").TABLES for folder in FOLDERS]

TABLES: Mapping[str, Table] = {
    table.name: table
    for table in (
        document_table(
            "source_documents",
            "document found in the corpus folder",
            "document_id, file, line",
            DOCUMENT_ID,
            text("file", "file that contains it, relative to the corpus folder"),
            LINE,
            label("content_hash", "hash of the document's bytes and its settings"),
            Column("added", TIME, "when it was first observed", True, ignored_by_hash=True),
            Column("changed", TIME, "when its present content was first observed", True, True),
            Column(
                "modified",
                TIME,
                "when its file was last modified before that; null: a row of a table",
                True,
                True,
            ),
        ),
        corpus_table(
            "source_queries",
            "file of questions found in the corpus folder",
            "file",
            text("file", "name of the file, relative to the corpus folder"),
            label("content_hash", "hash of its bytes"),
        ),
        corpus_table(
            "source_graph",
            "file of a given graph found in the corpus folder",
            "file",
            text("file", "name of the file, relative to the corpus folder"),
            label("content_hash", "hash of its bytes"),
        ),
        document_table(
            "documents",
            "document",
            "document_id",
            DOCUMENT_ID,
            text("title", "title, or the id where the source names none"),
            text("text", "full text, to which offsets of chunks refer; without trailing blanks"),
            integer("n_words", "length in words"),
            texts("cites", "documents that it cites; null: the source does not say", nullable=True),
            label(
                "encoding",
                "encoding of its text file, with the number of invalid bytes if there are any: "
                "'utf-8', 'cp1252'; null: a record in UTF-8, or a converted file",
                nullable=True,
            ),
            text(
                "metadata",
                "JSON object of front matter or further columns, and `modified`, the date of a "
                "file: metadata->>'date'; null: none",
                nullable=True,
            ),
            text("file", "the file that it is, in the corpus folder; null: a row", nullable=True),
            Column("date", pa.date32(), "its date, the first of a month alone; null: none", True),
            label(
                "date_source",
                "where the date stands: 'front matter', 'column', 'first lines', 'file name', or "
                "'file time' if nowhere; the first four with ', month' for a month alone",
                nullable=True,
            ),
        ),
        document_table(
            "rejected_documents",
            "document that could not be taken in",
            "",
            DOCUMENT_ID,
            text("file", "file that contains it, relative to the corpus folder"),
            LINE,
            label("reason", "what is wrong and how to repair it"),
            flag("is_other_type", "whether its type is not read, or it is skipped"),
            integer("n_crashes", "runs in which its converter crashed; the third is the last"),
        ),
        document_table(
            "converted_documents",
            "document whose file was converted to text",
            "document_id",
            DOCUMENT_ID,
            label("content_hash", "hash of the file's bytes"),
            label("converter", "name and version of the converter"),
            text("title", "title in the document's metadata; empty: none"),
            text("text", "plain text or Markdown"),
            Column("page_starts", pa.list_(INT), "first character of each page or caption"),
            Column("page_labels", pa.list_(TEXT), "their names; empty: numbered from 1"),
            text("left_out", "what of the file is not in the text, with counts; empty: nothing"),
        ),
        document_table(
            "document_sections",
            "page, time, row or heading of a document",
            "document_id, kind, position",
            DOCUMENT_ID,
            label("kind", "'page', 'slide', 'time', 'row', 'cell' or 'heading'"),
            integer("position", "number among those of its kind, from 1"),
            integer("level", "level of a heading, 1 the highest; 0 for other kinds"),
            text("label", "the page's number, the time, or the heading's text"),
            integer("start", "its first character in the document's text"),
        ),
        document_table(
            "chunks",
            "passage of a document",
            "chunk_id",
            label("chunk_id", "content hash of document, text and occurrence"),
            DOCUMENT_ID,
            integer("position", "index within the document, from 0"),
            integer("start", "first character in the document's text"),
            integer("end", "one past the last character in the document's text"),
            integer("n_tokens", "length in word pieces"),
            text("text", "text[start:end] of the document, below names of columns in a table"),
        ),
        document_table(
            "chunk_embeddings",
            "chunk",
            "chunk_id",
            CHUNK_ID,
            DOCUMENT_ID,
            vector("embedding", "unit-length vector of the chunk's text"),
        ),
        corpus_table(
            "queries",
            "question",
            "query_id",
            QUERY_ID,
            text("text", "the question"),
            text("retrieval_text", "text that retrieval searches for; mostly the question"),
            label("kind", "'general' for the whole text, 'specific' for a detail, or a type"),
            text("document_id", "document that it is about; null: the corpus", nullable=True),
            texts("references", "reference summaries"),
            texts("relevant_document_ids", "documents that an answer depends on"),
            texts("relevant_chunk_ids", "passages that contain the evidence marked by the source"),
            label("form", "form of the answer: 'summary', 'short' or 'choice'"),
            texts("options", "options of a 'choice', in order; else empty"),
            label("split", "train, dev or test, as the source names it"),
            flag(
                "is_answerable",
                "false: the source says that the documents do not answer it; null: it says nothing",
                nullable=True,
            ),
        ),
        corpus_table(
            "query_embeddings",
            "question",
            "query_id",
            QUERY_ID,
            vector("embedding", "unit-length vector of its retrieval_text"),
        ),
        corpus_table(
            "answerability",
            "question",
            "query_id",
            QUERY_ID,
            number(
                "probability",
                "that the documents answer it, 0 to 1; null: not judged, as 'Summarize …'",
                nullable=True,
            ),
            number("threshold", "least probability of a question that is answered", nullable=True),
            flag("is_answered", "whether `gsum ask` answers it: the probability is large enough"),
            label("chunk_id", "the most similar passage of its document, or of all"),
        ),
        result_table(
            "rankings",
            "question, level and rank, to depth 100",
            "query_id, level, rank",
            QUERY_ID,
            label("level", "'document' or 'node'"),
            RANK,
            text("item_id", "document_id or node id, by level"),
            SCORE,
            number("latency_s", "seconds the question took to rank", ignored_by_hash=True),
        ),
        result_table(
            "contexts",
            "passage given to the language model",
            "query_id, sample, rank",
            QUERY_ID,
            integer("sample", "number of the context, from 0; only full_context has several"),
            integer(
                "rank",
                "order in which the model reads it, from 1: that of the score, except in graphrag "
                "and jerr, which order reports and passages in their own ways",
            ),
            label("node_id", "chunk_id, response_id, …, by kind"),
            label("node_kind", "'chunk', 'response', 'report', …"),
            text("document_id", "document it comes from; null: several", nullable=True),
            integer("position", "index in its document's reading order; null: none", nullable=True),
            SCORE,
            text("text", "the passage"),
        ),
        result_table(
            "summaries",
            "question",
            "query_id, sample",
            QUERY_ID,
            integer("sample", "number of the context it was written from, from 0"),
            text("text", "the answer"),
            flag("is_refusal", "whether it says that the documents do not answer the question"),
            *SPENT,
        ),
        result_table(
            "answer_sources",
            "source of a sentence of an answer, or sentence without one",
            "query_id, sample, sentence, source",
            QUERY_ID,
            integer("sample", "number of the context, as in summaries"),
            integer("sentence", "number of the sentence in the answer, from 1; headings have none"),
            integer("source", "number among the sentence's sources, from 1"),
            text("text", "the sentence, with the name of its speaker where the answer has it"),
            label(
                "kind",
                "'quoted': it stands there, fillers aside; 'cited': the model names a passage that "
                "supports it; 'unsupported': one that does not; 'none': no source",
            ),
            integer(
                "rank",
                "rank of the passage that has it, among those that the answer was written from; "
                "null: none of them",
                nullable=True,
            ),
            integer(
                "cited", "number that the model wrote; null: the source was found", nullable=True
            ),
            label("chunk_id", "chunk that it is from; null: not known", nullable=True),
            text("document_id", "document that it is from; null: not known", nullable=True),
            integer("start_char", "its first character in the document's text", nullable=True),
            integer("end_char", "one past its last character there", nullable=True),
            number(
                "support",
                "1: quoted; else how much the cited passage supports it, 0 to 2; null: no source",
                nullable=True,
            ),
        ),
        result_table(
            "scores",
            "question and metric",
            "query_id, metric",
            QUERY_ID,
            label("metric", "rouge1, bertscore_f1, exact_match, p@10, context_r, …"),
            number("value", "0 to 1, higher is better; context_tokens: word pieces"),
            number("latency_s", "seconds from question to answer", ignored_by_hash=True),
        ),
        corpus_table(
            "leaderboard",
            "method, split, kind of question and metric",
            "method, split, kind, metric",
            METHOD,
            SPLIT,
            label("kind", "kind of question: 'general', 'specific', …"),
            label("metric", "rouge1, rougeL, p@10, g_eval_relevance, …"),
            *MEAN,
            number(
                "p_best",
                "p-value of equality with the best, for all pairs; null: the best",
                nullable=True,
            ),
            flag("ties_best", "no significant difference from the best (5%)"),
            number("latency_s", "mean seconds from question to answer", ignored_by_hash=True),
        ),
        corpus_table(
            "comparisons",
            "pair of methods, split, kind of question and metric",
            "method, opponent, split, kind, metric",
            METHOD,
            label("opponent", "the method compared with, later in the alphabet"),
            SPLIT,
            label("kind", "kind of question: 'general', 'specific', …"),
            label("metric", "rouge1, rougeL, p@10, …"),
            number("difference", "mean of method - opponent over the same questions"),
            number("low", "lower end of its 95% interval"),
            number("high", "upper end of its 95% interval"),
            number("p_value", "two-sided p-value of no difference, for this pair alone"),
            number("p_adjusted", "p_value adjusted for all pairs of the metric"),
            integer("n", "questions that both answered"),
        ),
        corpus_table(
            "costs",
            "method and stage",
            "method, stage",
            METHOD,
            label("stage", "'index' or 'query'"),
            integer("n", "documents indexed, or questions answered"),
            integer("calls", "language model calls", ignored_by_hash=True),
            Column("tokens_in", pa.int64(), "tokens read by the model", ignored_by_hash=True),
            Column("tokens_out", pa.int64(), "tokens written by the model", ignored_by_hash=True),
            number("latency_s", "seconds of calls and retrieval", ignored_by_hash=True),
            number("cost_usd", "price in US dollars", ignored_by_hash=True),
        ),
        corpus_table(
            "judgements",
            "verdict of a judge",
            "query_id, judge, criterion, method, opponent, first, repeat",
            QUERY_ID,
            label("judge", "'pairwise', 'g_eval' or 'llm_rater'"),
            label("criterion", "comprehensiveness, …, overall; consistency; lr1; …"),
            label("method", "the method judged"),
            label("opponent", "pairwise: the other method, later in the alphabet", nullable=True),
            label("first", "pairwise: the method whose answer was shown first", nullable=True),
            integer("repeat", "number of the repetition, from 1"),
            label("verdict", "win, loss, tie; 1 to 5; yes, partly, no; unparsed"),
            number("value", "1, 0, 0.5; 1 to 5; 0 to 1; null: unparsed", nullable=True),
            text("reason", "reason that the judge gave, or why it was unparsed"),
            label("model", "language model that judged; empty: none was called"),
            flag("is_own", "whether that model wrote an answer that it judged"),
            number(
                "share_shown",
                "consistency: share, in characters, of the answer's passages that the judge "
                "was shown, best first; null: the judge is not shown passages",
                nullable=True,
            ),
        ),
        corpus_table(
            "win_rates",
            "method, opponent and criterion",
            "method, opponent, criterion",
            METHOD,
            label("opponent", "the other method; each pair has a row in both orders"),
            label("criterion", "comprehensiveness, …, overall"),
            number("win_rate", "a tie counts half; null: no verdict", nullable=True),
            number("low", "lower end of its 95% interval", nullable=True),
            number("high", "upper end of its 95% interval", nullable=True),
            number(
                "p_adjusted", "p-value of a rate of 1/2, for all pairs and criteria", nullable=True
            ),
            integer("n", "questions with a verdict"),
            integer("wins", "verdicts for the method"),
            integer("ties", "ties"),
            integer("losses", "verdicts for the opponent"),
            integer("unparsed", "replies without a verdict"),
            number("first_won", "share of decided verdicts for the first shown", nullable=True),
            number(
                "disagreement",
                "share of pairs whose winner differs between both orders",
                nullable=True,
            ),
            flag("is_own", "whether the judge wrote answers of one of the methods"),
        ),
        corpus_table(
            "generated_questions",
            "generated question",
            "query_id",
            QUERY_ID,
            text("persona", "name and description of the persona"),
            text("task", "what the persona wants to do"),
            text("text", "the question"),
            label("model", "language model that wrote it"),
        ),
        corpus_table(
            "embedding_calls",
            "batch of embedded texts, or of scored pairs of passages",
            "",
            label("asset", "asset that sent the request"),
            label("model", "identity of the embedder or scorer"),
            integer("n_texts", "texts, or pairs, that were not in the memo"),
            Column("tokens_in", pa.int64(), "tokens read by a server; 0: a local model"),
            number("latency_s", "seconds", ignored_by_hash=True),
            number("cost_usd", "price in US dollars"),
            Column("time", TIME, "when it ended", ignored_by_hash=True),
        ),
        corpus_table(
            "changes",
            "row that was added to a table of documents or graphs, or removed from it",
            "",
            label("table_name", "the table, as SQL names it"),
            label("row_id", "the values of its key, separated by blanks"),
            label("change", "added or removed, since the table was first written"),
            label("run_id", "run that added or removed it; '' outside a run"),
            Column("time", TIME, "when it was added or removed", ignored_by_hash=True),
        ),
        corpus_table(
            "llm_calls",
            "request to a language model",
            "",
            label("asset", "asset that sent the request"),
            text("document_id", "document concerned; '' for a whole corpus"),
            label("model", "identity of the model"),
            label("prompt_hash", "hash of everything the reply depends on"),
            integer("tokens_in", "tokens read"),
            integer("tokens_out", "tokens written"),
            number("latency_s", "seconds", ignored_by_hash=True),
            integer("calls", "number of replies, including those to repetitions", nullable=True),
            integer("retries", "attempts without a reply"),
            flag("structured", "whether a JSON reply was requested", nullable=True),
            integer("left_out", "invalid items of the reply that were dropped", nullable=True),
            flag("cached", "answered from the memo, at no cost"),
            number("cost_usd", "price of the call in US dollars"),
            text("error", "why it failed; null where it did not", nullable=True),
            label("run_id", "run that sent the request; '' outside a run", nullable=True),
            Column("time", TIME, "when it ended", ignored_by_hash=True),
        ),
        *(
            corpus_table(
                f"{folder.rpartition('.')[2]}.index",
                "table that questions are answered from",
                "table_name",
                label("table_name", "the table, as SQL names it"),
                Column("n_rows", pa.int64(), "its rows of this corpus"),
                label("content_hash", "changes with any of these rows"),
            )
            for folder in FOLDERS
        ),
        *(table for tables in _OF_METHODS for table in tables),
    )
}

RESULT_TABLES = frozenset({"rankings", "contexts", "summaries", "answer_sources", "scores"})


def table_of(asset_path: Sequence[str]) -> Table:
    """Return the table that an asset writes, `retrieval/scores` -> scores, or raise `KeyError`."""
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
