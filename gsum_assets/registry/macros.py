"""An analyst's questions as views and SQL macros: `from why('leaderboard', 'board')`.

An argument is named apart from all columns, since DuckDB takes an argument for a column of its
name.
"""

from collections.abc import Iterable, Iterator

import pyarrow as pa

from gsum_assets.pipeline.columns import RESULT
from gsum_resources.store.table import Macro, Table, View

_CORPORA = """
WITH of_documents AS (
    SELECT corpus, count(*) AS documents, sum(n_words)::BIGINT AS words
    FROM documents GROUP BY corpus
), of_chunks AS (SELECT corpus, count(*) AS passages FROM chunks GROUP BY corpus),
of_queries AS (SELECT corpus, count(*) AS questions FROM queries GROUP BY corpus),
of_rejected AS (
    SELECT corpus, count(*) AS rejected FROM rejected_documents
    WHERE NOT is_other_type GROUP BY corpus
), of_partitions AS (
    SELECT corpus, count(DISTINCT method) AS methods, max(written) AS last_written
    FROM provenance GROUP BY corpus
)
SELECT corpus, documents, words, coalesce(rejected, 0) AS rejected, passages,
       coalesce(questions, 0) AS questions, methods, last_written
FROM of_documents LEFT JOIN of_chunks USING (corpus) LEFT JOIN of_queries USING (corpus)
LEFT JOIN of_rejected USING (corpus) LEFT JOIN of_partitions USING (corpus)
"""

_CORPORA_COLUMNS = {
    "documents": "number of documents",
    "words": "number of words of all documents",
    "rejected": "number of documents that could not be read",
    "passages": "number of chunks",
    "questions": "number of questions",
    "methods": "number of methods with results",
    "last_written": "when a table of the corpus was last written",
}

_PASSAGES = """
SELECT c.corpus, c.document_id, d.title, d.date, c.position, c.text, c.n_tokens,
       c.start AS start_char, c."end" AS end_char, c.chunk_id
FROM chunks AS c JOIN documents AS d USING (corpus, document_id)
"""

_QUESTIONS = """
SELECT corpus, query_id, text AS question, "references" AS reference_answers, document_id, kind,
       form, split, relevant_document_ids, relevant_chunk_ids
FROM queries
"""

_ANSWERS = """
SELECT s.corpus, s.method, s.query_id, q.text AS question, s.text AS answer,
       q.document_id, s.sample, s.tokens_in, s.tokens_out, s.cost_usd, s.latency_s
FROM summaries AS s JOIN queries AS q USING (corpus, query_id)
"""

_COST_BY_DAY = """
SELECT corpus, asset, time::DATE AS day, model,
       count(*) FILTER (WHERE NOT cached) AS requests, count(*) FILTER (WHERE cached) AS from_memo,
       count(error) AS failures, sum(tokens_in) FILTER (WHERE NOT cached)::BIGINT AS tokens_in,
       sum(tokens_out) FILTER (WHERE NOT cached)::BIGINT AS tokens_out, sum(cost_usd) AS cost_usd
FROM llm_calls GROUP BY ALL
UNION ALL BY NAME
SELECT corpus, asset, time::DATE AS day, model, count(*) AS requests, 0 AS from_memo,
       0 AS failures, sum(tokens_in)::BIGINT AS tokens_in, 0 AS tokens_out,
       sum(cost_usd) AS cost_usd
FROM embedding_calls GROUP BY ALL
"""

_COST_COLUMNS = {
    "day": "day of the requests, in the time zone of the session",
    "requests": "requests that were sent to a model, or batches of embedded texts",
    "from_memo": "requests that were answered from the memo, at no cost",
    "failures": "requests that failed",
}

_COST_BY_FAMILY = """
SELECT corpus, CASE WHEN contains(asset, '/') THEN split_part(asset, '/', 1) ELSE '' END AS family,
       day, sum(requests)::BIGINT AS requests, sum(from_memo)::BIGINT AS from_memo,
       sum(failures)::BIGINT AS failures, sum(tokens_in)::BIGINT AS tokens_in,
       sum(tokens_out)::BIGINT AS tokens_out, sum(cost_usd) AS cost_usd
FROM cost_by_day GROUP BY ALL
"""

_LAST_CHANGES = """
SELECT corpus, table_name, row_id, arg_max(change, time) AS change, max(time) AS changed,
       arg_max(run_id, time) AS run_id
FROM changes GROUP BY corpus, table_name, row_id
"""

_DELETED_DOCUMENTS = f"""
SELECT corpus, row_id AS document_id, changed AS deleted, run_id
FROM ({_LAST_CHANGES}) WHERE table_name = 'documents' AND change = 'removed'
"""

_DELETED_COLUMNS = {
    "document_id": "the document, which is listed until its leftovers are removed",
    "deleted": "when it left the tables",
    "run_id": "the run of Dagster that removed it from the tables",
}

_CHANGED_SINCE = f"""
WITH names AS (
    SELECT corpus, 'documents' AS table_name, document_id AS row_id, title AS name FROM documents
    UNION ALL
    SELECT corpus, 'graphrag.entities', entity_id, name FROM graphrag.entities
    UNION ALL
    SELECT corpus, 'graphrag.communities', community_id, title FROM graphrag.communities
    UNION ALL
    SELECT r.corpus, 'graphrag.relationships', r.relationship_id, s.name || ' - ' || t.name
    FROM graphrag.relationships AS r
    JOIN graphrag.entities AS s ON s.corpus = r.corpus AND s.entity_id = r.source_id
    JOIN graphrag.entities AS t ON t.corpus = r.corpus AND t.entity_id = r.target_id
)
SELECT corpus, table_name, change, name, changed, run_id, row_id
FROM ({_LAST_CHANGES}) LEFT JOIN names USING (corpus, table_name, row_id)
WHERE changed >= since ORDER BY corpus, table_name, change, name, row_id
"""

_DOCUMENTS_CHANGED = """
SELECT corpus, document_id, CASE WHEN added >= since THEN 'added' ELSE 'changed' END AS change,
       changed, file
FROM source_documents WHERE changed >= since ORDER BY changed DESC, corpus, document_id
"""

_WHY = """
WITH RECURSIVE inputs_of AS MATERIALIZED (
    SELECT table_name, written, code_version, version,
           split_part(key, ':', 1) AS kind, regexp_extract(key, '^[a-z]+:([^/]+)', 1) AS input
    FROM (
        SELECT table_name, written, code_version,
               unnest(map_keys(inputs)) AS key, unnest(map_values(inputs)) AS version
        FROM provenance WHERE corpus = in_corpus
    )
), ways AS (
    SELECT of_table AS table_name, 1 AS depth
    UNION
    SELECT input, depth + 1 FROM ways JOIN inputs_of USING (table_name)
    WHERE kind = 'table' AND depth < levels
), tables AS (SELECT table_name, min(depth) AS depth FROM ways GROUP BY table_name),
last_written AS (
    SELECT table_name AS input, max(written) AS input_written FROM provenance
    WHERE corpus = in_corpus GROUP BY table_name
)
SELECT depth, table_name, max(written) AS written, kind, input,
       CASE count(DISTINCT version) WHEN 1 THEN max(version)
           ELSE count(DISTINCT version) || ' versions' END AS version,
       CASE kind WHEN 'table' THEN max(input_written) END AS input_written,
       max(code_version) AS code_version
FROM tables JOIN inputs_of USING (table_name) LEFT JOIN last_written USING (input)
GROUP BY depth, table_name, kind, input
ORDER BY depth, table_name, kind, input
"""

_ANSWER = """
SELECT s.corpus, s.method, 0 AS rank, 'answer' AS kind, NULL AS document_id, NULL AS position,
       NULL AS score, s.text
FROM summaries AS s WHERE s.query_id = of_query
UNION ALL
SELECT c.corpus, c.method, c.rank, c.node_kind, c.document_id, c.position, c.score, c.text
FROM contexts AS c WHERE c.query_id = of_query
ORDER BY corpus, method, rank
"""

_SENTENCES = """
SELECT a.corpus, a.method, a.sample, a.sentence, a.kind, a.text, d.title, k.position,
       substr(d.text, a.start_char + 1, a.end_char - a.start_char) AS source_text,
       a.start_char, a.end_char, a.rank, a.cited, a.support, a.document_id, a.chunk_id
FROM answer_sources AS a
LEFT JOIN documents AS d USING (corpus, document_id)
LEFT JOIN chunks AS k ON k.corpus = a.corpus AND k.chunk_id = a.chunk_id
WHERE a.query_id = of_query
ORDER BY a.corpus, a.method, a.sample, a.sentence, a.source
"""

_TRAINED_COLUMNS = {
    "model": "table of the network",
    "method": "name of the method, or of the family if its methods share the network",
    "trained": "when it was trained",
    "documents_learnt": "number of its training documents; 0: not trained",
    "documents": "number of documents of the corpus",
    "corpus_changed": "whether a document was added, changed or deleted since",
}


def _trained(models: Iterable[Table]) -> str:
    """Return the SQL of all networks, each with whether its corpus has changed since."""
    of_tables = "\nUNION ALL\n".join(
        f"SELECT '{model.name}' AS model, m.corpus, p.method AS of_method, p.written AS trained, "
        f"len(m.learnt_from) AS documents_learnt FROM {model.name} AS m JOIN provenance AS p "
        f"ON p.table_name = '{model.name}' AND p.corpus = m.corpus"
        + (" AND p.method = m.method" if model.dimensions == RESULT else "")
        for model in models
    )
    return f"""
WITH networks AS ({of_tables}),
of_documents AS (SELECT corpus, count(*) AS documents FROM documents GROUP BY corpus),
of_buckets AS (
    SELECT corpus, max(written) AS last_written FROM provenance
    WHERE table_name = 'documents' GROUP BY corpus
)
SELECT model, corpus, coalesce(nullif(of_method, ''), split_part(model, '.', 1)) AS method,
       trained, documents_learnt, documents, last_written > trained AS corpus_changed
FROM networks JOIN of_documents USING (corpus) JOIN of_buckets USING (corpus)
ORDER BY corpus, model, method
"""


def _person(tables: Iterable[Table]) -> str:
    """Return the SQL of all values of text columns that contain a name."""

    def parts() -> Iterator[str]:
        for table in tables:
            for column in table.columns:
                if column.is_text and not column.name.endswith(("_id", "_ids")):
                    value = f'"{column.name}"'
                    if not pa.types.is_string(column.type):
                        value = f"array_to_string({value}, '; ')"
                    yield (
                        f"SELECT corpus, '{table.name}' AS table_name, '{column.name}' AS "
                        f"column_name, {value} AS text FROM {table.name} "
                        f"WHERE contains(lower({value}), lower(of_name))"
                    )

    return "\nUNION ALL\n".join(parts())


def analysis(tables: Iterable[Table], models: Iterable[Table]) -> tuple[View | Macro, ...]:
    """Return the views and macros over all tables.

    Parameter `models`: tables of networks that new documents do not make out of date.
    """
    return (
        View("corpora", "corpus", _CORPORA, _CORPORA_COLUMNS),
        View(
            "passages",
            "chunk of a document, with its title",
            _PASSAGES,
            {
                "start_char": "its first character in the document's text",
                "end_char": "one past its last character in the document's text",
            },
        ),
        View(
            "questions",
            "question, with its reference answers",
            _QUESTIONS,
            {"question": "the question", "reference_answers": "answers to compare with"},
        ),
        View(
            "answers",
            "answer of a method to a question",
            _ANSWERS,
            {"question": "the question", "answer": "the answer"},
        ),
        View("trained", "trained network", _trained(models), _TRAINED_COLUMNS),
        View("cost_by_day", "asset, day and model", _COST_BY_DAY, _COST_COLUMNS),
        View(
            "cost_by_family",
            "family of methods and day; '' are the steps of the corpus",
            _COST_BY_FAMILY,
            {
                **_COST_COLUMNS,
                "corpus": "name of the corpus, a folder of documents",
                "family": "family whose steps sent the requests; `costs` divides by method",
                "tokens_in": "tokens read",
                "tokens_out": "tokens written",
                "cost_usd": "price in US dollars",
            },
        ),
        View("deleted_documents", "deleted document", _DELETED_DOCUMENTS, _DELETED_COLUMNS),
        Macro(
            "documents_changed",
            ("since",),
            "document that was added or changed since then",
            _DOCUMENTS_CHANGED,
        ),
        Macro(
            "changed_since",
            ("since",),
            "document, passage, entity, relationship, community or record edge that was added or "
            "removed since then",
            _CHANGED_SINCE,
        ),
        Macro(
            "why",
            ("of_table", "in_corpus", "levels := 1"),
            "input of a table, and of its inputs up to so many levels",
            _WHY,
        ),
        Macro("answer", ("of_query",), "answer to a question, and passage read for it", _ANSWER),
        Macro(
            "sentences_of",
            ("of_query",),
            "sentence of an answer to a question, with the characters that it is from",
            _SENTENCES,
        ),
        Macro("person", ("of_name",), "text that contains a name, in any table", _person(tables)),
    )
