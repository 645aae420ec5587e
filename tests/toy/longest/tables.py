"""The table of lengths."""

from gsum_assets.pipeline.columns import CHUNK_ID, DOCUMENT_ID, document_table, integer

TABLES = (
    document_table(
        "longest.lengths", "chunk", "chunk_id", DOCUMENT_ID, CHUNK_ID, integer("n", "its words")
    ),
)
