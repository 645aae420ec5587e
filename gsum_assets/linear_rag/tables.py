"""Tables of LinearRAG."""

from gsum_assets.pipeline.columns import CHUNK_ID, corpus_table, integer, label, text, vector

TABLES = (
    corpus_table(
        "linear_rag.mentions",
        "entity in a sentence",
        "chunk_id, position, entity_id",
        CHUNK_ID,
        integer("position", "index of the sentence in the chunk, from 0"),
        label("entity_id", "the entity"),
    ),
    corpus_table(
        "linear_rag.entity_embeddings",
        "entity with the vector of its name",
        "entity_id",
        label("entity_id", "the entity"),
        text("name", "its name"),
        vector("embedding", "unit vector of the name"),
    ),
)
