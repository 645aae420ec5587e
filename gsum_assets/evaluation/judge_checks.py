"""Checks of verdicts and of the judge that gave them."""

import pyarrow as pa

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import SHOWN, Finding, count, found
from gsum_resources.store.arrow import pc


def verdicts_parsed(judgements: pa.Table, corpus: str) -> Finding:
    """Check that every reply of the judge contained a verdict."""
    wrong = judgements.filter(pc.equal(judgements["verdict"], "unparsed"))
    return found(
        count(judgements.num_rows, "verdict"),
        wrong.select(["query_id", "judge", "criterion", "method", "opponent", "reason"]),
        f"could not be read from the reply; `gsum run {corpus}` repeats them; if many fail, set "
        "another model in [judge]",
    )


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


VERDICTS_PARSED = Check(
    "verdicts_parsed",
    "Every reply of the judge contained a verdict.",
    lambda inputs: verdicts_parsed(inputs.rows(), inputs.corpus),
    warns=True,
)
NO_POSITION_BIAS = Check(
    "no_position_bias",
    "The judge does not prefer an answer because of its position.",
    lambda inputs: no_position_bias(inputs.rows()),
    warns=True,
)
