"""Findings of checks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pyarrow as pa

SHOWN = 10  # offenders named in a check's metadata


@dataclass(frozen=True)
class Finding:
    """Result of a check on one corpus, or on one method of a corpus.

    Attributes
    ----------
    checked : what was checked, "1,204 rows in 8 partitions".
    problem : what is wrong and how to repair it; "" if nothing is.
    n_wrong : number of wrong rows, partitions or requests.
    offenders : the first of them, value by column name.
    broke : whether the check itself raised an error.
    """

    checked: str
    problem: str = ""
    n_wrong: int = 0
    offenders: Sequence[Mapping[str, object]] = ()
    broke: bool = False


def found(checked: str, wrong: pa.Table, problem: str) -> Finding:
    """Return a finding whose offenders are the rows of `wrong`.

    Parameters
    ----------
    problem : completes "<n of checked> …", for example "have no embedding".
    """
    if not wrong.num_rows:
        return Finding(checked)
    first = wrong.slice(0, SHOWN).to_pylist()
    return Finding(checked, f"{wrong.num_rows:,} of {checked} {problem}", wrong.num_rows, first)


def count(n: int, noun: str, plural: str = "") -> str:
    """Return `1 row`, `1,204 rows`."""
    return f"{n:,} {noun if n == 1 else plural or noun + 's'}"
