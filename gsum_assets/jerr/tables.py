"""Tables of JERR."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    DOCUMENT_LEVEL,
    FLOAT,
    INT,
    QUERY_ID,
    RESULT,
    SIZE,
    SPENT,
    TEXT,
    TEXTS,
)
from gsum_resources.store.table import Column, Rule, Table, TableCheck, lacks

_ELEMENTS = ("jerr.elements", "max_tokens, chunk_id, element_key")
_SUMMARIZED = r"""FROM "jerr.synopses" WHERE regexp_matches(synopsis, '\S')"""
_REQUEST_AGAIN = (
    "`gsum run {corpus}` requests them again; if that fails, choose another model in "
    "gsum.toml, [llm]"
)

TABLES = (
    Table(
        "jerr.line_chunks",
        "line chunk",
        (
            SIZE,
            Column("chunk_id", TEXT, "hash of document and text", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index in the document, from 0"),
            Column("start", INT, "offset of the first character in the document's text"),
            Column("end", INT, "offset after the last character"),
            Column("n_tokens", INT, "word pieces"),
            Column("text", TEXT, "the document's text from start to end"),
        ),
        DOCUMENT_LEVEL,
        ("max_tokens", "chunk_id"),
    ),
    Table(
        "jerr.synopses",
        "line chunk with a synopsis",
        (
            SIZE,
            Column("chunk_id", TEXT, "the line chunk", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index of the line chunk in the document, from 0"),
            Column("synopsis", TEXT, "summary of the line chunk"),
            Column("model", TEXT, "language model that wrote it", label=True),
        ),
        DOCUMENT_LEVEL,
        ("max_tokens", "chunk_id"),
        checks=(
            TableCheck(
                "every_chunk_has_one",
                "Each line chunk has a synopsis that is not empty.",
                "line chunk",
                (
                    Rule(
                        "(max_tokens, chunk_id) NOT IN "
                        f"(SELECT (max_tokens, chunk_id) {_SUMMARIZED})",
                        "have no synopsis, since the model gave no valid reply, so answers lack "
                        "their content",
                    ),
                ),
                "max_tokens, chunk_id, document_id, position",
                'FROM "jerr.line_chunks"',
                _REQUEST_AGAIN,
                warns=True,
            ),
        ),
    ),
    Table(
        "jerr.atomic_facts",
        "atomic fact of a synopsis",
        (
            SIZE,
            Column("chunk_id", TEXT, "the line chunk", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index among the facts of the synopsis, from 0"),
            Column("statement", TEXT, "the fact in a sentence"),
            Column("model", TEXT, "language model that wrote it", label=True),
        ),
        DOCUMENT_LEVEL,
        ("max_tokens", "chunk_id", "position"),
    ),
    Table(
        "jerr.elements",
        "core element of a synopsis",
        (
            SIZE,
            Column("chunk_id", TEXT, "the line chunk", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index among the elements of the synopsis, from 0"),
            Column("element", TEXT, "as extracted"),
            Column("element_key", TEXT, "without case, marks, articles and outer blanks"),
            Column("model", TEXT, "language model that found it", label=True),
        ),
        DOCUMENT_LEVEL,
        ("max_tokens", "chunk_id", "position"),
        checks=(
            TableCheck(
                "every_synopsis_has_some",
                "Each synopsis has at least one core element, and each element a line chunk.",
                "element",
                (
                    Rule(
                        lacks("max_tokens, chunk_id", "jerr.elements"),
                        "have no element, so that searches cannot find them: the model named none, "
                        "or gave no valid reply",
                        "synopsis|synopses",
                        f"SELECT max_tokens, chunk_id, document_id, position {_SUMMARIZED}",
                        _REQUEST_AGAIN,
                    ),
                    Rule(
                        lacks("max_tokens, chunk_id", "jerr.line_chunks"), "belong to no line chunk"
                    ),
                ),
                "max_tokens, chunk_id, document_id, element",
                warns=True,
            ),
        ),
    ),
    Table(
        "jerr.relations",
        "relation between two elements of a synopsis",
        (
            SIZE,
            Column("chunk_id", TEXT, "the line chunk", label=True),
            DOCUMENT_ID,
            Column("source_key", TEXT, "element_key of its source"),
            Column("target_key", TEXT, "element_key of its target"),
            Column("relation", TEXT, "in at most three words"),
            Column("model", TEXT, "language model that named it", label=True),
        ),
        DOCUMENT_LEVEL,
        ("max_tokens", "chunk_id", "source_key", "target_key"),
        checks=(
            TableCheck(
                "join_elements",
                "Both ends are elements of the same line chunk; a relation has one to three words.",
                "relation",
                (
                    Rule(
                        f"{lacks('max_tokens, chunk_id, source_key', *_ELEMENTS)} OR "
                        f"{lacks('max_tokens, chunk_id, target_key', *_ELEMENTS)}",
                        "have an end that is not an element of their line chunk",
                    ),
                    Rule(
                        r"len(regexp_extract_all(relation, '\S+')) NOT BETWEEN 1 AND 3",
                        "are not named in one to 3 words",
                    ),
                ),
                "max_tokens, chunk_id, document_id, source_key, target_key, relation",
            ),
        ),
    ),
    Table(
        "jerr.merges",
        "written form of an element, with its node",
        (
            SIZE,
            Column("element", TEXT, "as extracted"),
            Column("element_key", TEXT, "without case, marks, articles and outer blanks"),
            Column("node_id", TEXT, "the node", label=True),
            Column("merged_into", TEXT, "name of the node"),
            Column(
                "rule", TEXT, "'own': its name; 'exact': the same key; 'near': SimHash", label=True
            ),
            Column("n_bits", INT, "bits of 64 by which its SimHash differs from the name's"),
            Column("n_mentions", INT, "synopses that have it as an element"),
        ),
        ("corpus",),
        ("max_tokens", "element"),
    ),
    Table(
        "jerr.nodes",
        "node of the graph, a set of merged elements",
        (
            SIZE,
            Column("node_id", TEXT, "hash of its name's element_key", label=True),
            Column("name", TEXT, "most frequent form of its element"),
            Column("place", INT, "index in topological order, from 0"),
            Column("n_mentions", INT, "synopses that have it as an element"),
            Column("facts", TEXTS, "atomic facts of these synopses that name it"),
            Column("chunk_ids", TEXTS, "line chunks of these synopses"),
            Column("document_ids", TEXTS, "documents of these"),
        ),
        ("corpus",),
        ("max_tokens", "node_id"),
        checks=(
            TableCheck(
                "stand_for_elements",
                "Every written form of an element is merged into an existing node; near duplicates "
                "differ by at most 3 bits of 64.",
                "written form",
                (
                    Rule(
                        lacks("max_tokens, node_id", "jerr.nodes"),
                        "are merged into a node that does not exist",
                    ),
                    Rule(
                        lacks("max_tokens, element", "jerr.merges"),
                        "are merged into no node",
                        "written form of elements|written forms of elements",
                        'SELECT DISTINCT max_tokens, element FROM "jerr.elements"',
                    ),
                    Rule(
                        "n_bits NOT BETWEEN 0 AND CASE rule WHEN 'near' THEN 3 ELSE 0 END",
                        "differ from their node's name by more bits than their rule allows "
                        "(near: 3, others: 0)",
                    ),
                ),
                "max_tokens, element, node_id, rule, n_bits",
                'FROM "jerr.merges"',
                "materialize jerr/merges and jerr/nodes again",
            ),
        ),
    ),
    Table(
        "jerr.edges",
        "edge of the acyclic graph",
        (
            SIZE,
            Column("source_id", TEXT, "source node", label=True),
            Column("target_id", TEXT, "target node", label=True),
            Column("relation", TEXT, "most frequent name of the relation"),
            Column("relations", TEXTS, "all names of the relation"),
            Column("weight", INT, "number of synopses with the relation"),
            Column("chunk_ids", TEXTS, "line chunks of these synopses"),
            Column("document_ids", TEXTS, "documents of these"),
        ),
        ("corpus",),
        ("max_tokens", "source_id", "target_id"),
    ),
    Table(
        "jerr.left_out_edges",
        "edge left out because it would close a cycle",
        (
            SIZE,
            Column("source_id", TEXT, "source node", label=True),
            Column("target_id", TEXT, "target node", label=True),
            Column("relation", TEXT, "most frequent name of the relation"),
            Column("weight", INT, "number of synopses with the relation"),
            Column("chunk_ids", TEXTS, "line chunks of these synopses"),
            Column("document_ids", TEXTS, "documents of these"),
            Column("cycle_ids", TEXTS, "nodes of the cycle: source, target, and back by edges"),
            Column("cycle", TEXT, "the cycle as text: names and relations"),
        ),
        ("corpus",),
        ("max_tokens", "source_id", "target_id"),
    ),
    Table(
        "jerr.pages",
        "page of ReadAgent: paragraphs up to a natural pause",
        (
            Column("page_id", TEXT, "hash of document and text", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index in the document, from 0"),
            Column("start", INT, "offset of the first character in the document's text"),
            Column("end", INT, "offset after the last character"),
            Column("n_words", INT, "words"),
            Column("text", TEXT, "the document's text from start to end"),
            Column("gist", TEXT, "summary of the page; empty: no valid reply"),
            Column("model", TEXT, "language model that wrote the gist", label=True),
        ),
        RESULT,
        ("page_id",),
    ),
    Table(
        "jerr.keywords",
        "question with its keywords",
        (
            QUERY_ID,
            Column("keywords", TEXTS, "in the order of the reply"),
            *SPENT,
        ),
        RESULT,
        ("query_id",),
    ),
    Table(
        "jerr.searches",
        "pair of a question and a node visited by its search",
        (
            QUERY_ID,
            Column("node_id", TEXT, "the node", label=True),
            Column("name", TEXT, "of the node"),
            Column("place", INT, "rank from 1, best first; nodes of a line chunk take turns"),
            Column("is_chosen", pa.bool_(), "whether it is in the context"),
            Column("step", INT, "index on the best path, from 1; null: not on it", True),
            Column("visits", INT, "simulations through it; null: PageRank", True),
            Column("mean_reward", FLOAT, "mean reward of these, 0 to 1; null: PageRank", True),
            Column("score", FLOAT, "mean_reward * ln(1 + visits), or PageRank"),
            Column("keywords", TEXTS, "keywords that it matches"),
            Column("chunk_ids", TEXTS, "its line chunks in scope, the best one first"),
        ),
        RESULT,
        ("query_id", "node_id"),
    ),
    Table(
        "jerr.look_ups",
        "question with the line chunks or pages to read again",
        (
            QUERY_ID,
            Column("chunk_ids", TEXTS, "line chunks or pages named by the model, in its order"),
            Column("n_shown", INT, "synopses or gists in the prompt"),
            *SPENT,
        ),
        RESULT,
        ("query_id",),
        checks=(
            TableCheck(
                "name_what_was_shown",
                "Passages to read again are in their question's context.",
                "passage to read again|passages to read again",
                (
                    Rule(
                        lacks("query_id, chunk_id", "contexts", "query_id, node_id"),
                        "were not shown with their question",
                    ),
                ),
                examined='SELECT query_id, unnest(chunk_ids) AS chunk_id FROM "jerr.look_ups"',
            ),
        ),
    ),
    Table(
        "jerr.reread_contexts",
        "passage in the final context of an answer",
        (
            QUERY_ID,
            Column("sample", INT, "always 0: one context per question"),
            Column("rank", INT, "from 1, as in contexts"),
            Column("node_id", TEXT, "as in contexts", label=True),
            Column(
                "node_kind", TEXT, "as in contexts; read again: 'line chunk' or 'page'", label=True
            ),
            Column("document_id", TEXT, "document it comes from; null: a node", True),
            Column("position", INT, "position in its document", True),
            Column("score", FLOAT, "as in contexts"),
            Column("fate", TEXT, "'as found', 'read again', 'cut' or 'over budget'", label=True),
            Column("text", TEXT, "text in the prompt; empty: left out"),
        ),
        RESULT,
        ("query_id", "sample", "rank"),
    ),
)
