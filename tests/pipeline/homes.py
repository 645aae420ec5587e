"""Homes that several tests share, and copies that one test may change."""

import json
import os
import shutil
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh.staleness import Staleness
from gsum_assets.registry.families import METHODS
from gsum_resources.settings.home import Home
from gsum_resources.store.appended import read_appended
from gsum_resources.store.content_hash import content_hash
from tests.conftest import CORPUS, House, document_in

GOOD, BAD = document_in(0), document_in(3)
LEDGERS = ("llm_calls", "embedding_calls")  # tables of requests, not of results
WITHOUT_BERTSCORE = "[scores]\nbertscore = false\n"
"""For runs that are not about scores: loading the model would take longer than the run."""


@contextmanager
def house_at(root: Path) -> Iterator[House]:
    """The house at `root`, with a Dagster instance of its own while the context lasts."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("GSUM_HOME", str(root))
        patch.setenv("DAGSTER_HOME", str(root / "dagster"))
        patch.delenv("GSUM_WAREHOUSE", raising=False)
        house = House(Home.from_environment())
        house.folder.mkdir(parents=True, exist_ok=True)
        yield house


@contextmanager
def copy_of(house: House, root: Path) -> Iterator[House]:
    """An equal house at `root`, with the same models: cheaper than to index one more."""
    shutil.copytree(house.home.root, root, dirs_exist_ok=True)
    with house_at(root) as copy:
        copy.embedder, copy.model, copy.scorer = house.embedder, house.model, house.scorer
        yield copy


@contextmanager
def emptied_copy_of(house: House, root: Path) -> Iterator[House]:
    """A house at `root` with the same models, documents and settings, and no table yet."""
    with house_at(root) as fresh:
        fresh.embedder, fresh.model, fresh.scorer = house.embedder, house.model, house.scorer
        shutil.copytree(house.folder, fresh.folder, dirs_exist_ok=True)
        yield fresh


def furnish(house: House, corpus: str = CORPUS) -> None:
    """Three documents, two of them in one bucket, and a question on the first and on the last."""
    folder = house.home.corpora / corpus
    folder.mkdir(parents=True, exist_ok=True)
    for document_id in (GOOD, document_in(0, 1), BAD):
        (folder / f"{document_id}.txt").write_text(f"A boat of {corpus} met {document_id}. " * 30)
    write_lines(
        folder / "queries.jsonl",
        [
            {"query_id": d, "text": "Who met the boat?", "document_id": d, "references": ["It."]}
            for d in (GOOD, BAD)
        ],
    )
    (folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)


def write_lines(file: Path, rows: list[dict | str]) -> None:
    """Write one line per row: a dict as JSON, a string unchanged."""
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    file.write_text("".join(f"{line}\n" for line in lines))


def settle(folder: Path) -> None:
    """Date files back, as if they had been written a minute ago: no sensor waits for them."""
    then = time.time() - 60
    for file in folder.rglob("*"):
        os.utime(file, (then, then))


def requests_by_asset(house: House) -> Counter[str]:
    """Requests that a model answered, by asset."""
    rows = read_appended(house.store, TABLES["llm_calls"], CORPUS)
    columns = (rows[name].to_pylist() for name in ("asset", "cached"))
    return Counter(asset for asset, cached in zip(*columns, strict=True) if not cached)


def due(house: House, corpus: str = CORPUS) -> list[str]:
    """The names of the steps that are stale."""
    methods = METHODS.wanted(house.home.corpora, corpus)
    return [step.name for step in Staleness(house.workspace, corpus, frozenset(methods)).due()]


def contents(house: House, corpus: str = CORPUS) -> dict[str, str]:
    """Content hash of every table, rows in a fixed order, measured columns left out."""
    found = {}
    for name, table in TABLES.items():
        if name in LEDGERS:
            continue
        rows = house.table(name, corpus)
        keys = [(key, "ascending") for key in (*table.dimensions, *table.key)]
        found[name] = content_hash(rows.sort_by(keys).combine_chunks(), table.ignored_by_hash)
    return found
