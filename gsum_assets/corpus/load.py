"""Loading of the documents of a corpus folder; failures are returned, never raised.

Bytes are decoded (`decoding`). A text is kept unchanged except that a byte order mark is dropped
and the line ends CR LF and CR become LF. Files of other formats are converted (`conversion`).
"""

import datetime as dt
import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gsum_assets.corpus.conversion.converter import Converter, CrashError
from gsum_assets.corpus.conversion.formats import ConversionError, Converted, tidied
from gsum_assets.corpus.conversion.pictures import without_pictures
from gsum_assets.corpus.decoding import NotTextError, decode, is_blank
from gsum_assets.corpus.folder import READ_TYPES, read_records
from gsum_assets.corpus.metadata import as_json, metadata_of, split_front_matter
from gsum_assets.corpus.records import Record, file_title, too_large
from gsum_assets.corpus.sections import Section, is_markdown, sections_of
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings
from gsum_resources.text.dates import date_of_name, date_of_text

FEWEST_BUCKETS, MOST_BUCKETS = 8, 1024
N_BUCKETS = FEWEST_BUCKETS
"""Buckets of a small corpus."""
_HEADING = re.compile(r"^# +(\S.*)$", re.MULTILINE)
_DATE_KEYS = ("date", "datum", "fecha", "published", "created")


@dataclass(frozen=True)
class SourceDocument:
    """A document found in the folder, see `source_documents` in `tables.py`."""

    document_id: str
    file: str
    line: int
    content_hash: str
    added: datetime | None = None
    changed: datetime | None = None
    modified: datetime | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Document:
    """A loaded document; `encoding` is that of its text file, see `documents` in `tables.py`."""

    document_id: str
    title: str
    text: str
    cites: tuple[str, ...] | None = None
    encoding: str | None = None
    metadata: str | None = None
    file: str | None = None
    date: dt.date | None = None
    date_source: str | None = None

    @property
    def n_words(self) -> int:
        """Length in words separated by blanks."""
        return len(self.text.split())


@dataclass(frozen=True)
class Rejected:
    """A document that could not be loaded, and the reason."""

    document_id: str
    file: str
    line: int
    reason: str
    is_other_type: bool = False
    n_crashes: int = 0


@dataclass(frozen=True)
class Loaded:
    """What a corpus folder holds; `listing` is equal to the result of `scan` for the same files."""

    documents: list[Document]
    sections: list[Section]
    rejected: list[Rejected]
    listing: list[SourceDocument]


Convert = Callable[[Record], Converted]
"""The text of a record that has to be converted; raises `ConversionError`."""


class _UnusableError(Exception):
    """Error with the reason for a rejection."""


def bucket_of(document_id: str, n_buckets: int = N_BUCKETS) -> str:
    """Return the bucket of a document, "00" to "07" of 8: a stable hash of its id."""
    digest = hashlib.blake2b(document_id.encode("utf-8", "backslashreplace"), digest_size=8)
    return f"{int.from_bytes(digest.digest(), 'big') % n_buckets:02d}"


def scan(folder: Path, settings: CorpusSettings) -> list[SourceDocument]:
    """Return every document in the folder with a hash of its content, in a fixed order.

    The hash covers the bytes (of a file above `max_bytes` its size) and the settings that change
    how they are read. Raises `CorpusError` if the folder does not exist or holds no document.
    """
    fingerprint = settings.reading_fingerprint()
    listed, has_document = [], False
    for record in _records(folder, settings):
        listed.append(_listed(record, fingerprint))
        has_document |= not record.is_other_type
    if not has_document:
        raise _no_document(folder)
    return listed


def require_documents(folder: Path, settings: CorpusSettings) -> None:
    """Raise `CorpusError` if the folder does not exist or has no document; read up to the first."""
    if all(record.is_other_type for record in _records(folder, settings)):
        raise _no_document(folder)


def _records(
    folder: Path, settings: CorpusSettings, document_ids: Collection[str] | None = None
) -> Iterator[Record]:
    limits = settings.documents
    return read_records(folder, limits.max_bytes, document_ids, limits.columns)


def _listed(record: Record, fingerprint: bytes) -> SourceDocument:
    digest = hashlib.blake2b(fingerprint + b"\0" + record.content, digest_size=16)
    modified = datetime.fromtimestamp(record.modified, UTC) if record.modified else None
    return SourceDocument(
        record.document_id, record.file, record.line, digest.hexdigest(), modified=modified
    )


def _no_document(folder: Path) -> CorpusError:
    accepted = ", ".join(f"*{name}" if name.startswith(".") else name for name in READ_TYPES)
    return CorpusError(f"corpus folder {folder} holds no document; put in any of {accepted}")


def load(
    folder: Path, settings: CorpusSettings, document_ids: Collection[str] | None = None
) -> tuple[list[Document], list[Rejected]]:
    """Return the documents of a corpus folder, and the rejected ones, see `load_folder`."""
    with Converter() as converter:
        loaded = load_folder(
            folder, settings, lambda r: converter.convert(r.converter, r.content), document_ids
        )
    return loaded.documents, loaded.rejected


def load_folder(
    folder: Path,
    settings: CorpusSettings,
    convert: Convert,
    document_ids: Collection[str] | None = None,
) -> Loaded:
    """Return the documents of a corpus folder, the rejected ones, and a list of all.

    Documents are in the order of files and lines, of equal ids the first valid one. The listing has
    the hashes of the bytes that were read, as files may have changed since a `scan`. Parameter
    `document_ids`: those to load; None: all. Raises `CorpusError` if the folder does not exist.
    """
    if document_ids is None:
        return load_records(_records(folder, settings), settings, convert)
    selected = frozenset(document_ids)
    records = _records(folder, settings, selected)
    chosen = (record for record in records if record.document_id in selected)  # rows of tables
    return load_records(chosen, settings, convert)


def load_records(records: Iterable[Record], settings: CorpusSettings, convert: Convert) -> Loaded:
    """Return the documents of records, the rejected ones, and a list of all, see `load_folder`."""
    documents: dict[str, Document] = {}
    locations: dict[str, str] = {}
    loaded = Loaded([], [], [], [])
    fingerprint = settings.reading_fingerprint()
    for record in records:
        loaded.listing.append(_listed(record, fingerprint))
        try:
            if record.problem is not None:
                raise _UnusableError(record.problem)
            if location := locations.get(record.document_id):
                raise _UnusableError(f"id already used by {location}; rename one of the two")
            converted = convert(record) if record.converter else None
            if converted is not None:
                metadata = {**record.metadata, "left_out": converted.left_out}
                title, text = converted.title, converted.text
                record = replace(record, title=title, text=text, metadata=metadata)
            document = _document(record, settings.documents.max_bytes)
        except (_UnusableError, ConversionError) as reason:
            source = record.document_id, record.file, record.line
            n_crashes = int(isinstance(reason, CrashError))
            loaded.rejected.append(Rejected(*source, str(reason), record.is_other_type, n_crashes))
        else:
            documents[record.document_id] = document
            line = f", line {record.line}" if record.line else ""
            locations[record.document_id] = f"{record.file}{line}"
            loaded.sections.extend(_sections(record, converted, document))
    loaded.documents.extend(documents.values())
    return loaded


def with_file_dates(
    documents: Sequence[Document], modified: Mapping[str, datetime | None]
) -> list[Document]:
    """Return documents with the date of their file as metadata `modified`, unless they state one.

    It is also the date of a document that states none. `modified` has the times by document id.
    """
    dated = []
    for document in documents:
        metadata, time = json.loads(document.metadata or "{}"), modified.get(document.document_id)
        if time and "modified" not in metadata:
            metadata["modified"] = time.date().isoformat()
        document = replace(document, metadata=as_json(metadata))
        if time and document.date is None:
            document = replace(document, date=time.date(), date_source="file time")
        dated.append(document)
    return dated


def _sections(record: Record, converted: Converted | None, document: Document) -> list[Section]:
    """Return pages and headings of a document; of a row of a table its location."""
    if record.location:
        return [Section(document.document_id, "row", 1, 0, record.location, 0)]
    suffix = record.converter or ("" if record.line else record.file[record.file.rfind(".") :])
    starts, labels = (converted.page_starts, converted.labels) if converted else ((), ())
    return sections_of(document.document_id, document.text, suffix.lower(), starts, labels)


def _document(record: Record, max_bytes: int) -> Document:
    """Return one record decoded, or raise `_UnusableError`."""
    if record.text is None:
        raise _UnusableError("has no text; add the column 'text'")
    text, encoding = _decoded("text", record.text)
    size = len(text.encode())
    if size > max_bytes:
        raise _UnusableError(too_large(size, max_bytes))
    plain = without_pictures(Converted("", tidied(text.removeprefix("\ufeff"))))
    text, metadata = plain.text, dict(record.metadata)
    if record.line == 0 and not record.converter and record.file.lower().endswith(".md"):
        metadata, text = split_front_matter(text)
        if record.title is None and isinstance(metadata.get("title"), str | int | float):
            record = replace(record, title=metadata.pop("title"))
    if plain.left_out:
        metadata["left_out"] = plain.left_out
    if not text:
        raise _UnusableError("the text is empty; fill it or remove the document")
    if is_blank(text):
        raise _UnusableError(
            "the text has only blanks and invisible characters; fill it or remove the document"
        )
    if record.line and encoding == "utf-8":  # as records are expected to be
        encoding = None
    text = text.rstrip()  # so that blanks added by an editor change nothing downstream
    title, known = _title(record, text), metadata_of(metadata)
    return Document(
        record.document_id,
        title,
        text,
        _cites(record),
        encoding,
        as_json(known),
        record.file if record.line == 0 else None,
        *_date(record, title, text, known),
    )


def _date(
    record: Record, title: str, text: str, metadata: Mapping[str, Any]
) -> tuple[dt.date | None, str | None]:
    """Return the date that a document states, or the name of its file, and where it stands."""
    stated = {key.casefold(): str(value) for key, value in metadata.items()}
    values = [stated[key] for key in _DATE_KEYS if key in stated]
    name = file_title(record.file) if record.line == 0 else ""
    first = text if record.converter != ".mbox" else ""  # a mailbox has messages of many days
    heading = title if title not in (name, record.document_id) else ""
    source = "front matter" if record.line == 0 else "column"
    dates = [
        *((source, date_of_text(value)) for value in values),
        ("first lines", date_of_text(first, heading)),
        ("file name", date_of_name(name)),
    ]
    for source, found in dates:
        if found:
            return found.day, f"{source}, month" if found.is_month else source
    return None, None


def _title(record: Record, text: str) -> str:
    """Return the title column, a file's first heading, or the id, on one line."""
    title = str(record.title) if isinstance(record.title, int | float) else record.title
    title = "" if title is None else _decoded("title", title)[0]
    has_headings = record.line == 0 and (not record.converter or is_markdown(record.converter))
    if not title.strip() and has_headings and (heading := _HEADING.search(text)):
        title = heading[1].rstrip("# ")
    title = " ".join(title.split()) or record.location or record.name
    return title or record.document_id


def _cites(record: Record) -> tuple[str, ...] | None:
    """Return the ids that a record cites, each once; None if its source has no citations."""
    if record.cites is None:
        return None
    if not isinstance(record.cites, list):
        kind = type(record.cites).__name__
        raise _UnusableError(f"cites is a {kind}, not a list of ids; put them into a list")
    ids = (str(cited) if type(cited) is int else cited for cited in record.cites)
    return tuple(dict.fromkeys(_decoded("id in cites", cited)[0] for cited in ids))


def _decoded(name: str, value: Any) -> tuple[str, str | None]:
    """Return a string without NUL, and the encoding of bytes, or raise `_UnusableError`.

    Bytes are those of a file, or of a cell that was not UTF-8, which are surrogates.
    """
    encoding = None
    if isinstance(value, str) and not value.isascii():
        surrogates = [c for c in value if "\ud800" <= c <= "\udfff"]
        if surrogates and all("\udc80" <= c <= "\udcff" for c in surrogates):
            value = value.encode("utf-8", "surrogateescape")
    if isinstance(value, bytes):
        try:
            value, encoding = decode(value)
        except NotTextError as error:
            raise _UnusableError(f"the {name} is {error}") from error
    if not isinstance(value, str):
        raise _UnusableError(f"the {name} is a {type(value).__name__}, not a string; quote it")
    if "\0" in value:
        raise _UnusableError(f"the {name} has a NUL at character {value.index(chr(0))}; remove it")
    try:
        value.encode()
    except UnicodeEncodeError as error:
        raise _UnusableError(
            f"the {name} has half a surrogate pair at character {error.start}; repair it"
        ) from error
    return value, encoding
