"""The corpora on disk: a tester writes, renames, moves and deletes, and every file is old at once.

The watching sensor leaves alone what was written a moment ago; files written here are dated back,
each later than the one before.
"""

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from gsum_assets.corpus.load import N_BUCKETS, bucket_of

_LONG_AGO = 1_500_000_000  # Unix time
IDS = tuple(f"tale-{i}" for i in range(14))
BUCKETS = tuple(f"{bucket:02d}" for bucket in range(N_BUCKETS))


class Entry(NamedTuple):
    """Location of a document: in a file of its own, or in a row of `documents.jsonl`."""

    kind: str
    document_id: str

    @property
    def bucket(self) -> str:
        """The document's bucket."""
        return bucket_of(self.document_id)


KINDS = ("txt", "md", "row")


class Folder:
    """One corpus folder and what it should hold."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.texts: dict[Entry, str] = {}
        self._clock = _LONG_AGO

    def put(self, entry: Entry, text: str) -> None:
        """Write or overwrite a document."""
        self.texts[entry] = text
        self._write(entry)

    def remove(self, entry: Entry) -> str:
        """Delete a document; its text."""
        text = self.texts.pop(entry)
        self._write(entry)
        return text

    def settings(self, tables: Mapping[str, Mapping[str, Any]]) -> None:
        """Write `corpus.toml`."""
        lines = []
        for table, values in tables.items():
            lines += [f"[{table}]"] if table else []
            lines += [f"{key} = {json.dumps(value)}" for key, value in values.items()]
        self._file("corpus.toml", "\n".join(lines))

    def questions(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write `queries.jsonl`; no question, no file."""
        self._file("queries.jsonl", "".join(json.dumps(row) + "\n" for row in rows))

    def drop(self) -> None:
        """Delete the folder."""
        shutil.rmtree(self.path)
        self.texts.clear()

    def state(self) -> tuple:
        """Return all contents, to compare two moments."""
        return tuple(
            (str(file.relative_to(self.path)), file.read_bytes())
            for file in sorted(self.path.rglob("*"))
            if file.is_file()
        )

    def _write(self, entry: Entry) -> None:
        if entry.kind == "row":
            rows = [
                {"document_id": e.document_id, "title": f"Tale of {e.document_id}", "text": text}
                for e, text in self.texts.items()
                if e.kind == "row"
            ]
            self._file("documents.jsonl", "".join(json.dumps(row) + "\n" for row in rows))
        else:
            self._file(f"{entry.document_id}.{entry.kind}", self.texts.get(entry, ""))

    def _file(self, name: str, content: str) -> None:
        file = self.path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        self._clock += 1
        if not content:
            file.unlink(missing_ok=True)
            return
        file.write_text(content)
        os.utime(file, (self._clock, self._clock))
