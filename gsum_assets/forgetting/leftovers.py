"""Search of all files under a home for sentences of a document."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.settings.home import Home
from gsum_resources.state.database import state_of
from gsum_resources.store.parquet_store import ParquetStore

if TYPE_CHECKING:
    from gsum_resources.dagster_io.instance_storage import StorageLocations

_MIN_WORDS = 5  # shorter sentences occur in any text
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_BREAK = re.compile(r"\\[nrt]")


class Leftover(NamedTuple):
    """A file or database that contains a sentence, and the first such sentence."""

    path: str
    sentence: str


def sentences_of(text: str, others: Iterable[str] = ()) -> list[str]:
    """Return the sentences of a document, of five words or more, that no other document has."""
    found = (" ".join(sentence.split()) for sentence in _END.split(text))
    own = list(dict.fromkeys(s for s in found if len(s.split()) >= _MIN_WORDS))
    for other in others:
        known = " ".join(other.split())
        own = [sentence for sentence in own if sentence not in known]
    return own


def find_leftovers(
    home: Home,
    corpus: str,
    sentences: Sequence[str],
    locations: "StorageLocations",
    on_file: Callable[[int, int], None] = lambda done, total: None,
) -> list[Leftover]:
    """Return files and databases that contain a sentence: store, Dagster's storage, settings.

    The corpus folders are left out, and so are the tables of other corpora. `on_file` is called
    with the number of files searched, and of all files.
    """
    wanted = [(s, {_plain(s), _plain(json.dumps(s)[1:-1])}) for s in sentences]
    files = list(_files(home, corpus, locations))
    found = []
    for done, (path, read) in enumerate(files, start=1):
        contained: Iterator[str] = (
            sentence
            for content in map(_plain, read())
            for sentence, forms in wanted
            if any(form in content for form in forms)
        )
        with suppress(FileNotFoundError):  # merged or ended meanwhile
            found += [Leftover(path, sentence) for sentence in islice(contained, 1)]
        on_file(done, len(files))
    return found


def _plain(text: str) -> str:
    """Return a text with uniform blanks and without the escapes of JSON and Markdown."""
    return " ".join(_BREAK.sub(" ", text).replace("\\", "").split())


def _files(
    home: Home, corpus: str, locations: "StorageLocations"
) -> Iterator[tuple[str, Callable[[], Iterable[str]]]]:
    """Yield each file and each database with a function that reads its texts."""
    store = home.open_store()
    state = state_of(store)
    yield state.address, state.texts
    yield from locations.databases.items()
    for path in sorted(store.fs.find(store.root)):
        if "/corpus=" in path and f"/corpus={corpus}/" not in path:
            continue
        yield path, lambda path=path: [_texts(store, path)]
    left_out: set[object] = {home.corpora, *([home.root / "warehouse"] if store.is_local else [])}
    folders = [home.root, home.dagster, *locations.folders]
    for path in sorted({path for folder in folders for path in folder.rglob("*")}):
        is_state = path.name.startswith(home.state.name)  # with its log; its rows were searched
        if path.is_file() and not is_state and not left_out & set(path.parents):
            yield str(path), lambda path=path: [path.read_bytes().decode("utf-8", "ignore")]


def _texts(store: ParquetStore, path: str) -> str:
    """Return the texts of a Parquet file, or the decoded bytes of another file."""
    if not path.endswith(".parquet"):
        return store.fs.cat_file(path).decode("utf-8", "ignore")
    with store.open_file(path) as source:
        rows = pq.read_table(source)
    return "\n".join(text for column in rows.columns for text in _of_column(column))


def _of_column(column: pa.ChunkedArray) -> Iterator[str]:
    kind = column.type
    if pa.types.is_list(kind) and pa.types.is_string(kind.value_type):
        yield from _of_column(pa.chunked_array([chunk.flatten() for chunk in column.chunks]))
    elif pa.types.is_string(kind):
        yield from (text for text in column.to_pylist() if text)
    elif pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        yield from (value.decode("utf-8", "ignore") for value in column.to_pylist() if value)
