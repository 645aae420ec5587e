"""The one way to execute a step: write its stale files, one after the other, each in one piece."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.load import bucket_of
from gsum_assets.pipeline.columns import DOCUMENT_LEVEL, RESULT
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.changes import note_changes
from gsum_assets.refresh.inputs import Run, StepReader
from gsum_assets.refresh.staleness import Staleness
from gsum_assets.refresh.usage import Usage
from gsum_assets.registry.declared import Declared
from gsum_assets.registry.families import views
from gsum_resources.protocols.models import ModelUnavailableError
from gsum_resources.store.catalogue import build_catalogue, is_of
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import Partition, Provenance
from gsum_resources.store.partition import version_of


class MethodsFailedError(RuntimeError):
    """Some methods of a family failed in a step; those of the others are written."""


@dataclass
class Refreshed:
    """What a step has written for a corpus.

    Attributes
    ----------
    needed : the files of each of its tables that the corpus needs.
    written : those of them that were written.
    failures : a line for each problem that left rows out.
    failed : the error of each method that could not be computed.
    shown : metadata by table and label.
    """

    declared: Declared
    needed: Sequence[Partition]
    written: list[Partition] = field(default_factory=list)
    failures: list[str] = field(default_factory=list)
    failed: dict[str, Exception] = field(default_factory=dict)
    shown: dict[str, dict[str, Any]] = field(default_factory=dict)
    usage: Usage = field(default_factory=Usage)

    @property
    def summary(self) -> str:
        """Which files were written: "2 of 8 buckets", "methods bm25, gor (of 3)"."""
        n, m = len(self.written), len(self.needed)
        if not m:
            return "nothing: the corpus needs no row of this table"
        if not n:
            return "nothing: every file is up to date"
        if self.written[0].method:
            names = ", ".join(file.method or "" for file in self.written)
            return f"methods {names}" + (f" (of {m})" if n < m else "")
        return f"{n} of {m} buckets" if self.written[0].bucket else "all rows"

    def raise_failed(self) -> None:
        """Raise `MethodsFailedError` if a method failed, but the error of a server that is away.

        Raise `ModelUnavailableError` if the server of a model is away: the step may try again
        later.
        """
        errors = list(self.failed.values())
        if not errors:
            return
        away = [error for error in errors if isinstance(error, ModelUnavailableError)]
        if away or len(errors) == len(self.needed):
            raise (away or errors)[0]
        reasons = "; ".join(f"{method}: {error}" for method, error in self.failed.items())
        raise MethodsFailedError(
            f"{self.declared.name}: {reasons} (the other methods are written)"
        ) from errors[0]


def refresh_step(
    workspace: Workspace,
    declared: Declared,
    corpus: str,
    methods: Iterable[str],
    run: Run,
    is_presented: bool = False,
) -> Refreshed:
    """Write the files of a step's tables that are stale; each is replaced in one piece.

    Files of documents are computed in blocks of buckets, which bounds the memory, results method by
    method: if one fails, the others are written all the same, see `Refreshed.failed`.

    Parameters `methods`: the methods that the corpus keeps up to date; `is_presented`: whether
    plots and other metadata are made for the pages of the tables.
    """
    staleness = Staleness(workspace, corpus, frozenset(methods))
    needed = staleness.files(declared)
    done = Refreshed(declared, needed)
    stale = needed if run.force else staleness.stale(declared, run.retrain)
    without = {file for file in needed if staleness.lacks_inputs(declared, file)}
    if len(without) < len(needed):  # others can be computed
        for file in without.intersection(stale):
            run.warn(f"{declared.name}: {file.method} is left out: what it depends on is missing")
        stale = [file for file in stale if file not in without]
    by_bucket = declared.level == DOCUMENT_LEVEL
    size = workspace.home.settings().automation.buckets_per_run if by_bucket else 1
    for start in range(0, len(stale), size):
        files = stale[start : start + size]
        reader = StepReader(workspace, declared, files, staleness.buckets, run, done.usage)
        try:
            result = _computed(reader)
        except Exception as error:
            if declared.level != RESULT or len(needed) == 1:
                raise
            done.failed[files[0].method or ""] = error
            run.warn(f"{declared.name}: {files[0].method}: {error}")
            continue
        done.written += files
        done.failures += result.failures
        for line in result.failures:
            run.warn(line)
        if is_presented:
            # of a method among others under its name
            prefix = f"{files[0].method}/" if files[0].method and len(needed) > 1 else ""
            for table, shown in result.shown().items():
                labelled = {f"{prefix}{label}": item for label, item in shown.items()}
                done.shown.setdefault(table, {}).update(labelled)
    return done


def _computed(reader: StepReader) -> Result:
    """Compute some files of a step and store their rows with their provenance."""
    declared, reads, store = reader.declared, reader.reads, reader.workspace.store
    _, result = declared.run(reader.inputs(), reader.files, reader.around())
    for name, rows in {declared.step.table: result.rows, **result.beside}.items():
        table = declared.table(name)
        for file, share in _by_file(reader, rows):
            provenance = Provenance(
                content_hash="",
                code_version=code_version_of(table, declared.step.code_version),
                inputs=reads.inputs_of(file),
                asset="/".join(declared.path(name)),
                run_id=reader.run.run_id,
                time=datetime.now(UTC).isoformat(),
                failed=_n_in(file, reads.failures, len(reader.buckets)),
                filtered=_n_in(file, reads.filtered, len(reader.buckets)),
            )
            note_changes(store, table, file, share, reader.run.run_id)
            store.write(table, file, share, provenance)
    return result


def _by_file(reader: StepReader, rows: pa.Table) -> Iterator[tuple[Partition, pa.Table]]:
    """Yield each file's share of rows, possibly none, one at a time."""
    if len(reader.files) == 1 or not rows.num_rows:
        yield from ((file, rows) for file in reader.files)
        return
    n_buckets, position_of = len(reader.buckets), dict[str, int]()
    position = {file.bucket: i for i, file in enumerate(reader.files)}
    ids = rows["document_id"].to_pylist()
    for document_id in ids:  # a document has many chunks
        if document_id not in position_of:
            position_of[document_id] = position.get(bucket_of(document_id, n_buckets), -1)
    owners = np.fromiter((position_of[document_id] for document_id in ids), np.int64, len(ids))
    for i, file in enumerate(reader.files):
        yield file, rows.filter(pa.array(owners == i))


def _n_in(file: Partition, documents: Sequence[str], n_buckets: int) -> int:
    """Return how many of some documents are in a file; "", the whole corpus, is in each."""
    if file.bucket is None:
        return len(documents)
    return sum(not d or bucket_of(d, n_buckets) == file.bucket for d in documents)


def complete_catalogue(workspace: Workspace) -> None:
    """Rebuild the DuckDB file, when a table gets its first file or loses its last."""
    build_catalogue(workspace.store, TABLES.values(), workspace.home.catalogue, views())


def has_catalogue(workspace: Workspace) -> bool:
    """Return whether the DuckDB file reads this warehouse; that of a copied home does not."""
    return is_of(workspace.store, TABLES.values(), workspace.home.catalogue, views())


def data_version(footers: Mapping[Partition, Provenance]) -> str:
    """Return the version of a table's files of a corpus, which changes with their content."""
    return version_of({file: footer.content_hash for file, footer in footers.items()})
