"""The table of lengths."""

from gsum_assets.pipeline.columns import DOCUMENT_ID, DOCUMENT_LEVEL, INT, TEXT
from gsum_resources.store.table import Column, Table

_CHUNK_ID, _N = Column("chunk_id", TEXT, "id of the chunk"), Column("n", INT, "its words")
TABLES = (
    Table("longest.lengths", "chunk", (DOCUMENT_ID, _CHUNK_ID, _N), DOCUMENT_LEVEL, ("chunk_id",)),
)
