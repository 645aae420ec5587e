"""Three passages of one sentence each, chained by entities: A and B, B and C, D alone."""

import numpy as np
import pyarrow as pa

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions

NAMES = {"a": "Ana", "b": "Brod", "c": "Cern", "d": "Dov"}
TEXTS = ("Ana lives in Brod.", "Brod lies on the Cern.", "Many people live near Dov.")
HELD = ("ab", "bc", "d")
VECTORS = np.eye(3, dtype=np.float32)


def collection() -> Collection:
    """Documents d0 to d2 of one chunk each, c0 to c2; vectors on the axes."""
    return Collection(
        [f"d{i}" for i in range(3)],
        TEXTS,
        [f"c{i}" for i in range(3)],
        TEXTS,
        np.arange(4),
        VECTORS,
    )


def chunks() -> pa.Table:
    """Rows of `chunks`."""
    ids = [f"c{i}" for i in range(3)]
    return pa.table({"chunk_id": ids, "text": list(TEXTS)})


def aliases() -> pa.Table:
    """Rows of `graphrag.aliases`: of the four entities, and of a name that was pruned."""
    keys = [*(name.lower() for name in NAMES.values()), "people"]
    return pa.table({"name_key": keys, "entity_id": [*NAMES, None]})


def sentences() -> pa.Table:
    """Rows of `evidence.sentences`, the last first."""
    vectors = pa.array(VECTORS[::-1].tolist(), pa.list_(pa.float32()))
    return pa.table({"chunk_id": ["c2", "c1", "c0"], "position": [0, 0, 0], "embedding": vectors})


def question(*weights: float, document_id: str | None = None) -> Questions:
    """A question about Ana, whose similarities to the passages are these."""
    return Questions(["q"], ["Where does Ana live?"], [document_id], np.array([weights], "f4"))


def edges(*rows: tuple[str, str, str, float]) -> pa.Table:
    """Rows of `hippo_rag.edges`: the contexts of the passages, and others."""
    contexts = [("context", f"c{i}", e, 1.0) for i, held in enumerate(HELD) for e in held]
    schema = TABLES["hippo_rag.edges"].schema
    columns = zip(*contexts, *rows, strict=True)
    return pa.table(dict(zip(schema.names, map(list, columns), strict=True)), schema)
