"""Files of a corpus folder, and their records in a fixed order."""

import hashlib
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from operator import attrgetter
from pathlib import Path
from shlex import quote

from gsum_assets.corpus.conversion.formats import FORMATS
from gsum_assets.corpus.listing import (
    ListedFile,
    digest_of,
    list_files,
    open_regular,
    shown_name,
)
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.corpus.records import (
    TEXT_SUFFIXES,
    Record,
    file_title,
    ids_of_files,
    plain_id,
    too_large,
)
from gsum_assets.corpus.table_files import TABLE_SUFFIXES, is_table, records_of, table_suffix
from gsum_assets.pipeline.corpus_settings import (
    FOUND,
    SETTINGS_FILE,
    ColumnNames,
    CorpusError,
    settings_file,
)
from gsum_assets.pipeline.prompts import PROMPTS_FOLDER
from gsum_resources.settings.paths import RemoteFile, is_remote, unreadable

GRAPH_FILES = ("graph/entities.parquet", "graph/relationships.parquet")
COMMUNITIES_FILE = "graph/communities.parquet"  # only beside these
READ_TYPES = tuple(dict.fromkeys((*TEXT_SUFFIXES, *FORMATS, *TABLE_SUFFIXES, "documents.parquet")))
"""File name extensions, and names, of files that are read as documents."""

_OWN_FILES = (SETTINGS_FILE, QUERIES_FILE, *GRAPH_FILES, COMMUNITIES_FILE)
_AT_ONCE = 8  # files of an object store read concurrently; each may have max_bytes
READS = f"gsum reads {', '.join(READ_TYPES)}"
SKIPPED = "skipped: "
"""How the reason begins for a file that is left out by a rule, or as a copy."""
QUIET_S = 5.0
"""A folder whose youngest file is older than this, in seconds, is not being written."""


def read_records(
    folder: Path,
    max_bytes: int,
    document_ids: Collection[str] | None = None,
    columns: ColumnNames = FOUND,
) -> Iterator[Record]:
    """Yield every record of a corpus folder, by file name, then line.

    Files of other types, or of more than `max_bytes`, become records with a problem; they are not
    opened, nor are files without any of `document_ids`.

    Raises `CorpusError` if the folder does not exist.
    """
    if not is_remote(folder) and not folder.is_dir():
        raise CorpusError(_missing(folder))
    listed = list(list_files(folder))
    if not listed and is_remote(folder):  # in an object store there are no empty folders
        raise CorpusError(_missing(folder))
    if problem := next((file.problem for file in listed if not file.name), ""):
        raise CorpusError(f"corpus folder {folder}: {problem}")
    files = sorted((file for file in listed if not is_own(file.name)), key=attrgetter("name"))
    ids = ids_of_files([file.name for file in files if not is_other_type(file.name)])

    def is_wanted(file: ListedFile) -> bool:
        return document_ids is None or is_table(file.name) or ids[file.name] in document_ids

    files = _without_copies(files, max_bytes, is_wanted)

    def read(file: ListedFile) -> Iterable[Record]:
        document_id = ids.get(file.name, "")
        records = _records_in(file, document_id, max_bytes, document_ids, columns)
        return records if is_table(file.name) else list(records)  # tables may be large

    if not is_remote(folder):
        yield from chain.from_iterable(map(read, files))
        return
    with ThreadPoolExecutor(_AT_ONCE) as pool:  # hides the store's latency
        for start in range(0, len(files), _AT_ONCE):
            yield from chain.from_iterable(pool.map(read, files[start : start + _AT_ONCE]))


def _records_in(
    file: ListedFile,
    document_id: str,
    max_bytes: int,
    document_ids: Collection[str] | None,
    columns: ColumnNames,
) -> Iterator[Record]:
    """Yield the records of a file, or one with a problem if it cannot be read."""
    name, is_whole_table = shown_name(file.name), is_table(file.name) and not file.problem
    prefix = document_id
    if is_whole_table or not _is_one_document(file.name):
        document_id = f"{name}:0"
    if not is_whole_table and document_ids is not None and document_id not in document_ids:
        return
    try:
        if is_whole_table:
            yield from records_of(file.path, name, max_bytes, columns, prefix)
        else:
            yield _whole_file(file, document_id, name, max_bytes)
    except FileNotFoundError:  # deleted since the folder was listed
        return
    except OSError as error:
        if isinstance(file.path, RemoteFile) and not isinstance(error, PermissionError):
            raise  # the store cannot be reached: that says nothing about the file
        yield Record(document_id, name, 0, b"unreadable", problem=unreadable(error))


def _without_copies(
    files: Sequence[ListedFile], max_bytes: int, is_wanted: Callable[[ListedFile], bool]
) -> list[ListedFile]:
    """Return files; those with the bytes of one with a shorter name are skipped."""
    of_size: dict[object, list[ListedFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: (len(file.name), file.name)):
        if not file.problem and 0 < file.size <= max_bytes and not is_other_type(file.name):
            form = FORMATS.get(Path(file.name).suffix.lower()), is_table(file.name)
            of_size[file.size, form].append(file)
    copies: dict[str, ListedFile] = {}
    for group in of_size.values():
        originals: dict[bytes, str] = {}
        for file in group if len(group) > 1 and any(map(is_wanted, group)) else ():
            with suppress(OSError):  # it is reported where it is read
                original = originals.setdefault(digest_of(file.path), file.name)
                if original != file.name:
                    reason = copy_of(shown_name(original))
                    copies[file.name] = replace(file, problem=reason, is_skipped=True)
    return [copies.get(file.name, file) for file in files]


def copy_of(file: str) -> str:
    """Return why a file with the bytes of another one is skipped."""
    return f"copy of {file}"


@dataclass(frozen=True)
class Stamp:
    """State of a folder's files: a hash of names, sizes and times; the latest time, Unix time."""

    digest: str
    youngest: float

    def is_quiet(self, now: float) -> bool:
        """Return whether no file was written recently; times in the future are ignored."""
        return not 0 <= now - self.youngest < QUIET_S


def stamp_of(folder: Path) -> Stamp:
    """Return the state of all files of a corpus folder, without opening one."""
    stats, youngest = [], 0.0
    for file in list_files(folder):
        stats.append((file.name, *file.version, *filter(None, [file.problem])))
        youngest = max(youngest, file.modified)
    if (settings := settings_file(folder)).parent != folder and not is_remote(folder):
        stats.append((settings.name, str(settings.stat().st_mtime_ns)))
    digest = hashlib.blake2b(repr(sorted(stats)).encode("utf-8", "backslashreplace"), digest_size=8)
    return Stamp(digest.hexdigest(), youngest)


def is_own(file: str) -> bool:
    """Return whether a file, named relative to the corpus folder, is no document but gsum's."""
    return file in _OWN_FILES or file.startswith(f"{PROMPTS_FOLDER}/")


def is_other_type(file: str) -> bool:
    """Return whether gsum does not read files with this name."""
    return not is_table(file) and not _is_one_document(file)


def _is_one_document(file: str) -> bool:
    return file.lower().endswith((*TEXT_SUFFIXES, *FORMATS)) and not table_suffix(file)


def by_type(files: Iterable[str]) -> str:
    """Return counts of file name extensions, most frequent first: "4 .jpg, 1 .png"."""
    counts = Counter[str]()
    for file in files:
        name, dot, suffix = file.rpartition("/")[2].rpartition(".")
        counts[f".{suffix.lower()}" if dot and name else "without extension"] += 1
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} {suffix}" for suffix, n in ordered)


def is_removed(folder: Path) -> bool:
    """Return whether a corpus folder was removed; a link to an unmounted disk was not."""
    return not folder.is_dir() and not folder.is_symlink()


def _missing(folder: Path) -> str:
    if folder.is_symlink():
        return about_broken_link(folder)
    return f"corpus folder {folder} does not exist; create it or correct the path"


def about_broken_link(folder: Path) -> str:
    """Return a message on a corpus folder that is a link to a folder that does not exist."""
    return (
        f"corpus folder {folder} is a link to {folder.readlink()}, which does not exist; mount or "
        f"restore it, or if it was moved let the link name its new path (`ln -sfn NEW_PATH "
        f"{quote(str(folder))}`), or remove the link to forget the corpus"
    )


def _whole_file(file: ListedFile, document_id: str, name: str, max_bytes: int) -> Record:
    """Return the record of a file, with a problem if it is not read."""
    record = partial(Record, document_id, name, 0)
    is_other = is_other_type(file.name) and not file.name.endswith("/")
    if file.problem:
        problem = SKIPPED * file.is_skipped + file.problem
        is_other |= file.is_skipped
        return record(problem.encode(), problem=problem, is_other_type=is_other)
    if is_other:
        kind = Path(file.name).suffix.lower() or "none"
        problem = f"files of type {shown_name(kind)} are not read; {READS}; convert or move it"
        if table_suffix(file.name):
            problem = f"no table of documents by its name; questions are read from {QUERIES_FILE}"
        return record(b"not read", problem=problem, is_other_type=True)
    if file.size > max_bytes:
        return record(b"%d" % file.size, problem=too_large(file.size, max_bytes))
    if isinstance(file.path, RemoteFile):
        content = file.path.read_bytes()
    else:  # if it grew beyond `max_bytes`, no more is read than shows it
        with open_regular(file.path) as stream:
            content = stream.read(max_bytes + 1)
    if len(content) > max_bytes:
        return record(content, problem=too_large(len(content), max_bytes))
    suffix = f".{file.name.rpartition('.')[2].lower()}"
    converter = suffix if suffix in FORMATS else ""
    has_plain_id = not converter and document_id == plain_id(file.name)
    return record(
        content,
        text=None if converter else content,
        converter=converter,
        name="" if has_plain_id else file_title(file.name),
        modified=file.modified,
    )
