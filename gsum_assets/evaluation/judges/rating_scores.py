"""Ratings as scores of questions, for the leaderboard."""

import pyarrow as pa

from gsum_resources.store.arrow import pc

METRICS = {
    ("g_eval", "consistency"): "g_eval_consistency",
    ("g_eval", "relevance"): "g_eval_relevance",
    ("llm_rater", "lr1"): "lr1",
    ("llm_rater", "lr2"): "lr2",
    ("assertions", "met"): "judge_assertions",
}
SCHEMA = pa.schema(
    [
        pa.field("method", pa.string(), False),
        pa.field("query_id", pa.string(), False),
        pa.field("metric", pa.string(), False),
        pa.field("value", pa.float64(), False),
    ]
)


def rating_scores(judgements: pa.Table) -> pa.Table:
    """Return one row per method, question and metric: the mean over parsed repeats.

    Values are 1 to 5 for `g_eval_consistency` and `g_eval_relevance`, 0 to 1 for `lr1`, `lr2` and
    `judge_assertions`. Claims that a judge listed have the metrics of `claims.py`, as
    `judge_claims`.
    """
    rated = judgements.filter(
        pc.and_(pc.is_null(judgements["opponent"]), pc.is_valid(judgements["value"]))
    )
    means = rated.group_by(["method", "query_id", "judge", "criterion"]).aggregate(
        [("value", "mean")]
    )
    rows = [
        {
            "method": row["method"],
            "query_id": row["query_id"],
            "metric": METRICS.get((row["judge"], row["criterion"]), f"judge_{row['criterion']}"),
            "value": row["value_mean"],
        }
        for row in means.to_pylist()
    ]
    rows.sort(key=lambda row: (row["method"], row["query_id"], row["metric"]))
    return pa.Table.from_pylist(rows, SCHEMA)
