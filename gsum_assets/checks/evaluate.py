"""Evaluates the checks of an asset for a run, and remembers what failed.

A check speaks for its whole table, while a run makes a part of it: one method of one corpus, some
buckets. If a run's checks told only of that part, the next run would cover up what the one before
had found. So the store keeps, for each asset, which corpora (and methods) failed which check, and
those are looked at again each time.
"""

import json
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass

from gsum_assets.checks.check import Check
from gsum_assets.checks.finding import SHOWN, Finding
from gsum_assets.checks.part import Part, Subject
from gsum_resources.lineage import Lineage
from gsum_resources.parquet_store import ParquetStore, Partition

Scope = tuple[str, str | None]  # corpus, method
_NAMED = 3  # corpora (and methods) that a description names


@dataclass(frozen=True)
class Verdict:
    """What a check says of a table.

    `looked_at` counts corpora (and methods); `broke`: the check itself could not do its work.
    """

    check: Check
    looked_at: int
    description: str
    n_wrong: int = 0
    offenders: Sequence[Mapping[str, object]] = ()
    broke: bool = False

    @property
    def passed(self) -> bool:
        """Whether nothing is wrong."""
        return not self.n_wrong


class Failing:
    """Which scopes failed which check of an asset when last looked at, kept in the store."""

    def __init__(self, store: ParquetStore, asset: str) -> None:
        self._store = store
        self._path = f"{store.root}/_checks/{asset}.json"

    def read(self) -> dict[str, set[Scope]]:
        """The scopes by name of check."""
        try:
            kept = json.loads(self._store.fs.cat_file(self._path))
        except FileNotFoundError:
            return {}
        return {name: {(c, m) for c, m in scopes} for name, scopes in kept.items()}

    def write(self, failing: Mapping[str, Collection[Scope]]) -> None:
        """Replace what is kept."""
        kept = {name: sorted(scopes, key=_label) for name, scopes in sorted(failing.items())}
        self._store.replace_file(self._path, json.dumps(kept).encode())


def in_turn(subject: Subject, store: ParquetStore) -> AbstractContextManager[None]:
    """While it lasts, no other run on this machine looks at the asset or notes what failed.

    Hold it from before the look until the verdicts are on record, so that those on record last
    are those of the last look. Runs on several machines, or over an object store, do not wait, and
    may lose one another's note; the next look at everything brings it back.
    """
    return store.alone(f"checks/{subject.name}")


def evaluate(
    subject: Subject,
    checks: Sequence[Check],
    store: ParquetStore,
    lineage: Lineage,
    made: Sequence[Partition] | None,
) -> list[Verdict]:
    """Look at what a run made, and at what failed before.

    Parameters
    ----------
    made : the partitions of the run; None looks at everything.
    """
    memory = Failing(store, subject.name)
    before = memory.read()
    findings: dict[str, dict[Scope, Finding]] = {check.name: {} for check in checks}
    of_run = _scopes(_everything(subject, store) if made is None else made)
    failed_before = {scope for name in findings for scope in before.get(name, ())}
    for scope in sorted(of_run.keys() | failed_before, key=_label):
        whole = _whole(subject, store, scope)
        fresh = tuple(p for p in whole if p in of_run.get(scope, ()))
        part = Part(subject, store, lineage, fresh, whole)
        every = part if fresh == whole else Part(subject, store, lineage, whole, whole)
        for check in checks:
            chosen = every if scope in before.get(check.name, ()) else part
            if chosen.looked_at:
                findings[check.name][scope] = _run_check(check, chosen)
    failing = {name: set(_failures(found)) for name, found in findings.items()}
    after = {name: scopes for name, scopes in (before | failing).items() if scopes}
    if after != before:
        memory.write(after)
    return [_verdict(check, findings[check.name]) for check in checks]


def _everything(subject: Subject, store: ParquetStore) -> list[Partition]:
    """All partitions of the asset's table that have a file."""
    return [p for p in store.partitions(subject.table) if p.method in subject.methods]


def _whole(subject: Subject, store: ParquetStore, scope: Scope) -> tuple[Partition, ...]:
    """The partitions of a corpus (and method) that have a file."""
    corpus, method = scope
    return tuple(p for p in store.partitions(subject.table, corpus) if p.method == method)


def _scopes(partitions: Sequence[Partition]) -> Mapping[Scope, set[Partition]]:
    """Partitions by corpus and method."""
    scopes: dict[Scope, set[Partition]] = defaultdict(set)
    for partition in partitions:
        scopes[partition.corpus, partition.method].add(partition)
    return scopes


def _run_check(check: Check, part: Part) -> Finding:
    """What the check finds. One that breaks has failed; it must not fail the run."""
    try:
        return check.run(part)
    except Exception as error:
        return Finding("", f"could not be checked: {type(error).__name__}: {error}", 1, broke=True)


def _failures(findings: Mapping[Scope, Finding]) -> dict[Scope, Finding]:
    """The findings that tell of something wrong."""
    return {scope: finding for scope, finding in findings.items() if finding.problem}


def _verdict(check: Check, findings: Mapping[Scope, Finding]) -> Verdict:
    """One verdict on the whole table."""
    failures = _failures(findings)
    told = {s: f.problem or f.looked_at for s, f in (failures or findings).items()}
    lines = [f"{_label(scope)}: {text}" for scope, text in told.items()]
    if len(lines) > _NAMED:
        lines[_NAMED:] = [f"and {len(lines) - _NAMED} more"]
    offenders = [
        {"of": _label(scope), **offender}
        for scope, finding in failures.items()
        for offender in finding.offenders
    ]
    return Verdict(
        check,
        looked_at=len(findings),
        description="; ".join(lines) or "nothing made yet",
        n_wrong=sum(finding.n_wrong for finding in failures.values()),
        offenders=offenders[:SHOWN],
        broke=any(finding.broke for finding in failures.values()),
    )


def _label(scope: Scope) -> str:
    """`sample-meetings`, or `sample-meetings/bm25`."""
    return "/".join(part for part in scope if part)
