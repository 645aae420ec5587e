"""Evaluation of the checks of an asset for a run.

The result of a check is about a whole table, while a run writes some partitions of it: one method
of one corpus, some buckets. If a run reported only on these, it would hide failures that the
previous run had found. So the store keeps, for each asset, which corpora (and methods) failed which
check, and these are checked again each time.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.check_inputs import CheckInputs, Subject
from gsum_assets.pipeline.finding import SHOWN, Finding
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import ParquetStore, Partition

Scope = tuple[str, str | None]  # corpus, method
_NAMED = 3  # corpora (and methods) that a description names


@dataclass(frozen=True)
class Verdict:
    """Result of a check on a table.

    `n_checked` counts corpora (and methods); `broke`: the check itself raised an error; `of_run`:
    a partition that the run wrote belongs to a corpus (and method) that failed.
    """

    check: Check
    n_checked: int
    description: str
    n_wrong: int = 0
    offenders: Sequence[Mapping[str, object]] = ()
    broke: bool = False
    of_run: bool = False

    @property
    def passed(self) -> bool:
        """Whether the check found nothing wrong."""
        return not self.n_wrong

    @property
    def is_error(self) -> bool:
        """Whether a failure is an error; one of a blocking check only if the run wrote the rows."""
        severe = self.broke or not self.check.warns
        return severe and (self.of_run or not self.check.blocking)


class Failing:
    """Scopes that failed checks of an asset when last checked, kept in the store."""

    def __init__(self, store: ParquetStore, asset: str) -> None:
        self._store = store
        self._path = f"{store.root}/_checks/{asset}.json"

    def read(self) -> dict[str, set[Scope]]:
        """Return the scopes by name of check."""
        try:
            stored = json.loads(self._store.fs.cat_file(self._path))
        except FileNotFoundError:
            return {}
        return {name: {(c, m) for c, m in scopes} for name, scopes in stored.items()}

    def write(self, failing: Mapping[str, Collection[Scope]]) -> None:
        """Replace the stored scopes."""
        stored = {name: sorted(scopes, key=_label) for name, scopes in sorted(failing.items())}
        self._store.replace_file(self._path, json.dumps(stored).encode())


def in_turn(subject: Subject, store: ParquetStore) -> AbstractContextManager[None]:
    """Return a lock that keeps other runs on this machine from checking the asset.

    Hold it from the check until the verdicts are recorded, so that the last record is that of the
    last check. Runs on several machines, or over an object store, do not wait, and may overwrite
    one another's failures; the next check of all partitions finds them again.
    """
    return store.alone(f"checks/{subject.name}")


def evaluate(
    subject: Subject,
    checks: Sequence[Check],
    store: ParquetStore,
    lineage: Lineage,
    written: Sequence[Partition] | None,
) -> list[Verdict]:
    """Check the partitions that a run wrote, and those that failed before.

    Parameters
    ----------
    written : the partitions of the run; None: all.
    """
    memory = Failing(store, subject.name)
    before = memory.read()
    findings: dict[str, dict[Scope, Finding]] = {check.name: {} for check in checks}
    if written is None:
        written = [p for p in store.partitions(subject.table) if p.method in subject.methods]
    of_run: dict[Scope, set[Partition]] = defaultdict(set)
    for partition in written:
        of_run[partition.corpus, partition.method].add(partition)
    failed_before = {scope for name in findings for scope in before.get(name, ())}
    for scope in sorted(of_run.keys() | failed_before, key=_label):
        corpus, method = scope
        whole = tuple(p for p in store.partitions(subject.table, corpus) if p.method == method)
        fresh = tuple(p for p in whole if p in of_run.get(scope, ()))
        inputs = CheckInputs(subject, store, lineage, fresh, whole)
        every = inputs if fresh == whole else CheckInputs(subject, store, lineage, whole, whole)
        for check in checks:
            chosen = every if scope in before.get(check.name, ()) else inputs
            if chosen.checked:
                try:
                    finding = check.run(chosen)
                except Exception as error:  # a failed check; it does not fail the run
                    problem = f"could not be checked: {type(error).__name__}: {error}"
                    finding = Finding("", problem, 1, broke=True)
                findings[check.name][scope] = finding
    failing = {name: set(_failures(by_scope)) for name, by_scope in findings.items()}
    after = {name: scopes for name, scopes in (before | failing).items() if scopes}
    if after != before:
        memory.write(after)
    return [_verdict(check, findings[check.name], of_run) for check in checks]


def _failures(findings: Mapping[Scope, Finding]) -> dict[Scope, Finding]:
    """Return the findings with a problem."""
    return {scope: finding for scope, finding in findings.items() if finding.problem}


def _verdict(check: Check, findings: Mapping[Scope, Finding], of_run: Collection[Scope]) -> Verdict:
    """Combine findings into one verdict on the whole table."""
    failures = _failures(findings)
    shown = (failures or findings).items()
    lines = [f"{_label(scope)}: {finding.problem or finding.checked}" for scope, finding in shown]
    if len(lines) > _NAMED:
        lines[_NAMED:] = [f"and {len(lines) - _NAMED} more"]
    offenders = [
        {"of": _label(scope), **offender}
        for scope, finding in failures.items()
        for offender in finding.offenders
    ]
    return Verdict(
        check,
        n_checked=len(findings),
        description="; ".join(lines) or "nothing written yet",
        n_wrong=sum(finding.n_wrong for finding in failures.values()),
        offenders=offenders[:SHOWN],
        broke=any(finding.broke for finding in failures.values()),
        of_run=any(scope in of_run for scope in failures),
    )


def _label(scope: Scope) -> str:
    """Return `sample-meetings`, or `sample-meetings/bm25`."""
    return "/".join(name for name in scope if name)
