"""Calls of the language model when a folder of meetings changes, and of a rebuild.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.graphrag.incremental [--meetings 20]

QMSum meetings are indexed; one is added, one edited, one deleted, with a run after each;
then what lies there is indexed from nothing, and every table compared. The extractive model
answers, over vectors drawn from hashes of the sentences, which takes no time and says nothing. Ten
minutes on two quiet cores for twenty meetings.
"""

import json
import os
import shutil
import tempfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from benchmarks import Measurement, required
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.importers import import_benchmark
from gsum_assets.tables import TABLES
from gsum_resources.appended import read_appended
from gsum_resources.home import Home
from gsum_resources.instance import open_instance
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.models import Models
from gsum_resources.parquet_store import ParquetStore, Partition
from gsum_resources.settings import Settings
from gsum_resources.table import Table
from tests.models import HashEmbedder

LEAST = 8  # the change edits one of the first and deletes another
CORPUS = "meetings"
ASSETS = (
    "graphrag/extractions",
    "graphrag/entities",
    "graphrag/relationships",
    "graphrag/community_reports",
)
_LEFT_OUT = ("llm_calls", "embedding_calls", "source_documents")  # what happened, not what is


class Change(NamedTuple):
    """A change of the folder, and the requests of the next run to the language model."""

    name: str
    calls: Counter[str]


def measure(n_meetings: int) -> Measurement:
    """Return one row a change, one column an asset.

    Parameters
    ----------
    n_meetings : indexed at first, at least `LEAST`.
    """
    os.environ.pop("GSUM_DATASETS", None)
    with tempfile.TemporaryDirectory() as root:
        meetings = _meetings(Path(root), n_meetings + 1)
        home = _home(Path(root, "home"))
        folder = home.corpora / CORPUS
        folder.mkdir(parents=True)
        for name, text in list(meetings.items())[:n_meetings]:
            (folder / name).write_text(text)
        names = list(meetings)
        added, edited, deleted = names[n_meetings], names[5], names[7]
        middle = len(meetings[edited]) // 2
        text = meetings[edited]
        changes: list[tuple[str, Callable[[], object]]] = [
            (f"{n_meetings} meetings, first run", lambda: None),
            ("one meeting added", lambda: (folder / added).write_text(meetings[added])),
            (
                "one sentence put into another",
                lambda: (folder / edited).write_text(
                    f"{text[:middle]} The budget is four hundred euros. {text[middle:]}"
                ),
            ),
            ("one deleted", (folder / deleted).unlink),
        ]
        done: list[Change] = []
        for name, change in changes:
            change()
            done.append(Change(name, _calls_of_run(home)))
        again = _home(Path(root, "again"))
        shutil.copytree(folder, again.corpora / CORPUS)
        done.append(Change("the same from nothing", _calls_of_run(again)))
        different = _different(home, again)
    rows = []
    for change in done:
        counts = [*(change.calls[name] for name in ASSETS), sum(change.calls.values())]
        share = f"{sum(change.calls.values()) / sum(done[-1].calls.values()):.0%}"
        rows.append([change.name, *(f"{n:,}" for n in counts), share])
    return Measurement(
        "Calls of the language model after each change of a folder",
        f"QMSum val; extractive model over random vectors. Tables that differ from a rebuild: "
        f"{', '.join(different) or 'none'}.",
        ["change", *(name.split("/")[1] for name in ASSETS), "all", "of a rebuild"],
        rows,
    )


def _home(root: Path) -> Home:
    os.environ["GSUM_HOME"] = str(root)
    return Home.from_environment()


def _meetings(root: Path, n: int) -> dict[str, str]:
    """Texts of the first meetings of the validation split, by file name."""
    import_benchmark("qmsum", required("qmsum"), root / "imported", "qmsum")
    lines = (root / "imported" / "qmsum" / "documents.jsonl").read_text().splitlines()
    rows = sorted((json.loads(line) for line in lines), key=lambda row: row["document_id"])
    return {f"{row['document_id']}.txt": row["text"] for row in rows[:n]}


def _calls_of_run(home: Home) -> Counter[str]:
    """Bring the corpus up to date, and count the calls that no memo answered."""
    # these read the environment when imported, where GSUM_DATASETS is no setting of gsum's own
    from gsum_assets.definitions import pipeline_for
    from gsum_assets.run import refresh

    before = _calls(home)
    store, embedder = ParquetStore(home.warehouse), HashEmbedder()
    models = Models(
        Settings(),
        store,
        TABLES["llm_calls"],
        {"language_model": ExtractiveModel(embedder), "embedding_model": embedder},
    )
    pipeline = pipeline_for(home, models)
    with open_instance(home) as instance:
        report = refresh(pipeline, instance, CORPUS, ["graphrag-c0"])
    if not report.is_complete:
        raise RuntimeError(f"{home.root}: {[*report.errors, *report.gaps][0]}")
    return _calls(home) - before


def _calls(home: Home) -> Counter[str]:
    store = ParquetStore(home.warehouse)
    rows = read_appended(store, TABLES["llm_calls"], CORPUS)
    columns = (rows[name].to_pylist() for name in ("asset", "cached"))
    return Counter(asset for asset, cached in zip(*columns, strict=True) if not cached)


def _different(one: Home, other: Home) -> list[str]:
    """Tables whose content differs between two homes."""
    stores = [ParquetStore(home.warehouse) for home in (one, other)]
    return [
        name
        for name, table in TABLES.items()
        if name not in _LEFT_OUT and _hashes(stores[0], table) != _hashes(stores[1], table)
    ]


def _hashes(store: ParquetStore, table: Table) -> dict[Partition, str]:
    partitions = store.partitions(table, CORPUS)
    footers = {p: store.provenance(table, p) for p in partitions}
    return {p: footer.content_hash for p, footer in footers.items() if footer}


def main() -> None:
    """Count, print and store."""
    parser = parser_of(__doc__)
    parser.add_argument("--meetings", type=int, default=20, help=f"indexed at first, from {LEAST}")
    chosen = parser.parse_args()
    if chosen.meetings < LEAST:
        parser.error(f"--meetings {chosen.meetings}: give at least {LEAST}")
    publish("graphrag-incremental", measure(chosen.meetings), chosen.store)


if __name__ == "__main__":
    main()
