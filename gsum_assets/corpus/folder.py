"""Walks a corpus folder and gives its records in a fixed order."""

from collections.abc import Collection, Iterator
from pathlib import Path

from gsum_assets.corpus.records import (
    PIECE,
    RECORD_FILES,
    Record,
    id_problem,
    records_of,
    too_large,
)
from gsum_assets.corpus.settings import CorpusError

TEXT_SUFFIXES = (".txt", ".md")


def read_records(
    folder: Path, max_bytes: int, wanted: Collection[str] | None = None
) -> Iterator[Record]:
    """Every record of a corpus folder, in the order of file names, then lines.

    Parameters
    ----------
    folder : a local or remote path.
    max_bytes : a larger file is not read but becomes a record with a problem.
    wanted : ids to read; files of others are not opened. None: all.

    Raises
    ------
    CorpusError
        If the folder does not exist.
    """
    if not folder.is_dir():
        raise CorpusError(f"corpus folder {folder} does not exist; create it or correct the path")
    for file, path in sorted(_files(folder)):
        name = file.encode("utf-8", "backslashreplace").decode()
        try:
            if file in RECORD_FILES:
                yield from records_of(path, name, max_bytes)
            elif record := _whole_file(path, file, name, max_bytes, wanted):
                yield record
        except PermissionError:
            yield Record(f"{name}:0", name, 0, b"unreadable", problem="no right to read the file")
        except FileNotFoundError:  # deleted since the folder was listed
            continue


def _files(folder: Path, prefix: str = "", above: tuple[Path, ...] = ()) -> Iterator:
    """Pairs of relative name and path of all files that hold documents."""
    for child in folder.iterdir():
        if child.name.startswith((".", "~")):  # hidden, or an editor's temporary file
            continue
        if child.is_dir():
            seen = above
            if isinstance(child, Path):  # a link back up would be walked for ever
                seen = (*above, folder.resolve())
                if child.is_symlink() and child.resolve() in seen:
                    continue
            yield from _files(child, f"{prefix}{child.name}/", seen)
        elif child.name.lower().endswith(TEXT_SUFFIXES) or (
            not prefix and child.name in RECORD_FILES
        ):
            yield prefix + child.name, child


def _whole_file(
    path: Path, file: str, name: str, max_bytes: int, wanted: Collection[str] | None
) -> Record | None:
    natural = file.rpartition(".")[0].replace("/", "--")
    problem = id_problem(natural)
    document_id = f"{name}:0" if problem else natural
    if wanted is not None and document_id not in wanted:
        return None
    size = path.stat().st_size
    if size > max_bytes:
        with path.open("rb") as stream:
            head = stream.read(PIECE)
            stream.seek(max(0, size - PIECE))
            ends = b"%d\0" % size + head + stream.read(PIECE)
        return Record(document_id, name, 0, ends, problem=too_large(size, max_bytes))
    content = path.read_bytes()
    return Record(document_id, name, 0, content, text=content, problem=problem)
