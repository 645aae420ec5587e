"""What a check found."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

SHOWN = 10  # offenders named in a check's metadata


@dataclass(frozen=True)
class Finding:
    """What a check saw in one corpus, or in one method of a corpus.

    Attributes
    ----------
    checked : how much was checked, "1,204 rows in 8 partitions".
    problem : what is wrong and how to repair it; "" where nothing is.
    n_wrong : how many rows, partitions or requests are wrong.
    offenders : the first of them, value by column name.
    broke : the check itself could not do its work.
    """

    checked: str
    problem: str = ""
    n_wrong: int = 0
    offenders: Sequence[Mapping[str, object]] = ()
    broke: bool = False


def found(checked: str, wrong: pa.Table, problem: str) -> Finding:
    """A finding whose offenders are the rows of `wrong`; without any, nothing is wrong.

    Parameters
    ----------
    problem : completes "<n of checked> …", for example "have no embedding".
    """
    if not wrong.num_rows:
        return Finding(checked)
    first = wrong.slice(0, SHOWN).to_pylist()
    return Finding(checked, f"{wrong.num_rows:,} of {checked} {problem}", wrong.num_rows, first)


def together(findings: Sequence[Finding]) -> Finding:
    """Several findings about the same rows as one."""
    return Finding(
        findings[0].checked,
        "; ".join(f.problem for f in findings if f.problem),
        sum(f.n_wrong for f in findings),
        [offender for f in findings for offender in f.offenders][:SHOWN],
    )


def count(n: int, noun: str, plural: str = "") -> str:
    """`1 row`, `1,204 rows`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
