"""Ids of the documents that are whole files, from the names of the files."""

import hashlib
import os
import re
from collections.abc import Collection

from gsum_assets.corpus.decoding import NotTextError, decode
from gsum_assets.corpus.listing import shown_name
from gsum_assets.corpus.records import MOST_ID_CHARS, id_problem

TEXT_SUFFIXES = (".txt", ".md")
_OF_CONVERTED = str.maketrans(dict.fromkeys("|,[]/\\", "_"))
_NOT_IN_IDS = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\\]|\.\.")
_HASH_BYTES = 4


def ids_of_files(files: Collection[str]) -> dict[str, str]:
    """Return an id for each file, all different.

    The id is the name without `.txt` or `.md`, or the name with the extension of a converted file
    or a table; "--" stands for "/". A name that is no valid id, and the later one of two equal ids,
    has the hash of its name at the end. Among equal ids those of `.md` files are the later ones,
    then the order of the names decides.
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
    digest = hashlib.blake2b(name.encode("utf-8", "backslashreplace"), digest_size=_HASH_BYTES)
    ending = "-" + digest.hexdigest()
    readable = _NOT_IN_IDS.sub("_", _readable(document_id)).strip()
    return (readable[: MOST_ID_CHARS - len(ending)] or "file") + ending


def _readable(name: str) -> str:
    """Return a name with characters for bytes that are not UTF-8, and escapes where unknown."""
    if name.isascii() or not any("\udc80" <= character <= "\udcff" for character in name):
        return shown_name(name)
    try:
        return shown_name(decode(os.fsencode(name))[0])
    except NotTextError:
        return shown_name(name)
