"""Documents as their source has them, and the ids of those that are whole files."""

import hashlib
import os
import re
from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any
from unicodedata import category

from gsum_assets.corpus.decoding import NotTextError, decode
from gsum_assets.corpus.listing import shown_name

MOST_ID_CHARS = 200
PIECE = 65_536  # bytes; of an oversized row only its beginning enters its hash

TEXT_SUFFIXES = (".txt", ".md")
_OF_CONVERTED = str.maketrans(dict.fromkeys("|,[]/\\", "_"))
_NOT_UTF8 = re.compile("[\udc80-\udcff]")
_NOT_IN_IDS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\\]|\.\.")


@dataclass(frozen=True)
class Columns:
    """Names of the columns of a table, "" without one; whether its ids are unique in the corpus."""

    text: str
    title: str = "title"
    id: str = "id"
    is_unique: bool = True


_USUAL = Columns("text")


@dataclass(frozen=True)
class Record:
    """One document as stored in its source; its values are unchanged, `text` may be bytes.

    Attributes
    ----------
    document_id : "{file}:{line}" without a valid id.
    file : path relative to the corpus folder, with "/".
    line : line or row within the file, from 1; 0 for a whole file.
    content : the bytes covered by the content hash.
    converter : file name extension that selects the converter of `content`; "" for text.
    name : title of a whole file that has none inside, if it differs from the id.
    modified : Unix time; 0 if it is not known.
    location : what a source names besides the title, "faq.csv, row 12"; "" for other records.
    """

    document_id: str
    file: str
    line: int
    content: bytes
    title: Any = None
    text: Any = None
    cites: Any = None
    problem: str | None = None
    converter: str = ""
    is_other_type: bool = False
    location: str = ""
    name: str = ""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    modified: float = field(default=0.0, compare=False)


def id_problem(document_id: str) -> str | None:
    """Return why an id cannot be used, or None."""
    if not document_id.strip():
        return "the id is empty; give each document an id"
    if len(document_id) > MOST_ID_CHARS:
        return f"the id has {len(document_id)} characters, more than {MOST_ID_CHARS}; shorten it"
    bad = sorted({c for c in document_id if c in "/\\" or category(c) in ("Cc", "Cs")})
    if bad or ".." in document_id:
        what = ascii("".join(bad)) if bad else "'..'"
        return f"the id {document_id!a} contains {what}; rename it without"
    return None


def too_large(size: int, max_bytes: int) -> str:
    """Return the reason for rejecting a document of `size` bytes."""
    return (
        f"{size} bytes, more than max_bytes = {max_bytes}; split it, "
        "or raise max_bytes in [documents] of corpus.toml"
    )


def broken_record(file: str, line: int, content: bytes, problem: str) -> Record:
    """Return the record of what cannot be used, with a reason."""
    return Record(f"{file}:{line}", file, line, content, problem=problem)


def named_record(
    row: Mapping[str, Any], file: str, line: int, content: bytes, columns: Columns = _USUAL
) -> Record:
    """Return a record from named values; `document_id` takes precedence over `id`."""
    value = row.get("document_id") if columns.id == "id" else None
    value = row.get(columns.id) if value is None else value
    if isinstance(value, bytes):
        value = value.decode("utf-8", "surrogateescape")
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    if not isinstance(value, str):
        return broken_record(file, line, content, f"document_id is {value!r:.60}; give it a string")
    return record_with_id(value, row, file, line, content, columns)


def record_with_id(
    document_id: str,
    row: Mapping[str, Any],
    file: str,
    line: int,
    content: bytes,
    columns: Columns,
    location: str = "",
) -> Record:
    """Return a record from named values, with a problem if its id cannot be used."""
    if problem := id_problem(document_id):
        return broken_record(file, line, content, problem)
    used = {"document_id", "cites", columns.id, columns.title, columns.text}
    return Record(
        document_id,
        file,
        line,
        content,
        row.get(columns.title),
        row.get(columns.text),
        row.get("cites"),
        location=location,
        metadata={name: value for name, value in row.items() if name not in used},
    )


def ids_of_files(files: Collection[str]) -> dict[str, str]:
    """Return an id for each file, all different, see `plain_id`; "--" stands for "/".

    A name that is no valid id, and the later one of two equal ids, has the hash of its name at the
    end. Among equal ids those of `.md` files are the later ones, then the names decide.
    """
    ids: dict[str, str] = {}
    used: set[str] = set()
    for file in sorted(files, key=lambda file: (file.lower().endswith(".md"), file)):
        document_id = plain_id(file)
        if id_problem(document_id) or document_id in used:
            document_id = hashed_id(file, document_id)
        ids[file] = document_id
        used.add(document_id)
    return ids


def file_title(file: str) -> str:
    """Return the last part of a file's name without its extension, as people see it."""
    stem = file.rpartition("/")[2].rpartition(".")[0]
    return " ".join(_readable(stem).split())


def plain_id(file: str) -> str:
    """Return the id of a file by its name alone; it may be invalid, or that of another file."""
    if file.lower().endswith(TEXT_SUFFIXES):
        return file.rpartition(".")[0].replace("/", "--")
    # with the extension: report.pdf and report.txt are two documents
    return file.replace("/", "--").translate(_OF_CONVERTED).replace("..", "_")


def hashed_id(name: str, document_id: str) -> str:
    """Return a valid id that begins like `document_id` and ends with the hash of a name."""
    digest = hashlib.blake2b(name.encode("utf-8", "backslashreplace"), digest_size=4)
    ending = "-" + digest.hexdigest()
    readable = _NOT_IN_IDS.sub("_", _readable(document_id)).strip()
    return (readable[: MOST_ID_CHARS - len(ending)] or "file") + ending


def _readable(name: str) -> str:
    """Return a name with characters for bytes that are not UTF-8, and escapes where unknown."""
    if _NOT_UTF8.search(name):
        with suppress(NotTextError):
            name = decode(os.fsencode(name))[0]
    return shown_name(name)
