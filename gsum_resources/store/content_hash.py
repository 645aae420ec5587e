"""A content hash of tables that is independent of chunks, slices and null bitmaps in memory."""

import hashlib
from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from gsum_resources.store.arrow import is_dictionary, pc

_ROWS_AT_ONCE = 2**18  # of a dictionary


def hash_texts(texts: Iterable[str], size: int = 16) -> str:
    """Return the BLAKE2b hash of texts, each prefixed by its length, as `2 * size` hex digits."""
    digest = hashlib.blake2b(digest_size=size)
    for text in texts:
        digest.update(framed_text(text))
    return digest.hexdigest()


def numbers_of(ids: pa.Array) -> np.ndarray:
    """Return a number for each id, which stays when others change: 63 bits of its hash, int64."""
    import pandas.util

    hash_array: Any = pandas.util.hash_array
    hashes = hash_array(ids.to_numpy(zero_copy_only=False), categorize=False)
    return (hashes >> np.uint64(1)).astype(np.int64)


def framed_text(text: str) -> bytes:
    """Return the length in bytes and the UTF-8 bytes of a text, so that its end is unambiguous."""
    encoded = text.encode()
    return len(encoded).to_bytes(8, "little") + encoded


def hash_framed(texts: bytes, size: int = 16) -> bytes:
    """Return the BLAKE2b hash of concatenated framed texts, as bytes (see `hash_texts`)."""
    return hashlib.blake2b(texts, digest_size=size).digest()


def content_hash(table: pa.Table, leave_out: Collection[str] = ()) -> str:
    """Return the BLAKE2b hash of column names, types and values in row order, as 32 hex digits.

    Columns named in `leave_out` are ignored. A dictionary has the hash of its texts, and a list of
    a file that of one built in memory, though Arrow names their elements differently.
    """
    digest = hashlib.blake2b(digest_size=16)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if name in leave_out:
            continue
        digest.update(f"{name}:{_named(column.type)}:{len(column)};".encode())
        _update(digest, [chunk for chunk in column.chunks if len(chunk)])
    return digest.hexdigest()


def _named(kind: pa.DataType) -> pa.DataType:
    """Return the type that stands for a column's type in its hash."""
    if is_dictionary(kind):
        return kind.value_type
    if pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_type, kind.list_size)
    return pa.list_(kind.value_type) if pa.types.is_list(kind) else kind


def _update(digest: Any, chunks: list[pa.Array]) -> None:
    """Update the digest with nulls, lengths and values, each for all chunks, without copies."""
    if not chunks:
        return
    if any(chunk.null_count for chunk in chunks):
        nulls = [pc.is_null(chunk).to_numpy(zero_copy_only=False) for chunk in chunks]
        digest.update(b"nulls;")
        digest.update(np.packbits(np.concatenate(nulls)))
        chunks = [values for values in (chunk.drop_null() for chunk in chunks) if len(values)]
        _update(digest, chunks)
        return
    kind = chunks[0].type
    if pa.types.is_list(kind):
        for chunk in chunks:
            digest.update(np.ascontiguousarray(pc.list_value_length(chunk).to_numpy()))
        _update(digest, _flat(chunks))
    elif pa.types.is_fixed_size_list(kind):
        _update(digest, _flat(chunks))
    elif is_dictionary(kind) or pa.types.is_string(kind) or pa.types.is_binary(kind):
        for chunk in _decoded(chunks):
            digest.update(np.ascontiguousarray(pc.binary_length(chunk).to_numpy()))
        for chunk in _decoded(chunks):
            digest.update(_text_bytes(chunk))
    else:
        for chunk in chunks:
            digest.update(np.ascontiguousarray(chunk.to_numpy(zero_copy_only=False)))


def _decoded(chunks: list[pa.Array]) -> Iterator[pa.Array]:
    """Yield chunks of texts, those of a dictionary some rows at a time."""
    for chunk in chunks:
        if not is_dictionary(chunk.type):
            yield chunk
            continue
        for at in range(0, len(chunk), _ROWS_AT_ONCE):
            yield chunk.slice(at, _ROWS_AT_ONCE).dictionary_decode()


def _flat(chunks: list[pa.Array]) -> list[pa.Array]:
    return [flat for flat in (chunk.flatten() for chunk in chunks) if len(flat)]


def _text_bytes(array: pa.StringArray | pa.BinaryArray) -> memoryview | bytes:
    """Return the concatenated bytes of all values, UTF-8 for texts."""
    _, offsets, values = array.buffers()
    if values is None or offsets is None:
        return b""
    bounds = np.frombuffer(offsets, np.int32)[[array.offset, array.offset + len(array)]]
    return memoryview(values)[bounds[0] : bounds[1]]
