"""The longest chunks answer every question."""

import pyarrow as pa

from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import CONTEXTS, RANKINGS, Inputs, Step
from gsum_assets.retrieval.contexts import top_contexts


def _lengths(inputs: Inputs) -> pa.Table:
    rows = inputs.table("chunks").select(["document_id", "chunk_id", "text"]).to_pylist()
    counted = [{"n": len(row.pop("text").split()), **row} for row in rows]
    return pa.Table.from_pylist(counted)


def _contexts(inputs: Inputs) -> pa.Table:
    return top_contexts(inputs.table("rankings"), inputs.table("chunks"), k=2)


def _rank(inputs: Inputs) -> pa.Table:
    best = inputs.table("lengths").sort_by([("n", "descending")]).to_pylist()
    same = {"level": "node", "latency_s": 0.0}
    return pa.Table.from_pylist(
        [
            {"query_id": q, "rank": i, "item_id": row["chunk_id"], "score": 1 / i, **same}
            for q in inputs.table("queries")["query_id"].to_pylist()
            for i, row in enumerate(best, 1)
        ]
    )


FAMILY = Family(
    "longest",
    ("longest",),
    index=(Step(_lengths, {"lengths": "Words of each chunk."}, ("chunks",)),),
    question=(
        Step(_rank, RANKINGS, ("lengths",)),
        Step(_contexts, CONTEXTS, ("chunks",)),
    ),
    explain=lambda i: f"of {i.table('lengths').num_rows} chunks the longest",
)
