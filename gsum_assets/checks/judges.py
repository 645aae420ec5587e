"""What should be true of verdicts, and of the judge that gave them."""

import pyarrow as pa

from gsum_assets.checks.finding import SHOWN, Finding, count, found
from gsum_assets.evaluation.judges.position_bias import position_bias
from gsum_resources.arrow import pc


def verdicts_parsed(judgements: pa.Table, corpus: str) -> Finding:
    """Every reply of the judge held a verdict."""
    columns = ["query_id", "judge", "criterion", "method", "opponent", "reason"]
    unparsed = judgements.filter(pc.equal(judgements["verdict"], "unparsed")).select(columns)
    checked = count(judgements.num_rows, "verdict")
    remedy = f"`gsum run {corpus}` asks again; a judge that often fails needs another model"
    return found(checked, unparsed, f"could not be read from the reply; {remedy}")


def no_position_bias(judgements: pa.Table) -> Finding:
    """Of the decided verdicts, the answer shown first won about half.

    Fails where the 95% interval of its share leaves out one half: both orders are asked, so that
    the win rates stay fair, but a judge that goes by places adds noise.
    """
    bias = position_bias(judgements)
    checked = count(bias.num_rows, "criterion", "criteria")
    biased = [
        {name: row[name] for name in ("criterion", "first_won", "low", "high", "disagreement")}
        for row in bias.to_pylist()
        if row["low"] is not None and not row["low"] <= 0.5 <= row["high"]
    ]
    if not biased:
        return Finding(checked)
    worst = max(biased, key=lambda row: abs(row["first_won"] - 0.5))
    problem = (
        f"of {checked}, {len(biased)} depend on which answer is shown first; by "
        f"'{worst['criterion']}' the first won {worst['first_won']:.0%} of the decided verdicts; "
        "take win rates near one half with care, raise [judges] repeats, or choose another judge"
    )
    return Finding(checked, problem, len(biased), biased[:SHOWN])
