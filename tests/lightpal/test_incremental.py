"""The index steps after an edit: they reuse what they stored, and equal a run in an empty store."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.graphs import nearest_again
from gsum_assets.lightpal import index, passage_edges
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.earlier_edges import hashes_of_lists
from gsum_assets.lightpal.index import INDEX
from gsum_assets.lightpal.lists import lists_of, scores_of_lists
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_resources.scoring.unigram import UnigramScorer
from gsum_resources.store.input_key import section_version
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance
from tests.lightpal.test_earlier import CHANGES, SIZES, a_collection
from tests.lightpal.toys import TableScorer

CORPUS = "tales"
STEPS = INDEX[:3]  # candidates, context scores, edges


class Sections:
    """Settings of the corpus."""

    def __init__(self, **graph: int) -> None:
        self.values = {"lightpal.graph": {"n_candidates": 8, "n_edges": 3, **graph}}

    def section(self, _: str, name: str) -> Mapping[str, int]:
        return self.values.get(name, {})


class Scorer(TableScorer):
    """Counts the passages that it scores."""

    def __init__(self) -> None:
        super().__init__(lambda context, text: len(context) - sum(text.encode()) / 64)
        self.n_scored = 0

    def score(self, contexts, candidates, on_row=None):
        self.n_scored += len(contexts)
        return super().score(contexts, candidates, on_row)


class Corpus:
    """Runs the steps as Dagster does: their rows are stored with what they depend on."""

    def __init__(self, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store, self.scorer, self.n_chosen = ParquetStore(str(root)), Scorer(), 0
        of_block = passage_edges._of_block

        def counted(*given):
            self.n_chosen += len(given[-1])
            return of_block(*given)

        monkeypatch.setattr(passage_edges, "_of_block", counted)

    def run(self, collection: Collection, sections: Sections | None = None) -> dict[str, pa.Table]:
        sections = sections or Sections()
        assert collection.embeddings is not None
        self.scorer.n_scored = self.n_chosen = 0
        lengths = np.diff(collection.starts)
        tables: dict = {
            "documents": {
                "document_id": collection.document_ids,
                "text": collection.document_texts,
            },
            "chunks": {
                "chunk_id": collection.chunk_ids,
                "document_id": np.repeat(collection.document_ids, lengths),
                "position": np.concatenate([np.arange(n) for n in lengths]),
                "start": np.zeros(lengths.sum(), int),
                "text": collection.chunk_texts,
            },
            "chunk_embeddings": {
                "chunk_id": collection.chunk_ids,
                "embedding": vector_column(collection.embeddings),
            },
        }
        inputs = Inputs({SETTINGS: sections}, CORPUS, store=self.store).with_tables(
            {name: pa.table(columns) for name, columns in tables.items()}
            | {"passage_scorer": self.scorer}
        )
        depends_on = {"model:passage_scorer": self.scorer.identity}
        for name in ("lightpal.graph", "lightpal.neighbours"):
            depends_on[f"settings:{name}/corpus={CORPUS}"] = section_version(
                sections.section(CORPUS, name)
            )
        rows = {}
        for step in STEPS:
            table = TABLES[f"lightpal.{step.table}"]
            given = replace(inputs.with_tables(rows), code_version=step.code_version)
            rows[step.table] = step.result(given).rows
            written = Provenance("", code_version_of(table, step.code_version), depends_on)
            self.store.write(table, Partition(CORPUS), rows[step.table], written)
        return rows


@pytest.mark.parametrize("change", CHANGES)
def test_steps_compute_what_changed_and_equal_a_rebuild(
    change: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAPPED_FROM", 1)
    now = CHANGES[change]
    n_passages = len(now.chunk_ids) + len(now.document_ids)
    rebuilt = Corpus(tmp_path / "rebuilt", monkeypatch)
    expected = rebuilt.run(now)
    assert (rebuilt.scorer.n_scored, rebuilt.n_chosen) == (n_passages, n_passages)
    edited = Corpus(tmp_path / "edited", monkeypatch)
    edited.run(a_collection(SIZES))
    with monkeypatch.context() as patched:
        patched.setattr(nearest_again, "nearest", None)  # not all pairs are compared
        found = edited.run(now)
    assert {name: rows.to_pylist() for name, rows in found.items()} == {
        name: rows.to_pylist() for name, rows in expected.items()
    }
    assert edited.scorer.n_scored < n_passages
    assert edited.n_chosen < n_passages
    if change == "nothing":
        assert edited.scorer.n_scored == edited.n_chosen == 0


def test_another_scorer_or_setting_computes_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index, "MAPPED_FROM", 1)
    then = a_collection(SIZES)
    n_passages = len(then.chunk_ids) + len(then.document_ids)
    corpus = Corpus(tmp_path, monkeypatch)
    corpus.run(then)
    corpus.scorer.identity = "another"
    corpus.run(then)
    assert (corpus.scorer.n_scored, corpus.n_chosen) == (n_passages, 0)
    corpus.run(then, Sections(n_edges=2))
    assert (corpus.scorer.n_scored, corpus.n_chosen) == (0, n_passages)


def test_other_scores_are_another_list() -> None:
    collection = a_collection(SIZES)
    rows = candidates(collection, 8)
    lists = lists_of(rows, collection, "similarities")
    scores = scores_of_lists(context_scores(rows, collection, UnigramScorer()), lists)
    before = hashes_of_lists(lists, scores)
    other = scores["node"].copy()
    other[3, 2] += 1e-9
    after = hashes_of_lists(lists, {**scores, "node": other})
    assert np.flatnonzero(before["node"] != after["node"]).tolist() == [3]
    assert np.array_equal(before["document"], after["document"])
