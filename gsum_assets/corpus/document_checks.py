"""Check of the files of a corpus."""

import pyarrow as pa

from gsum_assets.corpus.intake import others_by_type, real_rejections
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import SHOWN, Finding, count


def none_rejected(rejected: pa.Table, corpus: str) -> Finding:
    """Check that every document of the folder could be read.

    Files of other types are counted, but are no failure.
    """
    rows = real_rejections(rejected)
    checked = count(len(rows), "rejected document")
    if others := others_by_type(rejected):
        checked += f"; not read: {', '.join(f'{n:,} {suffix}' for suffix, n in others)}"
    if not rows:
        return Finding(checked)
    first = [{name: row[name] for name in ("file", "line", "reason")} for row in rows[:SHOWN]]
    problem = (
        f"{checked} (first: {first[0]['file']}: {first[0]['reason']}); repair or remove the "
        f"files, then `gsum run {corpus}`"
    )
    return Finding(checked, problem, len(rows), first)


NONE_REJECTED = Check(
    "none_rejected",
    "Every document of the corpus folder could be read.",
    lambda inputs: none_rejected(inputs.rows(), inputs.corpus),
    warns=True,
)
