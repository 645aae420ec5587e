"""Check of the judge that gave the verdicts."""

import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import SHOWN, Finding, count


def no_position_bias(judgements: pa.Table) -> Finding:
    """Check that the answer shown first won about half of the decided verdicts.

    Fails if the 95% interval of its share excludes one half: both orders are judged, so that the
    win rates stay fair, but a judge with position bias adds noise.
    """
    if not judgements.num_rows:
        return Finding(count(0, "criterion", "criteria"))
    from gsum_assets.evaluation.judges.position_bias import position_bias  # the judges exist

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
        "do not rely on win rates near one half, raise [judges] repeats, or choose another judge"
    )
    return Finding(checked, problem, len(biased), biased[:SHOWN])


NO_POSITION_BIAS = Check(
    "no_position_bias",
    "The judge does not prefer an answer because of its position.",
    lambda inputs: no_position_bias(inputs.rows()),
    warns=True,
)
