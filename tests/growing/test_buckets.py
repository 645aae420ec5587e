"""A corpus of 16 buckets has the tables of one of 8, and is updated as exactly."""

import shutil
from pathlib import Path

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import content_hash
from tests.growing.choices import FAMILIES, QUESTIONS, SMALL
from tests.growing.folders import Entry, Folder
from tests.growing.home import Chosen, HomeFolder, copy_given, due_steps, refresh_steps
from tests.pipeline.homes import LEDGERS
from tests.tales import tale

pytestmark = pytest.mark.slow

CORPUS = "tales"
N_DOCUMENTS = 12
METHODS = [methods[0] for methods in FAMILIES.values()]


@pytest.fixture(autouse=True)
def without_dagster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DAGSTER_HOME", "")


def grown(
    root: Path, n_buckets: int, trained_by: HomeFolder | None = None
) -> tuple[HomeFolder, Folder]:
    """Return a home with the tables of one method of each family, and its corpus folder.

    With the trained state of an edited home, its folder is edited, too.
    """
    target = HomeFolder(root)
    folder = Folder(target.home.corpora / CORPUS)
    for i in range(N_DOCUMENTS):
        folder.put(Entry("row" if i % 3 == 2 else "txt", f"tale-{i}"), tale(i, 3))
    folder.questions(QUESTIONS[1])
    folder.settings({"": {"buckets": n_buckets, "methods": METHODS}, **SMALL})
    if trained_by:
        edit(folder)
        copy_given(target, trained_by, CORPUS)
    refresh_steps(target.pipeline(Chosen()), CORPUS)
    return target, folder


def edit(folder: Folder) -> None:
    """Change a document and delete another."""
    folder.put(Entry("txt", "tale-3"), tale(99, 3))
    folder.remove(Entry("row", "tale-5"))


def without_buckets(target: HomeFolder) -> dict[str, str]:
    """Content hash of every table without the column `bucket`, rows ordered by key."""
    found = {}
    for name, table in TABLES.items():
        if name not in LEDGERS:
            rows = target.store.read(table, target.store.partitions(table, CORPUS))[0]
            dimensions = [d for d in table.dimensions if d != "bucket"]
            hidden = ["bucket", *(["content_hash"] if name.endswith(".index") else [])]  # of files
            rows = rows.select([c for c in rows.column_names if c not in hidden])
            rows = rows.sort_by([(key, "ascending") for key in (*dimensions, *table.key)])
            found[name] = content_hash(rows.combine_chunks(), table.ignored_by_hash)
    return found


def test_edited_tables_are_those_of_a_rebuild_with_8_buckets(tmp_path: Path) -> None:
    many, folder = grown(tmp_path / "many", 16)
    pipeline, chunks = many.pipeline(Chosen()), TABLES["chunks"]
    assert len(many.store.partitions(chunks, CORPUS)) == 16
    assert not due_steps(pipeline, CORPUS)
    edit(folder)
    refresh_steps(pipeline, CORPUS)
    few, _ = grown(tmp_path / "few", 8, many)
    assert len(few.store.partitions(chunks, CORPUS)) == 8
    assert without_buckets(many) == without_buckets(few)
    shutil.rmtree(tmp_path)
