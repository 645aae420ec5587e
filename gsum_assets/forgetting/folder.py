"""Deletion of a document from the files of a corpus folder."""

import gzip
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.corpus.listing import list_files, shown_name
from gsum_assets.corpus.records import Record
from gsum_assets.corpus.table_files import is_table, records_of, table_suffix
from gsum_assets.corpus.table_rows import encoding_of, items_of
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from gsum_resources.settings.paths import replace_content


def take_out(folder: Path, settings: CorpusSettings, records: Sequence[Record]) -> None:
    """Delete `records`: whole files, or lines or rows of a file of records."""
    paths = {shown_name(file.name): folder / file.name for file in list_files(folder)}
    for file in sorted({record.file for record in records}):
        path = paths[file]
        lines = {record.line for record in records if record.file == file}
        if not is_table(file) or lines == {0}:
            path.unlink()
            continue
        limits = settings.documents
        starts = {r.line for r in records_of(path, file, limits.max_bytes, limits.columns)}
        if starts <= lines and table_suffix(file) == ".json":
            path.unlink()
            continue
        replace_content(path, _without(path, lines, starts))


def _without(path: Path, lines: set[int], starts: set[int]) -> bytes:
    """Return the content of a file, whose records start in some lines, without those of `lines`."""
    if path.suffix == ".parquet":
        with path.open("rb") as source:
            rows = pq.read_table(source)
        kept = pa.array([i for i in range(len(rows)) if i + 1 not in lines], pa.int64())
        buffer = io.BytesIO()
        pq.write_table(rows.take(kept), buffer)
        return buffer.getvalue()
    content = path.read_bytes()
    if table_suffix(path.name) == ".json":
        whole = json.loads(content)
        items = items_of(whole)
        items[:] = [item for number, item in enumerate(items, 1) if number not in lines]
        return json.dumps(whole, ensure_ascii=False, indent=2).encode("utf-8", "surrogatepass")
    is_packed = path.suffix == ".gz"
    raw = io.BytesIO(gzip.decompress(content) if is_packed else content)
    if encoding_of(raw) == "utf-16":
        raw = io.BytesIO(raw.read().decode("utf-16", "replace").encode())
    if table_suffix(path.name).startswith(".jsonl"):
        physical = raw.readlines()
    else:  # as the reader of CSV counts them
        text = io.TextIOWrapper(raw, "utf-8", errors="surrogateescape", newline="")
        physical = [line.encode("utf-8", "surrogateescape") for line in text]
    kept, is_dropped = [], False
    for number, line in enumerate(physical, start=1):
        if number in starts:
            is_dropped = number in lines
        kept += [] if is_dropped else [line]
    rest = b"".join(kept)
    return gzip.compress(rest) if is_packed else rest
