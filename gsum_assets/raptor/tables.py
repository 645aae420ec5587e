"""Table of RAPTOR."""

from gsum_assets.pipeline.columns import (
    DOCUMENT_ID,
    document_table,
    integer,
    label,
    text,
    texts,
    vector,
)

TABLES = (
    document_table(
        "raptor.tree_nodes",
        "summary of a cluster",
        "node_id",
        label("node_id", "content hash of document, children and text"),
        DOCUMENT_ID,
        integer("layer", "from 1; its children are of lower layers, passages of layer 0"),
        integer("position", "index within the layer of its document, from 0"),
        text("text", "the summary"),
        texts("child_ids", "passages or summaries that it was written from"),
        texts("chunk_ids", "passages below it, in reading order"),
        label("model", "language model that wrote it"),
        vector("embedding", "unit-length vector of the text"),
    ),
)
