"""Position bias: whether verdicts of a judge depend on the order of the answers."""

import pyarrow as pa

from gsum_assets.evaluation.judges.orders import (
    disagreements,
    first_won,
    grouped,
    judged_by_model,
    pairwise_rows,
    share,
    share_interval,
)
from gsum_assets.evaluation.judges.verdicts import CRITERIA

SCHEMA = pa.schema(
    [
        pa.field("criterion", pa.string(), False),
        pa.field("first_won", pa.float64()),
        pa.field("low", pa.float64()),
        pa.field("high", pa.float64()),
        pa.field("disagreement", pa.float64()),
        pa.field("n", pa.int32(), False),
        pa.field("n_both_orders", pa.int32(), False),
        pa.field("unparsed", pa.int32(), False),
    ]
)


def position_bias(judgements: pa.Table) -> pa.Table:
    """Return one row per criterion, over all pairs of methods.

    Returns
    -------
    pa.Table
        first_won : fraction of decided verdicts won by the answer shown first; both orders are
            judged, so that 0.5 is no bias. Null without decided verdicts.
        low, high : 95% interval of `first_won` over questions, each with all of its verdicts.
        disagreement : fraction of the pairs of both orders (same question, methods and repeat)
            with different winners; a tie differs from a winner, but not from a tie.
        n : decided verdicts.
        n_both_orders : pairs with a verdict in both orders.
        unparsed : replies without a verdict.
    """
    by_criterion = grouped(judged_by_model(pairwise_rows(judgements)), "criterion")
    rows = []
    for criterion in CRITERIA:
        verdicts = by_criterion.get((criterion,), [])
        if not verdicts:
            continue
        of_questions = [first_won(rows) for rows in grouped(verdicts, "query_id").values()]
        decided = [counts for counts in of_questions if counts[1]]
        low, high = share_interval(decided) if decided else (None, None)
        n_first, n_decided = first_won(verdicts)
        n_differ, n_both = disagreements(verdicts)
        rows.append(
            {
                "criterion": criterion,
                "first_won": share(n_first, n_decided),
                "low": low,
                "high": high,
                "disagreement": share(n_differ, n_both),
                "n": n_decided,
                "n_both_orders": n_both,
                "unparsed": sum(row["verdict"] == "unparsed" for row in verdicts),
            }
        )
    return pa.Table.from_pylist(rows, SCHEMA)
