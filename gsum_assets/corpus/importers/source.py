"""Files of a benchmark: JSON, JSON lines, CSV or Parquet, optionally with gzip."""

import csv
import gzip
import io
import json
import re
import sys
import zlib
from collections.abc import Callable, Iterator, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from gsum_assets.corpus.importers.benchmark import Contents
from gsum_assets.pipeline.corpus_settings import CorpusError

_SPLIT = re.compile(r"(?<![a-z])(train|dev|val|valid|validation|test)(?![a-z])", re.IGNORECASE)
_SPLITS = ("train", "dev", "test")


def each_row(
    read_row: Callable[[Contents, str, int, dict[str, Any]], None],
    *patterns: str,
    folders: Sequence[str] = (),
    required: Sequence[str] = (),
) -> Callable[[Path], Contents]:
    """Return a reader of split files that calls `read_row(contents, split, number, row)`."""

    def read(source: Path) -> Contents:
        contents = Contents()
        for split, number, row in split_rows(source, patterns, folders, required):
            read_row(contents, split, number, row)
        return contents

    return read


def split_rows(
    source: Path, patterns: Sequence[str], folders: Sequence[str] = (), required: Sequence[str] = ()
) -> Iterator[tuple[str, int, dict[str, Any]]]:
    """Yield split, number and row of the files with a split in their names, train first.

    The first of `patterns`, names without ".gz", with a match in `source` or the first of its
    subfolders `folders` counts. Raises `CorpusError` for a row without the `required` keys.
    """
    files = _split_files(source, patterns, folders)
    for split, file in sorted(files, key=lambda pair: (_SPLITS.index(pair[0]), pair[1].name)):
        for number, row in read_rows(file, required):
            yield split, number, row


def _split_files(
    source: Path, patterns: Sequence[str], folders: Sequence[str]
) -> list[tuple[str, Path]]:
    if source.is_file():
        if split := split_of(source.name):
            return [(split, source)]
        raise CorpusError(f"{source.name}: the file name must contain train, dev (val) or test")
    for folder, pattern in product((source, *(source / name for name in folders)), patterns):
        packed = {path.name.removesuffix(".gz"): path for path in folder.glob(f"{pattern}.gz")}
        plain = {path.name: path for path in folder.glob(pattern) if path.suffix != ".gz"}
        files = (packed | plain).values()  # of x and x.gz only x
        if matches := [(split, file) for file in files if (split := split_of(file.name))]:
            return matches
    expected = " or ".join(f"{pattern}[.gz]" for pattern in patterns)
    raise missing(source, f"files {expected} with train, dev (val) or test in their names")


def split_of(name: str) -> str | None:
    """Return the last split in a file name: train, dev or test; None if it has none."""
    names = _SPLIT.findall(name.lower())
    return None if not names else names[-1] if names[-1] in _SPLITS else "dev"


def needed_file(source: Path, expected: str, *names: str) -> Path:
    """Return the first of `names`, also with ".gz", that exists in a folder.

    Raise `CorpusError` with what was expected if there is none.
    """
    for name in (name + suffix for name in names for suffix in ("", ".gz")):
        if (source / name).is_file():
            return source / name
    raise missing(source, expected)


def missing(source: Path, expected: str) -> CorpusError:
    """Return the error for a source that lacks files, with the files found instead."""
    present = "one file"
    if source.is_dir():
        names = sorted(path.name for path in source.iterdir())
        present = ", ".join(names[:8]) + (", …" if len(names) > 8 else "") or "nothing"
    elif not source.exists():
        present = "no such file or folder"
    return CorpusError(f"{source}: expected {expected}; found {present}")


def read_text(path: Path) -> str:
    """Return the text of a UTF-8 file, optionally with gzip."""
    content = path.read_bytes()
    try:
        if path.suffix == ".gz":
            content = gzip.decompress(content)
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise CorpusError(f"{path}: not UTF-8 at byte {error.start}; download it again") from error
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise CorpusError(f"{path}: damaged gzip file ({error}); download it again") from error


def read_json(path: Path) -> Any:
    """Return the value of a JSON file."""
    return _parsed(read_text(path), str(path))


def _parsed(text: str, where: str) -> Any:
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise CorpusError(f"{where}: not JSON: {error}; download it again") from error


def read_rows(path: Path, required: Sequence[str] = ()) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield numbered rows, from 1, of a CSV, Parquet, JSON (list) or JSON lines file.

    Raises `CorpusError` if a line cannot be parsed or lacks one of the `required` keys.
    """
    for number, row in read_values(path):
        if not isinstance(row, dict):
            raise CorpusError(f"{path} line {number}: a {type(row).__name__}, not an object")
        if lacking := [key for key in required if key not in row]:
            raise CorpusError(
                f"{path} line {number}: expected the key '{lacking[0]}'; found {sorted(row)}"
            )
        yield number, row


def read_values(path: Path) -> Iterator[tuple[int, Any]]:
    """Yield numbered values of any type, from 1, see `read_rows`."""
    name = path.name.removesuffix(".gz")
    if name.endswith(".parquet"):
        import pyarrow.parquet as pq

        yield from enumerate(pq.read_table(path).to_pylist(), start=1)
        return
    text = read_text(path)
    if name.endswith(".csv"):
        csv.field_size_limit(sys.maxsize)
        yield from enumerate(csv.DictReader(io.StringIO(text, newline="")), start=1)
    elif text.lstrip()[:1] == "[" and name.endswith(".json"):
        yield from enumerate(_parsed(text, str(path)), start=1)
    else:
        for number, line in enumerate(text.split("\n"), start=1):
            if line.strip():
                yield number, _parsed(line, f"{path} line {number}")
