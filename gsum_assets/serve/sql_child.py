"""The process that runs one SQL query: a job as JSON on stdin, rows or an error as JSON on stdout.

It imports little, so that it starts quickly. A job has the keys of `SqlLimits` and `query`,
`corpora`, `warehouse` (its URL) and `catalogue` (path of the DuckDB file of views).
"""

import json
import math
import os
import resource
import sys
from collections.abc import Collection
from contextlib import suppress
from threading import Timer
from typing import Any

import duckdb
import fsspec
from fsspec import AbstractFileSystem

from gsum_resources.store.catalogue import ReadOnlyFiles

ROOT = "warehouse"
_MIB = 2**20
_OWN_MEMORY = 512 * _MIB  # bytes of interpreter and libraries, and what DuckDB does not count
_AT_ONCE = 100  # rows
_THREADS = 2
_STARTED_S = 5  # processor time to start


class CorpusFiles(ReadOnlyFiles):
    """The Parquet files of some corpora, as `gsum://warehouse/<table>/corpus=<corpus>/…`.

    DuckDB has it as its only file system: files of other corpora, and all else on the machine, do
    not exist in it, and writing is refused whatever a query contains. `fs` and `root` are the file
    system of the warehouse and its path there.
    """

    protocol: Any = "gsum"

    def __init__(self, fs: AbstractFileSystem, root: str, corpora: Collection[str]) -> None:
        super().__init__(fs, CorpusFiles.protocol)
        self._root, self._corpora = root, corpora

    def inner(self, path: str) -> str:
        """Return the path of a file of a table of these corpora; else raise `FileNotFoundError`."""
        first, *parts = super().inner(path).strip("/").split("/")
        corpus = parts[1].removeprefix("corpus=") if len(parts) > 2 else None
        if first != ROOT or corpus not in self._corpora or {"", ".", ".."} & {*parts, corpus}:
            raise FileNotFoundError(path)
        return "/".join([self._root, *parts])

    def find(self, path: str, *_: Any, **__: Any) -> Any:
        """Return information on each file below a folder, by path."""
        folder = super().inner(path).strip("/").removeprefix(ROOT).strip("/")
        if ".." in folder.split("/"):
            return {}
        files: Any = self._fs.find(f"{self._root}/{folder}".rstrip("/"), detail=True)
        allowed = {}
        for name, info in files.items():
            outer = f"{ROOT}{name[len(self._root) :]}"
            with suppress(FileNotFoundError):
                self.inner(outer)
                allowed[outer] = info
        return allowed


def limit_process(job: dict[str, Any]) -> None:
    """Limit this process: its memory, its processor time, and files, of which it writes none."""
    memory = job["memory_mib"] * _MIB + _OWN_MEMORY
    resource.setrlimit(resource.RLIMIT_DATA, (memory, memory))
    seconds = math.ceil(_THREADS * job["seconds"]) + _STARTED_S  # if nobody is left to end it
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def connect(job: dict[str, Any]) -> duckdb.DuckDBPyConnection:
    """Return a connection that reaches the files of the job's corpora and nothing else."""
    fs, root = fsspec.core.url_to_fs(job["warehouse"])
    connection = duckdb.connect(
        job["catalogue"],
        read_only=True,
        config={
            "memory_limit": f"{job['memory_mib']}MiB",
            "threads": _THREADS,
            "temp_directory": "",
            "python_enable_replacements": False,
            "autoinstall_known_extensions": False,
            "autoload_known_extensions": False,
        },
    )
    connection.register_filesystem(CorpusFiles(fs, root.rstrip("/"), job["corpora"]))
    # in this order: after the second line no path can be allowed, after the third nothing changed
    connection.execute(f"SET allowed_directories = ['{CorpusFiles.protocol}://']")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")
    return connection


def answer(connection: duckdb.DuckDBPyConnection, job: dict[str, Any]) -> dict[str, Any]:
    """Return `columns`, `types`, `rows` and `is_truncated` of a query, or its `error`."""
    timer = Timer(job["seconds"], connection.interrupt)
    timer.start()
    try:
        statements = connection.extract_statements(job["query"])
        kinds = [statement.type.name for statement in statements]
        if kinds != ["SELECT"]:
            named = f"got {', '.join(kinds)}" if kinds else "it is empty"
            return {"error": f"the query must be one SELECT statement; {named}"}
        return _rows(connection.execute(statements[0]), job["rows"], job["characters"])
    except duckdb.InterruptException:
        return {"error": too_long(job["seconds"])}
    except (duckdb.OutOfMemoryException, MemoryError):
        return {
            "error": f"the query needs more than {job['memory_mib']} MiB of memory; restrict it"
        }
    except duckdb.Error as error:
        return {"error": _message(str(error))}
    finally:
        timer.cancel()


def too_long(seconds: float) -> str:
    """Return the error of a query that took longer than `seconds`."""
    return f"the query took more than {seconds:g} seconds; restrict it, as by LIMIT"


def _rows(result: Any, n_rows: int, n_characters: int) -> dict[str, Any]:
    """Return the first rows as JSON, at most so many and of so many characters in all."""
    rows: list[list[Any]] = []
    size, is_truncated = 0, False
    while not is_truncated and (batch := result.fetchmany(_AT_ONCE)):
        for values in batch:
            row = [_plain(value) for value in values]
            size += len(json.dumps(row))
            if len(rows) == n_rows or size > n_characters:
                is_truncated = True
                break
            rows.append(row)
    columns = [name for name, *_ in result.description]
    types = [str(kind) for _, kind, *_ in result.description]
    return {"columns": columns, "types": types, "rows": rows, "is_truncated": is_truncated}


def _plain(value: Any) -> Any:
    """Return a value as JSON has it: what has no such type as text."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if value is None or isinstance(value, bool | int | str) else str(value)


def _message(text: str) -> str:
    """Return an error without the excerpt of the query, or the stack of `CorpusFiles`."""
    if text.startswith("Traceback"):
        text = text.strip().splitlines()[-1].partition(": ")[2]
    return " ".join(text.split("\n\nLINE ")[0].split())


def main() -> None:
    """Run the job of stdin."""
    job = json.load(sys.stdin)
    limit_process(job)
    sys.stdout.write(json.dumps(answer(connect(job), job)))
    sys.stdout.flush()
    os._exit(0)  # DuckDB's threads are not waited for


if __name__ == "__main__":
    main()
