"""Tables of HippoRAG 2."""

from gsum_assets.pipeline.columns import (
    QUERY_ID,
    SPENT,
    corpus_table,
    label,
    number,
    result_table,
    text,
    texts,
    vector,
)

TABLES = (
    corpus_table(
        "hippo_rag.triples",
        "relationship as a text that questions are compared with",
        "relationship_id",
        label("relationship_id", "the relationship"),
        texts("entity_ids", "its two ends"),
        text("text", "names of both ends, and what relates them"),
        texts("document_ids", "documents that mention it"),
        vector("embedding", "unit vector of the text"),
    ),
    corpus_table(
        "hippo_rag.edges",
        "edge of the graph of phrases and passages",
        "kind, source_id, target_id",
        label("kind", "'relation', 'context' (a passage and a phrase in it) or 'synonym'"),
        label("source_id", "entity_id; of a context chunk_id"),
        label("target_id", "entity_id"),
        number("weight", "passages that relate both; 1 for a context; cosine of synonyms"),
    ),
    result_table(
        "hippo_rag.linked_triples",
        "question with the triples that it is linked to",
        "query_id",
        QUERY_ID,
        texts("linked_ids", "relationships most similar to the question, best first"),
        texts("relationship_ids", "those of them that are kept; none: passages alone decide"),
        *SPENT,
    ),
)
