"""Tables of GraphRAG."""

import pyarrow as pa

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    DOCUMENT_LEVEL,
    FLOAT,
    INT,
    QUERY_ID,
    RESULT,
    SPENT,
    TEXT,
    TEXTS,
    VECTOR,
)
from gsum_resources.store.table import Column, Rule, Table, TableCheck, counts_up, lacks

_MENTIONED = ("graphrag.entity_mentions", "chunk_id, name_key")

TABLES = (
    Table(
        "graphrag.extractions",
        "chunk with the result of its extraction",
        (
            Column("chunk_id", TEXT, "the chunk", label=True),
            DOCUMENT_ID,
            Column("n_rounds", INT, "extraction and gleanings with a reply; 0: none"),
            Column("n_entities", INT, "mentions of entities in it"),
            Column("n_relationships", INT, "mentions of relationships in it"),
            Column("n_claims", INT, "claims in it"),
            Column(
                "problems", TEXTS, "what was left out of a malformed reply, and why", label=True
            ),
            *SPENT,
        ),
        DOCUMENT_LEVEL,
        ("chunk_id",),
    ),
    Table(
        "graphrag.entity_mentions",
        "mention of an entity in a chunk",
        (
            Column("chunk_id", TEXT, "the chunk", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index among the chunk's mentions, from 0"),
            Column("round", INT, "0: extraction; from 1: gleaning"),
            Column("name", TEXT, "as extracted"),
            Column("name_key", TEXT, "the name without case, marks and blanks around it"),
            Column("type", TEXT, "type in this chunk; empty: named only by a relationship"),
            Column("description", TEXT, "description in this chunk"),
            Column("is_verbatim", pa.bool_(), "whether the chunk's text contains the name"),
            Column("model", TEXT, "language model that found it; empty: from a file", label=True),
        ),
        DOCUMENT_LEVEL,
        ("chunk_id", "position"),
        checks=(
            TableCheck(
                "of_chunks",
                "Each mention is of a chunk that exists.",
                "mention",
                (Rule(lacks("chunk_id", "chunks"), "belong to no existing chunk"),),
                "chunk_id, document_id, name",
                blocking=True,
            ),
        ),
    ),
    Table(
        "graphrag.relationship_mentions",
        "mention of a relationship in a chunk",
        (
            Column("chunk_id", TEXT, "the chunk", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index among the chunk's relationships, from 0"),
            Column("round", INT, "0: extraction; from 1: gleaning"),
            Column("source_key", TEXT, "name_key of one entity"),
            Column("target_key", TEXT, "name_key of the other entity"),
            Column("source_type", TEXT, "type of the source in this chunk; empty: none"),
            Column("target_type", TEXT, "type of the target in this chunk; empty: none"),
            Column("description", TEXT, "description in this chunk"),
            Column("strength", INT, "1 (loose) to 10 (essential), as extracted"),
            Column("model", TEXT, "language model that found it; empty: from a file", label=True),
        ),
        DOCUMENT_LEVEL,
        ("chunk_id", "position"),
        checks=(
            TableCheck(
                "join_mentions",
                "Both ends are mentioned in the same chunk, and differ; strength is 1 to 10.",
                "relationship",
                (
                    Rule(
                        f"{lacks('chunk_id, source_key', *_MENTIONED)} OR "
                        f"{lacks('chunk_id, target_key', *_MENTIONED)}",
                        "have an end that their chunk does not mention",
                    ),
                    Rule("source_key = target_key", "join a name to itself"),
                    Rule("strength NOT BETWEEN 1 AND 10", "have a strength that is not 1 to 10"),
                ),
                "chunk_id, document_id, source_key, target_key, strength",
            ),
        ),
    ),
    Table(
        "graphrag.claims",
        "claim about an entity in a chunk",
        (
            Column("chunk_id", TEXT, "the chunk", label=True),
            DOCUMENT_ID,
            Column("position", INT, "index among the chunk's claims, from 0"),
            Column("round", INT, "0: extraction; from 1: gleaning"),
            Column("subject_key", TEXT, "name_key of its subject"),
            Column("object_key", TEXT, "name_key of its object; null: none", True),
            Column("subject_type", TEXT, "type of its subject in this chunk; empty: none"),
            Column("type", TEXT, "kind of claim"),
            Column("status", TEXT, "'true', 'false' or 'suspected', according to the chunk"),
            Column("description", TEXT, "the claim"),
            Column("start_date", TEXT, "start date as in the chunk; null: none", True),
            Column("end_date", TEXT, "end date as in the chunk; null: none", True),
            Column("quote", TEXT, "supporting quotation from the chunk"),
            Column("model", TEXT, "language model that found it", label=True),
        ),
        DOCUMENT_LEVEL,
        ("chunk_id", "position"),
        checks=(
            TableCheck(
                "about_mentions",
                "A claim's subject is mentioned in its chunk; it is true, false or suspected.",
                "claim",
                (
                    Rule(
                        lacks("chunk_id, subject_key", *_MENTIONED),
                        "have a subject that their chunk does not mention",
                    ),
                    Rule(
                        "status NOT IN ('true', 'false', 'suspected')",
                        "have a status other than true, false, suspected",
                    ),
                ),
                "chunk_id, document_id, subject_key, status, description",
            ),
        ),
    ),
    Table(
        "graphrag.aliases",
        "name with its entity",
        (
            Column(
                "name_key",
                TEXT,
                "the name without case, marks and blanks around it; of the rarer of two entities "
                "with this name with its sense, as 'washington [place]'",
            ),
            Column("name", TEXT, "most frequent spelling"),
            Column("entity_id", TEXT, "the entity", label=True),
            Column("rule", TEXT, "reason: 'own', 'title', 'short form' or 'acronym'", label=True),
            Column("evidence_chunk_ids", TEXTS, "chunks that support the merge; none for 'own'"),
            Column("n_mentions", INT, "number of mentions of the name"),
        ),
        ("corpus",),
        ("name_key",),
    ),
    Table(
        "graphrag.entities",
        "entity",
        (
            Column("entity_id", TEXT, "hash of its name_key", label=True),
            Column("name", TEXT, "most frequent spelling of its longest proper name"),
            Column("name_key", TEXT, "name_key of that name"),
            Column("type", TEXT, "most frequent type; empty: none"),
            Column(
                "type_variants", TEXTS, "all types with counts, as 'person: 3', most frequent first"
            ),
            Column("description", TEXT, "merged descriptions of the chunks"),
            Column("n_descriptions", INT, "number of distinct descriptions merged"),
            Column("n_mentions", INT, "number of chunks that mention it"),
            Column("degree", INT, "number of its relationships"),
            Column("chunk_ids", TEXTS, "chunks that mention it"),
            Column("document_ids", TEXTS, "documents that mention it"),
            *SPENT,
        ),
        ("corpus",),
        ("entity_id",),
    ),
    Table(
        "graphrag.relationships",
        "pair of entities that are related",
        (
            Column("relationship_id", TEXT, "hash of both ends", label=True),
            Column("source_id", TEXT, "end that is usually named first", label=True),
            Column("target_id", TEXT, "the other end", label=True),
            Column("description", TEXT, "merged descriptions of the chunks"),
            Column("n_descriptions", INT, "number of distinct descriptions merged"),
            Column("weight", FLOAT, "number of chunks that mention it"),
            Column("strength", FLOAT, "mean over its mentions, 1 to 10"),
            Column("combined_degree", INT, "sum of both ends' degrees"),
            Column("chunk_ids", TEXTS, "chunks that mention it"),
            Column("document_ids", TEXTS, "documents that mention it"),
            *SPENT,
        ),
        ("corpus",),
        ("relationship_id",),
    ),
    Table(
        "graphrag.communities",
        "community of entities",
        (
            Column("community_id", TEXT, "hash of level and entities", label=True),
            Column("level", INT, "0: the coarsest"),
            Column("number", INT, "from 0, by level, then largest first"),
            Column("parent_id", TEXT, "parent community; null: level 0", True, label=True),
            Column("child_ids", TEXTS, "child communities; none: a leaf"),
            Column("title", TEXT, "names of its most connected entities"),
            Column("size", INT, "number of entities"),
            Column("entity_ids", TEXTS, "its entities, most connected first"),
            Column("relationship_ids", TEXTS, "relationships between them"),
            Column("chunk_ids", TEXTS, "chunks that mention one of them"),
        ),
        ("corpus",),
        ("community_id",),
    ),
    Table(
        "graphrag.community_reports",
        "community with a report",
        (
            Column("community_id", TEXT, "the community", label=True),
            Column("level", INT, "0: the coarsest"),
            Column("title", TEXT, "title of the report"),
            Column("summary", TEXT, "summary of the report"),
            Column("rating", FLOAT, "importance, 0 to 10"),
            Column("rating_explanation", TEXT, "explanation of the rating"),
            Column("text", TEXT, "title, summary and findings, for prompts of answers"),
            Column("n_findings", INT, "number of findings with support, see graphrag.findings"),
            Column("n_unsupported", INT, "number of findings left out without support"),
            Column("n_elements", INT, "number of entities, relationships and claims"),
            Column("n_read", INT, "number of passages in the prompt"),
            Column("n_substituted", INT, "number of these that are reports of child communities"),
            Column("prompt_tokens", INT, "length of the prompt, word pieces"),
            Column(
                "problems", TEXTS, "what was left out of a malformed reply, and why", label=True
            ),
            *SPENT,
        ),
        ("corpus",),
        ("community_id",),
        checks=(
            TableCheck(
                "every_community_reported",
                "Each community has a report.",
                "community|communities",
                (
                    Rule(
                        lacks("community_id", "graphrag.community_reports"),
                        "have no report, so answers ignore them",
                    ),
                ),
                "community_id, level, number, title, size",
                'FROM "graphrag.communities"',
                "the log of graphrag/community_reports says why, and `gsum run {corpus}` requests "
                "the missing reports again",
                warns=True,
            ),
        ),
    ),
    Table(
        "graphrag.findings",
        "finding of a community's report",
        (
            Column("community_id", TEXT, "the community", label=True),
            Column("level", INT, "0: the coarsest"),
            Column("position", INT, "index in the report, from 0"),
            Column("summary", TEXT, "the finding in a sentence"),
            Column("explanation", TEXT, "the finding at length"),
            Column("entity_ids", TEXTS, "entities that it is about"),
            Column("chunk_ids", TEXTS, "supporting chunks, each of which mentions such an entity"),
            Column("document_ids", TEXTS, "documents of those chunks"),
        ),
        ("corpus",),
        ("community_id", "position"),
    ),
    Table(
        "graphrag.embeddings",
        "entity or report",
        (
            Column("kind", TEXT, "'entity' or 'report'", label=True),
            Column("item_id", TEXT, "entity_id or community_id", label=True),
            Column("embedding", VECTOR, "unit-length vector of name and description, or text"),
        ),
        ("corpus",),
        ("kind", "item_id"),
    ),
    Table(
        "graphrag.partial_answers",
        "pair of a question and a pack of its passages",
        (
            QUERY_ID,
            Column("pack", INT, "number of the pack, from 0"),
            Column("node_ids", TEXTS, "reports or chunks in the pack, as in contexts"),
            Column("n_passages", INT, "number of passages in the pack"),
            Column("prompt_tokens", INT, "length of the prompt, word pieces"),
            Column("helpfulness", INT, "helpfulness of the answer, 0 to 100"),
            Column("answer", TEXT, "the partial answer"),
            Column("problems", TEXTS, "errors of a malformed reply", label=True),
            *SPENT,
        ),
        RESULT,
        ("query_id", "pack"),
        checks=(
            TableCheck(
                "in_range",
                "Helpfulness is 0 to 100.",
                "partial answer",
                (
                    Rule(
                        "helpfulness NOT BETWEEN 0 AND 100",
                        "have a helpfulness that is not 0 to 100",
                    ),
                ),
                "query_id, pack, helpfulness",
            ),
        ),
    ),
    Table(
        "graphrag.reduced_contexts",
        "passage in the context of the final answer",
        (
            QUERY_ID,
            Column("sample", INT, "always 0: one context per question"),
            Column("rank", INT, "from 1, most helpful first"),
            Column("node_id", TEXT, "the pack, or the passage as in contexts", label=True),
            Column("node_kind", TEXT, "'partial answer', or as in contexts", label=True),
            Column("document_id", TEXT, "document of the passage; null: several", True),
            Column("position", INT, "position in its document", True),
            Column("score", FLOAT, "helpfulness, or the score in contexts"),
            Column("fate", TEXT, "'kept', 'cut', 'of no help' or 'over budget'", label=True),
            Column("text", TEXT, "text in the prompt; empty: left out"),
        ),
        RESULT,
        ("query_id", "sample", "rank"),
        checks=(
            TableCheck(
                "ranks_consecutive",
                "The ranks of each question's context count up from 1.",
                "context",
                (counts_up("graphrag.reduced_contexts", "rank", "query_id, sample"),),
            ),
        ),
    ),
)
