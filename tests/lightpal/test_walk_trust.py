"""How far a graph is trusted: one that joins what belongs together, and one that does not."""

from functools import cache

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.lightpal.passage_graph import PassageGraphs
from gsum_assets.lightpal.settings import WalkSettings
from gsum_assets.lightpal.walk_trust import walk_trust
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval import held_out as module
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.held_out import Evidence, trust
from gsum_assets.retrieval.ranking import Retriever, Scores
from gsum_resources.store.arrow import pc
from tests.gor.toy_documents import shuffled
from tests.lightpal.toys import (
    EMPTY,
    Tables,
    documents_of,
    edge_table,
    edges_of,
    ends_of,
    topic_tables,
)


@cache
def topics() -> Collection:
    """60 documents of 10 topics, 3 chunks each."""
    return Collection.from_tables(*topic_tables(10, 6, 3))


@cache
def books() -> Collection:
    """4 documents, each of 30 chunks about 6 topics."""
    _, chunks, vectors = topic_tables(6, 4, 5)
    owners = [f"book{row[-1]}" for row in chunks["document_id"].to_pylist()]
    chunks = chunks.set_column(1, "document_id", pa.array(owners))
    chunks = chunks.set_column(2, "position", pa.array(range(chunks.num_rows)))
    return Collection.from_tables(documents_of(chunks), chunks, vectors)


def judged(
    collection: Collection, edges: pa.Table, settings: WalkSettings | None = None
) -> dict[tuple[str, str], dict]:
    """Rows of `walk_trust` by level and scope."""
    graphs = PassageGraphs.of(edges, "walk", both_ways=True)
    rows = walk_trust(collection, graphs, "en", settings or WalkSettings())
    assert rows.schema.equals(TABLES["lightpal.walk_trust"].schema)
    return {(row["level"], row["scope"]): row for row in rows.to_pylist()}


def with_random_targets(edges: pa.Table, collection: Collection) -> pa.Table:
    """The same edges, their targets redrawn among those of the same level and scope."""
    random = np.random.default_rng(0)
    owners = np.repeat(np.array(collection.document_ids), np.diff(collection.starts)).tolist()
    owner = dict(zip(collection.chunk_ids, owners, strict=True))
    groups: dict[tuple, list[int]] = {}
    rows = ends_of(edges, [*collection.chunk_ids, *collection.document_ids])
    for i, row in enumerate(rows):
        within = owner[row["source_id"]] if row["scope"] == "document" else ""
        groups.setdefault((row["graph"], row["level"], within), []).append(i)
    order = np.arange(len(rows))
    for indices in groups.values():
        order[indices] = random.permutation(indices)
    targets = [rows[other]["target_id"] for other in order]
    return edge_table({**row, "target_id": to} for row, to in zip(rows, targets, strict=True))


def test_topical_edges_are_trusted_and_random_ones_are_not():
    edges = edges_of(topics())
    good, poor = judged(topics(), edges), judged(topics(), with_random_targets(edges, topics()))
    for level in ("document", "node"):
        assert good[level, "corpus"]["trust"] > 0.95
        assert good[level, "corpus"]["walk_evidence"] > good[level, "corpus"]["seed_evidence"]
        assert poor[level, "corpus"]["trust"] < 0.05
        assert good[level, "corpus"]["n_probes"] == 180
    # three chunks are too few to judge a document by
    assert good["node", "document"]["trust"] == good["node", "document"]["n_probes"] == 0


def test_trust_within_documents():
    edges = edges_of(books(), 119)
    good, poor = judged(books(), edges), judged(books(), with_random_targets(edges, books()))
    assert good["node", "document"]["trust"] > 0.95
    assert good["node", "document"]["n_probes"] == 120
    assert poor["node", "document"]["trust"] < 0.05
    # four documents are too few
    assert good["document", "corpus"]["trust"] == good["document", "corpus"]["n_probes"] == 0


@pytest.mark.parametrize("here", [EMPTY, topics().document(0)])
def test_too_few_passages_are_insufficient(here):
    rows = judged(here, edges_of(here))
    assert list(rows) == [("document", "corpus"), ("node", "corpus"), ("node", "document")]
    for row in rows.values():
        assert [row[n] for n in ("n_probes", "walk_evidence", "seed_evidence", "trust")] == [0] * 4


def test_walk_without_edges_equals_the_seeds():
    row = judged(topics(), edges_of(topics()).slice(0, 0))["node", "corpus"]
    assert row["walk_evidence"] == pytest.approx(row["seed_evidence"])


def test_blocks_of_held_out_passages_give_the_same_trust(monkeypatch):
    here = topics()
    graphs = PassageGraphs.of(edges_of(here), "walk", both_ways=True)
    expected = walk_trust(here, graphs, "en", WalkSettings())
    monkeypatch.setattr(module, "_SCORES_AT_ONCE", 3 * len(here.chunk_ids))
    assert len(list(module.held_out(here, "en", 300))) > 3
    found = walk_trust(here, graphs, "en", WalkSettings())
    for name in ("n_probes", "walk_evidence", "seed_evidence", "trust"):
        np.testing.assert_allclose(found[name], expected[name], atol=1e-6)


def test_edges_may_be_dictionaries():
    here, edges = topics(), edges_of(topics())
    expected = walk_trust(here, PassageGraphs.of(edges, "walk", True), "en", WalkSettings())
    texts = [f.name for f in edges.schema if pa.types.is_string(f.type)]
    for name in texts:
        chunks = [edges[name].slice(at, 50).combine_chunks() for at in range(0, len(edges), 50)]
        encoded = pa.chunked_array([pc.dictionary_encode(chunk) for chunk in chunks])
        edges = edges.set_column(edges.column_names.index(name), name, encoded)
    assert walk_trust(here, PassageGraphs.of(edges, "walk", True), "en", WalkSettings()).equals(
        expected
    )


def test_trust_known_values():
    def of(*differences: float) -> float:
        return trust(Evidence(np.array(differences), np.zeros(len(differences))))

    assert of(1.0, 3.0) == pytest.approx(0.97725, abs=1e-5)  # 2 standard errors above 0
    assert of(-1.0, -3.0) == pytest.approx(0.02275, abs=1e-5)
    assert of(1.0, -1.0) == pytest.approx(0.5)
    assert (of(0.5, 0.5), of(0.0, 0.0), of(-0.5, -0.5)) == (1.0, 0.5, 0.0)
    assert of(5.0) == of() == 0.0  # of one passage nothing follows


class Listening:
    """A retriever that records its queries."""

    def __init__(self, collection: Collection, texts: list[str]) -> None:
        self._shape = (len(collection.chunk_ids), len(collection.document_ids))
        self._texts = texts

    def scores(self, questions: Questions) -> Scores:
        self._texts += questions.texts
        return Scores(*(np.zeros((len(questions), n)) for n in self._shape))


def probes(tables: Tables, monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """Texts that are searched for, of 20 probes."""
    texts: list[str] = []

    def retrievers(collection: Collection, language: str) -> tuple[Retriever, Retriever]:
        return Listening(collection, texts), Listening(collection, [])

    monkeypatch.setattr(module, "lexical_and_dense", retrievers)
    here = Collection.from_tables(*tables)
    graphs = PassageGraphs.of(TABLES["lightpal.passage_edges"].empty(), "walk", both_ways=True)
    walk_trust(here, graphs, "en", WalkSettings(n_probes=20))
    return set(texts)


def test_new_document_replaces_few_probes(monkeypatch):
    whole = topic_tables(10, 6, 3)
    before = [t.filter(pc.not_equal(t["document_id"], "d00-00")) for t in whole]
    with_document, without = probes(whole, monkeypatch), probes(tuple(before), monkeypatch)
    assert len(with_document) == len(without) == 20
    assert len(without - with_document) <= 3  # no more than it has chunks


def test_row_order_does_not_matter():
    turned = Collection.from_tables(*(shuffled(table) for table in topic_tables(10, 6, 3)))
    edges = edges_of(topics())
    assert judged(turned, shuffled(edges)) == judged(topics(), edges)
