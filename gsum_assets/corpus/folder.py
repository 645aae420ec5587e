"""Files of a corpus folder, and their records in a fixed order."""

import hashlib
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path
from typing import TypeVar

from gsum_assets.corpus.conversion.formats import FORMATS
from gsum_assets.corpus.find import about_broken_link
from gsum_assets.corpus.prompts import PROMPTS_FOLDER
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.corpus.records import FORBIDDEN, PIECE, Record, id_problem, too_large
from gsum_assets.corpus.settings import SETTINGS_FILE, CorpusError
from gsum_assets.corpus.table_columns import FOUND, ColumnNames
from gsum_assets.corpus.table_files import TABLE_SUFFIXES, is_table, records_of, table_suffix
from gsum_resources.paths import RemoteFile, is_remote, remote_files

TEXT_SUFFIXES = (".txt", ".md")
GRAPH_FILES = ("graph/entities.parquet", "graph/relationships.parquet")
READ_TYPES = (*TEXT_SUFFIXES, *FORMATS, *TABLE_SUFFIXES, "documents.parquet")
"""File name extensions, and names, of files that are read as documents."""

_OWN_FILES = (SETTINGS_FILE, QUERIES_FILE, *GRAPH_FILES)
_HIDDEN = (".", "~")  # hidden files, and temporary files of editors
_AT_ONCE = 8  # files of an object store read concurrently; each may have max_bytes
Item = TypeVar("Item")
Value = TypeVar("Value")
_IN_AN_ID = str.maketrans(dict.fromkeys(FORBIDDEN, "_"))
READS = f"gsum reads {', '.join(READ_TYPES)}"
QUIET_S = 5.0
"""A folder whose youngest file is older than this, in seconds, is not being written."""


def read_records(
    folder: Path,
    max_bytes: int,
    document_ids: Collection[str] | None = None,
    columns: ColumnNames = FOUND,
) -> Iterator[Record]:
    """Yield every record of a corpus folder, by file name, then line.

    Files of other types are not opened, and become records with a problem.

    Parameters
    ----------
    folder : a local or remote path.
    max_bytes : size above which a file becomes a record with a problem.
    document_ids : ids to read; other files are not opened. None: all.
    columns : columns of tables that `corpus.toml` names.

    Raises
    ------
    CorpusError
        If the folder does not exist.
    """
    if not is_remote(folder) and not folder.is_dir():
        raise CorpusError(_missing(folder))

    def read(found: tuple[str, Path | RemoteFile]) -> Iterable[Record]:
        return _records_in(*found, max_bytes, document_ids, columns)

    found = list(walk(folder))
    if not found and is_remote(folder):  # in an object store there are no empty folders
        raise CorpusError(_missing(folder))
    files = sorted((one for one in found if not is_own(one[0])), key=itemgetter(0))
    for records in _ahead(read, files) if is_remote(folder) else map(read, files):
        yield from records


def _records_in(
    file: str,
    path: Path | RemoteFile,
    max_bytes: int,
    document_ids: Collection[str] | None,
    columns: ColumnNames,
) -> Iterable[Record]:
    """Return the records of a file; a table is read while they are iterated."""
    name = file.encode("utf-8", "backslashreplace").decode()
    if is_table(file):
        prefix = _converted_id(file)
        return _readable(name, lambda: records_of(path, name, max_bytes, columns, prefix))
    return list(_readable(name, lambda: _whole_file(path, file, name, max_bytes, document_ids)))


def _readable(name: str, read: Callable[[], Iterable[Record]]) -> Iterator[Record]:
    """Yield records, or one with a problem for a file that cannot be read."""
    try:
        yield from read()
    except PermissionError:
        yield Record(f"{name}:0", name, 0, b"unreadable", problem="no permission to read the file")
    except FileNotFoundError:  # deleted since the folder was listed
        return


def _ahead(function: Callable[[Item], Value], items: Iterable[Item]) -> Iterator[Value]:
    """Yield values in order; the next ones are computed meanwhile, to hide a store's latency."""
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        pending: deque[Future[Value]] = deque()
        for item in items:
            pending.append(pool.submit(function, item))
            if len(pending) == _AT_ONCE:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()


@dataclass(frozen=True)
class Stamp:
    """State of the files of a folder by their metadata.

    `digest` is a hash of names, sizes and times; `youngest` is the latest time of modification,
    Unix time, 0 without files.
    """

    digest: str
    youngest: float

    def is_quiet(self, now: float) -> bool:
        """Return whether no file was written recently; times in the future are ignored."""
        return not 0 <= now - self.youngest < QUIET_S


def stamp_of(folder: Path) -> Stamp:
    """Return the state of all files of a corpus folder, without opening one."""
    stats, youngest = [], 0.0
    for name, path in walk(folder):
        if isinstance(path, RemoteFile):
            stats.append((name, *path.version))
            youngest = max(youngest, path.modified)
            continue
        try:
            stat = path.stat()
        except FileNotFoundError:  # deleted since the folder was listed
            continue
        stats.append((name, stat.st_size, stat.st_mtime_ns))
        youngest = max(youngest, stat.st_mtime)
    digest = hashlib.blake2b(repr(sorted(stats)).encode("utf-8", "backslashreplace"), digest_size=8)
    return Stamp(digest.hexdigest(), youngest)


def is_own(file: str) -> bool:
    """Return whether a file, named relative to the corpus folder, is no document but gsum's."""
    return file in _OWN_FILES or file.startswith(f"{PROMPTS_FOLDER}/")


def is_other_type(file: str) -> bool:
    """Return whether gsum does not read files with this name."""
    return not is_table(file) and not file.lower().endswith((*TEXT_SUFFIXES, *FORMATS))


def is_removed(folder: Path) -> bool:
    """Return whether a corpus folder was removed; a link to an unmounted disk was not."""
    return not folder.is_dir() and not folder.is_symlink()


def _missing(folder: Path) -> str:
    if folder.is_symlink():
        return about_broken_link(folder)
    return f"corpus folder {folder} does not exist; create it or correct the path"


def walk(
    folder: Path, prefix: str = "", above: tuple[Path, ...] = ()
) -> Iterator[tuple[str, Path | RemoteFile]]:
    """Yield relative name and path of all files except hidden ones."""
    if is_remote(folder):
        for name, file in remote_files(folder).items():
            if not any(segment.startswith(_HIDDEN) for segment in name.split("/")):
                yield name, file
        return
    for child in folder.iterdir():
        if child.name.startswith(_HIDDEN):
            continue
        if child.is_dir():
            parents = (*above, folder.resolve())
            if child.is_symlink() and child.resolve() in parents:  # it would recurse for ever
                continue
            yield from walk(child, f"{prefix}{child.name}/", parents)
        else:
            yield prefix + child.name, child


def _whole_file(
    path: Path | RemoteFile,
    file: str,
    name: str,
    max_bytes: int,
    document_ids: Collection[str] | None,
) -> Iterator[Record]:
    """Yield the record of a file, unless its id is not among `document_ids`."""
    suffix = path.suffix.lower()
    if is_other_type(file):
        unread_id = f"{name}:0"
        if document_ids is not None and unread_id not in document_ids:
            return
        problem = f"files of type {suffix or 'none'} are not read; {READS}; convert or move it"
        if table_suffix(file):
            problem = f"no table of documents by its name; questions are read from {QUERIES_FILE}"
        yield Record(unread_id, name, 0, b"not read", problem=problem, is_other_type=True)
        return
    converter = suffix if suffix in FORMATS else ""
    natural = _converted_id(file) if converter else file.rpartition(".")[0].replace("/", "--")
    problem = id_problem(natural)
    document_id = f"{name}:0" if problem else natural
    if document_ids is not None and document_id not in document_ids:
        return
    size = path.size if isinstance(path, RemoteFile) else path.stat().st_size
    if size > max_bytes:
        ends = b"%d\0" % size + _ends(path, size)
        yield Record(document_id, name, 0, ends, problem=too_large(size, max_bytes))
        return
    content = path.read_bytes()
    text = None if converter else content
    yield Record(document_id, name, 0, content, None, text, None, problem, converter)


def _ends(path: Path | RemoteFile, size: int) -> bytes:
    """Return the first and the last bytes of a file."""
    if isinstance(path, RemoteFile):
        return path.read_range(0, PIECE) + path.read_range(max(0, size - PIECE), size)
    with path.open("rb") as stream:
        head = stream.read(PIECE)
        stream.seek(max(0, size - PIECE))
        return head + stream.read(PIECE)


def _converted_id(file: str) -> str:
    """Return the id of a converted file, from its name.

    It includes the extension, so that report.pdf and report.txt are two documents. Characters that
    an id must not have become "_": file names may have commas and brackets.
    """
    return file.replace("/", "--").translate(_IN_AN_ID).replace("..", "_")
