"""Result of an importer, and how it is written as a corpus folder."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from gsum_assets.corpus.load import Document, load
from gsum_assets.corpus.queries import QUERIES_FILE, Query, load_queries
from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE, CorpusError, Kind, load_settings
from gsum_resources.settings.paths import replace_content

_DOCUMENTS_FILE = "documents.jsonl"
_WRITTEN = frozenset({_DOCUMENTS_FILE, QUERIES_FILE, SETTINGS_FILE, "graph"})


@dataclass
class Contents:
    """A benchmark's documents and queries, and notes on the import.

    `tables` are further Parquet files by their paths, `counts` become notes: what was left out.
    """

    documents: list[Document] = field(default_factory=list)
    queries: list[Query] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    tables: dict[str, pa.Table] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def add(self, document_id: str, title: str, text: str) -> None:
        """Add a document."""
        self.documents.append(Document(document_id, title, text))

    def ask(self, query_id: str, text: str, references: Iterable[str], **values: Any) -> None:
        """Add a question with further values of `Query.of`; blank references are left out."""
        references = [reference.strip() for reference in references if reference.strip()]
        values = {"kind": "general", **values}
        self.queries.append(Query.of(text.strip(), query_id, references=references, **values))


@dataclass(frozen=True)
class Benchmark:
    """A benchmark that can be imported.

    Attributes `expects`: description of the expected source, for messages; `settings`: further
    tables of `corpus.toml`, as TOML.
    """

    title: str
    kind: Kind
    expects: str
    read: Callable[[Path], Contents]
    settings: str = ""


@dataclass(frozen=True)
class ImportReport:
    """Counts and notes of an import."""

    corpus: str
    n_documents: int
    n_queries: int
    notes: list[str]


def slug(name: str) -> str:
    """Return a name for use in an id: letters, digits, '_', '-' and single dots."""
    return re.sub(r"\.{2,}", ".", re.sub(r"[^\w.-]+", "-", name)).strip("-.")


def write_corpus(benchmark: Benchmark, contents: Contents, folder: Path) -> ImportReport:
    """Write a corpus to a temporary folder, validate it with the loader, then copy its files.

    Raises `CorpusError` if `folder` has files that no import wrote, or no document can be loaded.
    """
    present = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    if foreign := sorted(name for name in present - _WRITTEN if not name.startswith(".")):
        raise CorpusError(
            f"{folder} has '{foreign[0]}', which no import wrote; "
            "import under another corpus name or move that folder away"
        )
    with TemporaryDirectory(prefix="gsum-import-") as temporary:
        fresh = Path(temporary)
        report = _fill(fresh, benchmark, contents, folder.name)
        # documents last: a folder without documents is no corpus
        for name in (*contents.tables, SETTINGS_FILE, QUERIES_FILE, _DOCUMENTS_FILE):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            replace_content(folder / name, (fresh / name).read_bytes())
    if (folder / "graph").is_dir():  # of an earlier import with more tables
        for file in (folder / "graph").iterdir():
            if f"graph/{file.name}" not in contents.tables:
                file.unlink()
    return report


def _fill(folder: Path, benchmark: Benchmark, contents: Contents, corpus: str) -> ImportReport:
    documents = [
        {key: value for key, value in asdict(document).items() if value not in (None, "")}
        for document in contents.documents
    ]
    for path, table in contents.tables.items():
        (folder / path).parent.mkdir(exist_ok=True)
        pq.write_table(table, folder / path)
    _write_lines(folder / _DOCUMENTS_FILE, documents)
    _write_lines(folder / QUERIES_FILE, [asdict(query) for query in contents.queries])
    title = json.dumps(benchmark.title, ensure_ascii=False)
    (folder / SETTINGS_FILE).write_text(
        f'title = {title}\nkind = "{benchmark.kind}"\n{benchmark.settings}', encoding="utf-8"
    )
    loaded, rejected = load(folder, load_settings(folder))
    if not loaded:
        raise CorpusError(f"'{corpus}': no document could be loaded; {benchmark.expects}")
    queries, failures = load_queries(folder, {document.document_id for document in loaded})
    notes = [*contents.notes, *(f"{r.document_id}: {r.reason}" for r in rejected), *failures]
    return ImportReport(corpus, len(loaded), len(queries), notes)


def _write_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as stream:
        for row in rows:
            stream.write(json.dumps(row, ensure_ascii=False) + "\n")
