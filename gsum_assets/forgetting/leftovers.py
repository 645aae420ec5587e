"""Searches everything under a home for sentences of a document."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_resources.home import Home
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.state import state_of

_MIN_WORDS = 5  # shorter sentences stand in any text
_END = re.compile(r"(?<=[.!?])\s+|\n+")
_BREAK = re.compile(r"\\[nrt]")


class Leftover(NamedTuple):
    """A file that holds a sentence, and the first one that it holds."""

    path: str
    sentence: str


def sentences_of(text: str, others: Iterable[str] = ()) -> list[str]:
    """The sentences of a document, of five words or more, that no other document has."""
    found = (" ".join(part.split()) for part in _END.split(text))
    own = list(dict.fromkeys(s for s in found if len(s.split()) >= _MIN_WORDS))
    for other in others:
        known = " ".join(other.split())
        own = [sentence for sentence in own if sentence not in known]
    return own


def find_leftovers(
    home: Home,
    corpus: str,
    sentences: Sequence[str],
    on_file: Callable[[int, int], None] = lambda done, total: None,
) -> list[Leftover]:
    """The files in which a sentence stands: the store, Dagster's databases and logs, settings.

    The corpus folders are left out, and so are the tables of other corpora.

    Parameters
    ----------
    sentences : as `sentences_of` gives them.
    on_file : hears how many files were searched, and of how many.
    """
    wanted = [(s, {_plain(s), _plain(json.dumps(s)[1:-1])}) for s in sentences]
    files = list(_files(home, corpus))
    found = []
    for done, (path, read) in enumerate(files, start=1):
        try:
            held = next(filter(None, (_held(wanted, _plain(text)) for text in read())), None)
        except FileNotFoundError:  # merged or ended meanwhile
            continue
        if held is not None:
            found.append(Leftover(path, held))
        on_file(done, len(files))
    return found


def _held(wanted: Sequence[tuple[str, set[str]]], content: str) -> str | None:
    """Return the first sentence of which a form stands in a text."""
    return next((s for s, forms in wanted if any(form in content for form in forms)), None)


def _plain(text: str) -> str:
    """Blanks made equal and escapes undone, as JSON and Markdown put them in."""
    return " ".join(_BREAK.sub(" ", text).replace("\\", "").split())


def _files(home: Home, corpus: str) -> Iterator[tuple[str, Callable[[], Iterable[str]]]]:
    """Each file under the home with how to read its texts."""
    store = home.open_store()
    yield str(home.state), state_of(store).texts
    for path in sorted(store.fs.find(store.root)):
        if "/corpus=" in path and f"/corpus={corpus}/" not in path:
            continue
        yield path, lambda path=path: [_texts(store, path)]
    left_out = {home.corpora, *([home.root / "warehouse"] if store.is_local else [])}
    for path in sorted({*home.root.rglob("*"), *home.dagster.rglob("*")}):
        is_state = path.name.startswith(home.state.name)  # with its log; its rows were searched
        if path.is_file() and not is_state and not left_out & set(path.parents):
            yield str(path), lambda path=path: [path.read_bytes().decode("utf-8", "ignore")]


def _texts(store: ParquetStore, path: str) -> str:
    """The texts of a Parquet file, or the bytes of another one."""
    if not path.endswith(".parquet"):
        return store.fs.cat_file(path).decode("utf-8", "ignore")
    with store.fs.open(path, "rb") as source:
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
