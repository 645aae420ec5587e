"""The DuckDB file: one view per table of the warehouse, written to a temporary file and renamed.

DuckDB opens a file several times in a query, which fails if the file is replaced in between, and
should then be repeated; the store's own readers never fail so.
"""

import glob
import io
import re
import shutil
import uuid
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from fsspec import AbstractFileSystem
from fsspec.utils import glob_translate

from gsum_resources.store.appended import APPENDED
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.parquet_store import FILE_NAME, FOOTER_KEY, MemoryFiles, ParquetStore
from gsum_resources.store.partition import DIMENSIONS
from gsum_resources.store.table import Macro, Table, View

_CODE_VERSION = "6"  # raise it with every change of a view's SQL, so that files are rebuilt
_FORMAT = "v1.0.0"  # every DuckDB since 1.0 reads it
DIMENSION_MEANINGS = {
    "corpus": "name of the corpus, a folder of documents",
    "bucket": "bucket of documents, the unit in which documents are computed again",
    "method": "name of the method",
}
_DECLARED = {"declared": "hash of the declarations of all views"}


_PROVENANCE = View(
    "provenance",
    "partition of a table: what it was computed from, and when",
    "",
    {
        "table_name": "the table, as SQL names it",
        **DIMENSION_MEANINGS,
        "file": "its Parquet file",
        "asset": "the asset that wrote it",
        "content_hash": "version of its rows: equal rows have equal hashes",
        "code_version": "version of the code that computed it",
        "settings_hash": "hash of the settings that were read",
        "run_id": "the run of Dagster that wrote it",
        "row_count": "number of rows",
        "failed": "requests to a model without a valid reply, for which rows are missing",
        "written": "when it was written",
        "inputs": "version of each table, setting and model that was read, by key",
    },
)


def build_catalogue(
    store: ParquetStore, tables: Iterable[Table], path: Path, views: Iterable[View | Macro] = ()
) -> None:
    """Write the catalogue of `tables` and `views` to `path`, replacing an existing file.

    Sessions that have the old file open keep it. If the declarations are unchanged, only views are
    redefined whose table got its first file or lost its last. If several processes write at once,
    the last one to rename has seen the files of all; over an object store, where a listing is a
    request, the next run corrects what is not so.
    """
    tables, views = list(tables), list(views)
    path.parent.mkdir(parents=True, exist_ok=True)
    if store.lists_at_once:
        _replace(store, tables, path, views)
        return
    seen = None
    while seen is None or seen != _with_files(store, tables):
        seen = _replace(store, tables, path, views)


def _replace(
    store: ParquetStore, tables: Sequence[Table], path: Path, views: Sequence[View | Macro]
) -> set[str]:
    """Replace the catalogue; return the names of the tables that had files at that time."""
    temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.part")
    declared = _declared(store, tables, views)
    try:
        connection, known = _copied(path, temporary, declared)
        with connection:
            seen = define_views(connection, store, tables, views, known)
            declarations = View(
                "catalogue", "catalogue", f"SELECT {_quote(declared)} AS declared", _DECLARED
            )
            _create(connection, declarations)
        temporary.replace(path)
    finally:
        for part in (temporary, temporary.with_name(f"{temporary.name}.wal")):
            part.unlink(missing_ok=True)
    return seen


def _declared(store: ParquetStore, tables: Iterable[Table], views: Iterable[View | Macro]) -> str:
    """Return a hash of all that the views depend on, except which tables have files."""
    definitions = [f"{table}\n{_select(store, table)}\n{_empty(table)}" for table in tables]
    return hash_texts([_CODE_VERSION, *definitions, *map(repr, views)])


def is_of(
    store: ParquetStore, tables: Iterable[Table], path: Path, views: Iterable[View | Macro] = ()
) -> bool:
    """Return whether a catalogue reads this store; that of a copied home reads the first one."""
    with suppress(duckdb.Error), duckdb.connect(str(path), read_only=True) as connection:
        rows = connection.sql("SELECT declared FROM catalogue").fetchall()
        return rows == [(_declared(store, tables, views),)]
    return False


def _copied(
    path: Path, temporary: Path, declared: str
) -> tuple[duckdb.DuckDBPyConnection, Mapping[str, bool]]:
    """Return a copy, empty if there is none that is `declared`, and which tables have files."""
    with suppress(FileNotFoundError, duckdb.Error):
        shutil.copyfile(path, temporary)
        connection = duckdb.connect(
            str(temporary), config={"storage_compatibility_version": _FORMAT}
        )
        rows = connection.sql(
            "SELECT schema_name, view_name, sql FROM duckdb_views() WHERE NOT internal UNION ALL "
            "SELECT schema_name, function_name, '' FROM duckdb_functions() WHERE NOT internal"
        ).fetchall()
        if any(name == "catalogue" and _quote(declared) in sql for _, name, sql in rows):
            return connection, {
                name if schema == "main" else f"{schema}.{name}": "read_parquet" in sql
                for schema, name, sql in rows
            }
        connection.close()
    temporary.unlink(missing_ok=True)
    return duckdb.connect(str(temporary), config={"storage_compatibility_version": _FORMAT}), {}


def define_views(
    connection: duckdb.DuckDBPyConnection,
    store: ParquetStore,
    tables: Iterable[Table],
    views: Iterable[View | Macro] = (),
    known: Mapping[str, bool] | None = None,
) -> set[str]:
    """Create a view for each table, typed and empty where it has no file, then `views`.

    The tables of `provenance` and `views` must be among `tables`; `known` are those whose views
    exist already, and whether those views read files. Return the names of the tables with files.
    """
    tables, known = list(tables), known or {}
    seen, filled = _with_files(store, tables), []
    if store.lists_at_once:
        connection.register_filesystem(_empty_files(store, (t for t in tables if t.name in seen)))
    elif not store.is_local:
        connection.register_filesystem(store.fs)
    for table in tables:
        has_files = table.name in seen
        if has_files and table.name not in APPENDED:
            filled.append(_source(store, table))
        if known.get(table.name) == has_files:
            continue
        select = _select(store, table) if has_files else _empty(table)
        view = View(table.name, table.row, select, _comments(table))
        try:
            _create(connection, view)
        except duckdb.BinderException:  # old files lack a column that was added since
            _create(connection, replace(view, select=_select(store, table, columns="*")))
        if "." in table.name:
            alias = table.name.replace(".", "_")  # `show tables` lists the schema `main` alone
            _create(connection, replace(view, name=alias, select=f"FROM {table.name}"))
    _create(connection, replace(_PROVENANCE, select=_provenance(filled)))
    for view in views:
        if view.name not in known:
            # a view on a table of old files is missing until its next run
            with suppress(duckdb.BinderException, duckdb.CatalogException):
                _create(connection, _commented(view, tables) if isinstance(view, View) else view)
    if store.lists_at_once:
        connection.unregister_filesystem(_scheme(store))
        connection.register_filesystem(ReadOnlyFiles(store.fs, _scheme(store)))
    return seen


class ReadOnlyFiles(AbstractFileSystem):
    """Files of a file system for DuckDB, which finds those of a pattern by one listing.

    The paths that DuckDB uses begin with the scheme and `://`, those of `fs` do not.
    """

    protocol: Any = ""
    cachable = False

    def __init__(self, fs: AbstractFileSystem, scheme: str) -> None:
        super().__init__()
        self.protocol, self._fs = scheme, fs

    def inner(self, path: str) -> str:
        """Return the path of a file in the other file system."""
        return path.removeprefix(f"{self.protocol}://")

    def find(self, path: str, *_: Any, **how: Any) -> Any:
        """Return the files below a folder, see `AbstractFileSystem.find`."""
        return self._fs.find(self.inner(path), **how)

    def glob(self, path: str, maxdepth: int | None = None, **_: Any) -> list[str]:
        """Return the files whose path matches a pattern, in order."""
        pattern = path.removeprefix(f"{self.protocol}://").lstrip("/")
        matches = re.compile(glob_translate(pattern)).match
        files = self.find(pattern.partition("*")[0].rpartition("/")[0])
        return sorted(file for file in files if matches(file.lstrip("/")))

    def open(self, path: str, mode: str = "rb", *_: Any, **__: Any) -> Any:
        """Open a file for reading; raise `PermissionError` if it would be written."""
        if mode != "rb":
            raise PermissionError(f"{path}: the tables are read-only")
        return self._fs.open(self.inner(path), "rb")

    def info(self, path: str, **_: Any) -> dict[str, Any]:
        """Return information on a file, under this path."""
        return {**self._fs.info(self.inner(path)), "name": path}

    def modified(self, path: str) -> datetime:
        """Return the time of the last modification."""
        return self._fs.modified(self.inner(path))

    def isdir(self, path: str) -> bool:
        """Return whether a path is a folder; DuckDB reads files only."""
        return False


def _empty_files(store: ParquetStore, tables: Iterable[Table]) -> ReadOnlyFiles:
    """Return an empty file for each table: DuckDB reads those of a new view to know its columns."""
    files = MemoryFiles()
    for table in tables:
        pq.write_table(table.empty(), content := io.BytesIO())
        path = f"{store.root}/{_pattern(table)}".replace("*", "0")
        files.pipe_file(path, content.getvalue())
    return ReadOnlyFiles(files, _scheme(store))


def _with_files(store: ParquetStore, tables: Iterable[Table]) -> set[str]:
    """Return the names of the tables that have files; most have no folder in a new warehouse."""
    if store.lists_at_once:
        tables = list(tables)
        folder = tables[0].name if len(tables) == 1 else ""
        return store.list_files(folder).tables & {table.name for table in tables}
    try:
        folders = {Path(path).name for path in store.fs.ls(store.root, detail=False)}
    except FileNotFoundError:
        return set()
    return {t.name for t in tables if t.name in folders and store.glob(_pattern(t))}


def _create(connection: duckdb.DuckDBPyConnection, view: View | Macro) -> None:
    identifiers = [f'"{identifier}"' for identifier in view.name.split(".")]
    if len(identifiers) > 1:
        connection.execute(f"CREATE SCHEMA IF NOT EXISTS {identifiers[0]}")
    name, row = ".".join(identifiers), _quote(f"One row per {view.row}")
    if isinstance(view, Macro):
        head = f"CREATE OR REPLACE MACRO {name}({', '.join(view.arguments)}) AS TABLE"
        statements = [f"{head} {view.select}", f"COMMENT ON MACRO TABLE {name} IS {row}"]
    else:
        comments = (
            f'COMMENT ON COLUMN {name}."{column}" IS {_quote(meaning)}'
            for column in connection.sql(view.select).columns
            if (meaning := view.columns.get(column))
        )
        create = f"CREATE OR REPLACE VIEW {name} AS {view.select}"
        # one transaction: else every statement waits for the disk
        statements = ["BEGIN", create, f"COMMENT ON VIEW {name} IS {row}", *comments, "COMMIT"]
    connection.execute(";".join(statements))


def _commented(view: View, tables: Iterable[Table]) -> View:
    """Return a view with comments on all columns that have one in a table that it reads."""
    comments = dict(_PROVENANCE.columns) if " provenance" in view.select else {}
    for table in tables:
        if re.search(rf"\b{re.escape(table.name)}\b", view.select):
            comments = {**_comments(table), **comments}
    return replace(view, columns={**comments, **view.columns})


def _comments(table: Table) -> dict[str, str]:
    of_dimensions = {name: DIMENSION_MEANINGS[name] for name in table.dimensions}
    return {**of_dimensions, **{column.name: column.meaning for column in table.columns}}


def _pattern(table: Table) -> str:
    levels = "/".join(f"{name}=*" for name in table.dimensions)
    file = "*.parquet" if table.name in APPENDED else FILE_NAME
    return f"{table.name}/{levels}/{file}"


def _source(store: ParquetStore, table: Table) -> str:
    """Return the pattern of a table's files as DuckDB reads it."""
    root = glob.escape(store.root) if store.is_local else f"{_scheme(store)}://{store.root}"
    return _quote(f"{root}/{_pattern(table)}")


def _scheme(store: ParquetStore) -> str:
    return store.url.partition("://")[0]


def _select(store: ParquetStore, table: Table, columns: str = "") -> str:
    """Return the SQL of a table's view of some columns, by default the declared ones."""
    names = ", ".join(f'"{name}"' for name in (*table.dimensions, *table.schema.names))
    types = ", ".join(f"'{name}': VARCHAR" for name in table.dimensions)
    how = f"hive_partitioning = true, hive_types = {{{types}}}"
    source = f"read_parquet({_source(store, table)}, {how}, union_by_name = true)"
    if re.search(rf"/({'|'.join(DIMENSIONS)})=", store.root):  # DuckDB 2.0 reads the outer folder
        source = source.replace(how, "hive_partitioning = false, filename = true")
        own = ", ".join(f'{_in_path("filename", name)} AS "{name}"' for name in table.dimensions)
        source = f"(SELECT * EXCLUDE filename, {own} FROM {source})"
    return f"SELECT {columns or names} FROM {source}"


def _in_path(path: str, dimension: str) -> str:
    """Return the SQL of a partition's value by the innermost folder of its file's path."""
    return f"regexp_extract({path}, '.*/{dimension}=([^/]+)/', 1)"


def _empty(table: Table) -> str:
    fields = [(name, "VARCHAR") for name in table.dimensions]
    fields += [(f.name, duckdb_type(f.type)) for f in table.schema]
    columns = ", ".join(f'NULL::{kind} AS "{name}"' for name, kind in fields)
    return f"SELECT {columns} WHERE false"


def duckdb_type(kind: pa.DataType) -> str:
    """Return the DuckDB type of a column, for example `VARCHAR[]` for a list of strings."""
    if pa.types.is_list(kind):
        return f"{duckdb_type(kind.value_type)}[]"
    names = {
        pa.string(): "VARCHAR",
        pa.bool_(): "BOOLEAN",
        pa.binary(): "BLOB",
        pa.int32(): "INTEGER",
        pa.int64(): "BIGINT",
        pa.float32(): "FLOAT",
        pa.float64(): "DOUBLE",
        pa.timestamp("us", "UTC"): "TIMESTAMPTZ",
        pa.date32(): "DATE",
    }
    return names[kind]


def _provenance(sources: list[str]) -> str:
    text_fields = ("asset", "content_hash", "code_version", "settings_hash", "run_id")
    columns = ", ".join(f"footer->>'{name}' AS {name}" for name in text_fields)
    levels = "(/(corpus|bucket|method)=[^/]+)+/[^/]+$"  # the last ones; the root may have such, too
    own = f"regexp_extract(file, '{levels}')"
    dimensions = ", ".join(f"nullif({_in_path(own, n)}, '') AS {n}" for n in DIMENSIONS)
    is_footer = f"decode(key) = '{FOOTER_KEY.decode()}'"
    # CASE: DuckDB may evaluate a condition on the footer first, and other values are not JSON
    footers = f"""
        SELECT file_name AS file, CASE WHEN {is_footer} THEN decode(value)::JSON END AS footer
        FROM parquet_kv_metadata([{", ".join(sources)}]) WHERE {is_footer}
    """
    none = "SELECT NULL::VARCHAR AS file, NULL::JSON AS footer WHERE false"
    return f"""
        SELECT regexp_extract(file, '([^/=]+){levels}', 1) AS table_name, {dimensions},
               file, {columns}, (footer->>'rows')::BIGINT AS row_count,
               coalesce((footer->>'failed')::BIGINT, 0) AS failed,
               nullif(footer->>'time', '')::TIMESTAMPTZ AS written,
               (footer->'inputs')::MAP(VARCHAR, VARCHAR) AS inputs
        FROM ({footers if sources else none})
    """


def _quote(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"
