"""Dagster IO manager of the warehouse: assets get one table and never loop over partitions."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import cache

import dagster as dg
import numpy as np
import pyarrow as pa

from gsum_resources.dagster_io.failure import explained
from gsum_resources.dagster_io.table_metadata import Headline, head, of_all_corpora, of_file
from gsum_resources.settings.home import Home
from gsum_resources.store.appended import APPENDED, read_appended
from gsum_resources.store.catalogue import build_catalogue
from gsum_resources.store.lazy import Lazy, lazy_rows, require_written
from gsum_resources.store.lineage import Lineage, LineageError, Reads, Step, code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from gsum_resources.store.partition import StoreError, bucket_names
from gsum_resources.store.table import Macro, Table, View

# metadata of an AssetIn
LAZY = {"gsum/lazy": True}  # read only on request of the asset
UNTRACKED = {"gsum/untracked": True}  # its changes do not put the asset out of date
WHAT_EXISTS = {"gsum/what_exists": True}  # partitions that were never written are left out


REPLACED = "gsum/of_this_run_alone"
"""Key of the metadata of tables that were written with other models or settings than usual."""


def as_tables(names: Mapping[str, Sequence[str]]) -> dict[str, Mapping[str, Sequence[str]]]:
    """Return metadata of an AssetIn that gives these tables of its corpora, not its own rows.

    The step receives a dict of `Lazy` by name.

    Parameters
    ----------
    names : by name, the columns of texts that are read as dictionaries.
    """
    return {"gsum/tables": {name: list(columns) for name, columns in names.items()}}


def as_dictionaries(*columns: str) -> dict[str, Sequence[str]]:
    """Return metadata of an AssetIn that reads these columns of texts as dictionaries."""
    return {"gsum/dictionaries": list(columns)}


def partition_of(key: str, definition: dg.PartitionsDefinition | None = None) -> Partition:
    """Return the store's partition of one of Dagster's partition keys.

    Parameters
    ----------
    definition : required where Dagster gives a key of several dimensions as plain text, as its
        event log and the ends of a range do.

    Raises
    ------
    ValueError
        If such a key is passed without its definition.
    """
    if isinstance(definition, dg.MultiPartitionsDefinition):
        key = definition.get_partition_key_from_str(key)
    if isinstance(key, dg.MultiPartitionKey):
        by_name = key.keys_by_dimension
        return Partition(by_name["corpus"], by_name.get("bucket"), by_name.get("method"))
    if "|" in key:
        raise ValueError(f"partition key '{key}' has several dimensions; pass their definition")
    return Partition(key)


def family_of(table: Table, asset_path: Sequence[str]) -> str | None:
    """Return the family of methods whose partitions of a table an asset has; None: of all."""
    return asset_path[0] if "method" in table.dimensions else None


def _origin(footer: Provenance) -> tuple[str, Mapping[str, str]]:
    return footer.code_version, footer.inputs


def step_of(context: dg.InputContext | dg.OutputContext | dg.AssetExecutionContext) -> Step:
    """Return the running step of a context."""
    if isinstance(context, dg.AssetExecutionContext):
        return context.run.run_id, str(context.op_handle)
    step = context.step_context
    return step.run_id, step.step.key


class WarehouseIO(dg.IOManager):
    """Concatenates partitions on load, splits rows into partitions on store, records lineage."""

    def __init__(
        self,
        home: Home,
        store: ParquetStore,
        tables: Mapping[str, Table],
        table_of: Callable[[Sequence[str]], Table],
        bucket_of: Callable[[str, int], str],
        n_buckets: Callable[[str], int],
        views: Callable[[], Sequence[View | Macro]] = tuple,
        headlines: Mapping[str, Headline] | None = None,
        new_lineage: Callable[[], Lineage] | None = None,
        presented: bool = True,
    ) -> None:
        self.home = home
        self.store = store
        self.tables = tables
        self.presented = presented
        self.reads = Reads()
        self._table_of = table_of
        self._bucket_of = bucket_of
        self._n_buckets = n_buckets
        self._views = views
        self._headlines = headlines or {}
        self._new_lineage = new_lineage
        self._has_new_table = False
        self._listed_tables: set[str] | None = None

    @explained()
    def load_input(self, context: dg.InputContext) -> pa.Table | Lazy | dict[str, Lazy]:
        """Return the rows of the requested partitions with their dimensions as columns."""
        partitions = self.existing([partition_of(key) for key in context.asset_partition_keys])
        step = step_of(context)
        how = context.definition_metadata or {}
        if "gsum/tables" in how:
            corpora = {partition.corpus for partition in partitions}
            return {
                name: self._of_corpora(step, self.tables[name], corpora, columns)
                for name, columns in how["gsum/tables"].items()
            }
        table = self._table_of(context.asset_key.path)
        rows = self.rows(
            step,
            table,
            partitions,
            bool(how.get("gsum/untracked")),
            how.get("gsum/dictionaries", ()),
            family_of(table, context.asset_key.path),
            takes_what_exists=bool(how.get("gsum/what_exists")),
        )
        return rows if how.get("gsum/lazy") else rows.get()

    def rows(
        self,
        step: Step,
        table: Table,
        partitions: Sequence[Partition],
        is_untracked: bool = False,
        as_dictionaries: Sequence[str] = (),
        family: str | None = None,
        takes_what_exists: bool = False,
    ) -> Lazy:
        """Return rows of partitions for a step, recorded as an input when read unless untracked.

        Parameters
        ----------
        family : the family of methods whose partitions they are; None: they are those of all.
        takes_what_exists : whether partitions without a file are left out; else reading them
            raises `StoreError`.
        """

        def note(hashes: Mapping[Partition, str]) -> None:
            if not is_untracked:
                self.reads.table(step, table, hashes, family)

        required = not takes_what_exists
        return lazy_rows(self.store, table, partitions, as_dictionaries, note, required)

    def as_it_is(self, table: Table, corpora: Collection[str]) -> Lazy:
        """Return all rows of a table for some corpora, which are not recorded as an input."""
        if table.name in APPENDED:
            return Lazy(
                lambda: pa.concat_tables(read_appended(self.store, table, c) for c in corpora)
            )
        partitions = [p for corpus in corpora for p in self.store.partitions(table, corpus)]
        return lazy_rows(self.store, table, partitions)

    def _of_corpora(
        self, step: Step, table: Table, corpora: Collection[str], as_dictionaries: Sequence[str]
    ) -> Lazy:
        """Return all rows of a table for some corpora, read on demand."""
        partitions = [p for corpus in sorted(corpora) for p in self._all_of(table, corpus)]
        return self.rows(step, table, partitions, as_dictionaries=as_dictionaries)

    def require_all(self, table: Table, corpus: str, written: Collection[Partition]) -> None:
        """Raise `StoreError` if a partition of a table without methods was never written."""
        require_written(table, self._all_of(table, corpus), written)

    def _all_of(self, table: Table, corpus: str) -> list[Partition]:
        """Return the partitions of a corpus in a table without methods, written or not."""
        if "bucket" not in table.dimensions:
            return [Partition(corpus)]
        return [Partition(corpus, bucket) for bucket in bucket_names(self._n_buckets(corpus))]

    def existing(self, partitions: Collection[Partition]) -> list[Partition]:
        """Return the partitions without buckets that only larger corpora have."""
        n = {corpus: self._n_buckets(corpus) for corpus in {p.corpus for p in partitions}}
        return [p for p in partitions if p.bucket is None or int(p.bucket) < n[p.corpus]]

    def footers(self, step: Step, table: Table, corpus: str) -> dict[Partition, Provenance]:
        """Return the footers of a table's files of a corpus, recorded as inputs."""
        footers = self.store.footers(table, self.store.stamped(table, corpus))
        self.reads.table(step, table, {p: f.content_hash for p, f in footers.items()})
        return footers

    @explained()
    def handle_output(self, context: dg.OutputContext, obj: pa.Table) -> None:
        """Store each partition's rows with their provenance.

        Raises
        ------
        LineageError
            If a partition would be written again and again.
        """
        # Nothing reads the outputs that an in-process run captures until it ends, and those of all
        # steps together may exceed the memory.
        captured = context.step_context.output_capture
        if isinstance(captured, dict):
            captured.clear()
        table = self._table_of(context.asset_key.path)
        partitions = self.existing([partition_of(key) for key in context.asset_partition_keys])
        if not partitions:
            return
        step = step_of(context)
        code_version = context.step_context.job_def.asset_layer.get(context.asset_key).code_version
        others = self.store.stamped(table)
        before = self.store.footers(table, {p: others[p] for p in partitions if p in others})
        asset = context.asset_key.to_user_string()
        written = self.keep(step, table, partitions, obj, asset, code_version)
        footers = {partition: footer for partition, (_, footer) in written.items()}
        self._check_settled(step, table, before, footers, code_version)
        if not others:
            self._has_new_table = True
            if self.store.is_local:
                self.rebuild_catalogue()
        self._describe(context, table, others, written)
        self._describe_replaced(context, step)

    def keep(
        self,
        step: Step,
        table: Table,
        partitions: list[Partition],
        rows: pa.Table,
        asset: str,
        code_version: str | None,
    ) -> dict[Partition, tuple[pa.Table, Provenance]]:
        """Store the rows of some partitions, with all inputs that the step has read.

        Returns
        -------
        A copy of the first rows of each partition, for previews, and its provenance.
        """
        written = {}
        for partition, share in self._split(table, partitions, rows, asset):
            provenance = Provenance(
                content_hash="",
                code_version=code_version_of(table, code_version),
                inputs=self.reads.inputs_of(step, partition),
                asset=asset,
                run_id=step[0],
                time=datetime.now(UTC).isoformat(),
                failed=self._number_in(partition, self.reads.failures[step]),
                filtered=self._number_in(partition, self.reads.filtered[step]),
            )
            written[partition] = head(share), self.store.write(table, partition, share, provenance)
        return written

    def _check_settled(
        self,
        step: Step,
        table: Table,
        before: Mapping[Partition, Provenance],
        written: Mapping[Partition, Provenance],
        code_version: str | None,
    ) -> None:
        """Raise an error if writing partitions again has not made them current.

        The conditions would request them for ever, and their models would be paid each time.
        """
        repeated = [p for p in before if _origin(before[p]) == _origin(written[p])]
        if not (self._new_lineage and repeated):
            return
        lineage = self._new_lineage()
        replaced = {str(key) for key in self.reads.replaced[step]}
        for partition in repeated:
            changed = lineage.unsettled(table.name, partition, code_version, before[partition])
            if keys := [key for key in changed if key not in replaced]:
                raise LineageError(
                    f"{table.name}, {partition.path}: written twice from equal versions of its "
                    f"inputs, and still out of date: {', '.join(keys)} differs from what was "
                    "read. This is a fault in gsum; please report this message. To retry: "
                    f"gsum run {partition.corpus}"
                )

    def is_current(
        self, table: Table, partitions: Collection[Partition], code_version: str | None
    ) -> bool:
        """Return whether all of some partitions exist, and none of their inputs has changed."""
        if self._new_lineage is None:
            return False
        lineage = self._new_lineage()
        return all(
            lineage.exists(table.name, p) and not lineage.changes(table.name, p, code_version)
            for p in partitions
        )

    def _describe(
        self,
        context: dg.OutputContext,
        table: Table,
        others: Mapping[Partition, object],
        written: Mapping[Partition, tuple[pa.Table, Provenance]],
    ) -> None:
        """Attach metadata to each partition, and a summary of all corpora to the last one.

        An asset's overview page shows the event that was stored last, whatever its partition.
        """
        if not self.presented:
            return
        # the page shows one bucket of a corpus; if it is empty, show rows of another one
        samples = {p.corpus: rows for p, (rows, _) in written.items() if rows.num_rows}
        footers = {p: provenance for p, (_, provenance) in written.items()}
        shown = {
            partition: of_file(
                self.store,
                table,
                partition,
                rows if rows.num_rows else samples.get(partition.corpus, rows),
                provenance,
            )
            for partition, (rows, provenance) in written.items()
        }
        *_, last = written
        headline = self._headlines.get(table.name)
        # the UI keeps the order: the summary is above the single file
        shown[last] = of_all_corpora(self.store, table, footers, others, headline) | shown[last]
        for key in context.asset_partition_keys:
            if metadata := shown.get(partition_of(key)):
                context.step_context.add_asset_metadata(metadata, context.asset_key, key)

    def _describe_replaced(self, context: dg.OutputContext, step: Step) -> None:
        """Name the models and settings of this run alone, by which its tables are out of date."""
        if not (replaced := self.reads.replaced[step]):
            return
        text = "; ".join(
            f"{key} is {self.reads.others[step].get(key)}, in other runs {usual}"
            for key, usual in replaced.items()
        )
        for key in context.asset_partition_keys:
            context.step_context.add_asset_metadata({REPLACED: text}, context.asset_key, key)

    def _number_in(self, partition: Partition, documents: Sequence[str]) -> int:
        """Return the number of a step's requests for a partition; for a bucket, on its documents.

        Parameters
        ----------
        documents : document of each request, "" for one on the whole corpus.
        """
        return len(self.documents_in(partition, documents))

    def documents_in(self, partition: Partition, documents: Iterable[str]) -> list[str]:
        """Return those of some documents that are in a partition, and each "", the whole corpus."""
        if partition.bucket is None:
            return list(documents)
        n = self._n_buckets(partition.corpus)
        return [d for d in documents if not d or self._bucket_of(d, n) == partition.bucket]

    def complete_catalogue(self, of_others: bool = False) -> None:
        """Rebuild the DuckDB views of an object store, if a table got its first file.

        To be called at the end of a run: a rebuild lists all files. The views of a local store are
        rebuilt in the steps.

        Parameters
        ----------
        of_others : whether to list the files for tables that other processes wrote.
        """
        if self.store.is_local:
            return
        is_due = self._has_new_table or not self.home.catalogue.exists()
        if of_others and not is_due:
            names = self.store.list_files().tables
            is_due, self._listed_tables = names != self._listed_tables, names
        if is_due:
            self.rebuild_catalogue()

    def rebuild_catalogue(self) -> None:
        """Rebuild the DuckDB views, when a table gets its first file or loses its last."""
        self._has_new_table = False
        if self.presented:
            build_catalogue(self.store, self.tables.values(), self.home.catalogue, self._views())

    def _split(
        self, table: Table, partitions: list[Partition], rows: pa.Table, asset: str
    ) -> Iterator[tuple[Partition, pa.Table]]:
        """Yield each partition's share of `rows`, possibly an empty table, one at a time."""
        if len(partitions) == 1 or not rows.num_rows:
            yield from ((partition, rows) for partition in partitions)
            return
        if "corpus" not in rows.column_names:
            raise StoreError(
                f"asset '{asset}' wrote {len(partitions)} partitions of "
                f"'{table.name}' without a column 'corpus' to tell them apart"
            )
        n = {corpus: self._n_buckets(corpus) for corpus in {p.corpus for p in partitions}}
        position = {partition: i for i, partition in enumerate(partitions)}

        @cache  # a document has many chunks
        def position_of(corpus: str, document_id: str) -> int:
            if corpus not in n:
                return -1
            owner = Partition(corpus, self._bucket_of(document_id, n[corpus]))
            return position.get(owner, -1)

        keys = zip(rows["corpus"].to_pylist(), rows["document_id"].to_pylist(), strict=True)
        owners = np.fromiter((position_of(*key) for key in keys), np.int64, rows.num_rows)
        for partition, i in position.items():
            yield partition, rows.filter(pa.array(owners == i))
