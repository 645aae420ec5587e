"""Tables of LinearRAG."""

from gsum_assets.pipeline.columns import CHUNK_ID, check, corpus_table, integer, label, text, vector
from gsum_resources.store.table import Rule, lacks

TABLES = (
    corpus_table(
        "linear_rag.mentions",
        "entity in a sentence",
        "chunk_id, position, entity_id",
        CHUNK_ID,
        integer("position", "index of the sentence in the chunk, from 0"),
        label("entity_id", "the entity"),
        check(
            "of_sentences",
            "Each mention is in a sentence with a vector.",
            "mention",
            Rule(
                lacks("chunk_id, position", "evidence.sentences"),
                "are in no sentence with a vector",
            ),
            shown="chunk_id, position, entity_id",
            blocking=True,
        ),
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
