"""Passage graphs as assets: materialized on request, and after a change only what it affects."""

from collections.abc import Iterator, Sequence

import duckdb
import numpy as np
import pytest

from gsum_resources.protocols.models import OnRow
from gsum_resources.scoring.unigram import UnigramScorer
from tests.conftest import House, document_in, text_of, written_by
from tests.families.small import DOCUMENTS, home_of
from tests.lightpal.toys import ends_of, pairs_of
from tests.pipeline.homes import copy_of

pytestmark = pytest.mark.slow

NEW = document_in(6)


class CountingScorer(UnigramScorer):
    """Records the requested pairs; `mute` words get no score."""

    def __init__(self, mu: float = 1000.0, mute: str = "") -> None:
        super().__init__(mu)
        object.__setattr__(self, "pairs", [])
        object.__setattr__(self, "mute", mute)

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        rows = super().score(contexts, candidates)
        for index, (context, texts) in enumerate(zip(contexts, candidates, strict=True)):
            self.pairs.extend((context, text) for text in texts)
            if self.mute and self.mute in context:
                rows[index][:] = np.nan
            if on_row:
                on_row(index, rows[index])
        return rows


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with home_of("lightpal", tmp_path_factory.mktemp("passages")) as house:
        yield house


@pytest.fixture
def changeable(indexed: House, tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        house.scorer = CountingScorer()
        yield house


def scored_rows(house: House) -> set[tuple[str, ...]]:
    """The texts of each passage and its candidates."""
    texts = {row["chunk_id"]: row["text"] for row in house.table("chunks").to_pylist()}
    texts |= {row["document_id"]: row["text"] for row in house.table("documents").to_pylist()}
    found: dict[tuple[str, str], list[str]] = {}
    for row in pairs_of(house.table("lightpal.candidates")):
        row_of = found.setdefault((row["level"], row["passage_id"]), [texts[row["passage_id"]]])
        row_of.append(texts[row["candidate_id"]])
    return set(map(tuple, found.values()))


def scores_in(house: House) -> list[float | None]:
    tables = map(house.table, ("lightpal.candidates", "lightpal.context_scores"))
    return [pair["value"] for pair in pairs_of(*tables)]


def test_views_have_a_row_for_each_pair_and_edge(indexed: House) -> None:
    def rows(query: str) -> set[tuple]:
        with duckdb.connect(str(indexed.home.catalogue), read_only=True) as connection:
            return set(connection.sql(query).fetchall())

    found = indexed.table("lightpal.candidates")
    pairs, scored = pairs_of(found), pairs_of(found, indexed.table("lightpal.context_scores"))
    names = ("level", "passage_id", "candidate_id", "rank", "value")
    expected = {
        (*(pair[name] for name in names), score["value"])
        for pair, score in zip(pairs, scored, strict=True)
    }
    assert expected
    columns = "level, passage_id, candidate_id, rank, similarity, score"
    assert rows(f"select {columns} from lightpal.pairs") == expected
    ids = {pair["passage_id"] for pair in pairs}
    edges = ends_of(indexed.table("lightpal.passage_edges"), ids)
    columns = "graph, level, scope, source_id, target_id, rank, weight"
    expected = {tuple(edge[name] for name in columns.split(", ")) for edge in edges}
    assert expected
    assert rows(f"select {columns} from lightpal.edges") == expected


@pytest.mark.usefixtures("only_tables_here")
def test_new_document_scores_only_changed_lists(changeable: House) -> None:
    house = changeable
    known = scored_rows(house)
    house.write_document(NEW, text_of(NEW, 5))
    assert house.run().is_complete
    rows = scored_rows(house)
    assert len(house.scorer.pairs) == sum(len(row) - 1 for row in rows - known)
    assert 0 < len(house.scorer.pairs) < sum(len(row) - 1 for row in rows)


@pytest.mark.usefixtures("only_tables_here")
def test_trust_is_estimated_again_when_the_graph_doubles_or_settings_change(
    changeable: House,
) -> None:
    house, trust = changeable, "lightpal/walk_trust"
    house.write_document(DOCUMENTS[2], text_of("another", 6))
    edited = house.run().written
    assert "lightpal/passage_edges" in edited
    assert trust not in edited
    for number in range(9):
        house.write_document(f"{NEW}-{number}", text_of(f"{NEW}-{number}", 5))
    assert trust in house.run().written
    file = house.folder / "corpus.toml"
    file.write_text(file.read_text().replace("n_probes = 20", "n_probes = 21"))
    assert trust in house.run().written
    house.scorer = CountingScorer(mu=50.0)
    assert trust in house.run().written


@pytest.mark.usefixtures("only_tables_here")
def test_setting_affects_only_the_methods_that_read_it(changeable: House) -> None:
    file = changeable.folder / "corpus.toml"
    file.write_text(f"{file.read_text()}[lightpal.retrieval]\nalpha = 0.9\n")
    written = written_by(changeable.run())["lightpal/rankings"]
    assert "passage_walk" not in written
    assert "(of 3)" in written


@pytest.mark.usefixtures("only_tables_here")
def test_pairs_without_a_score_are_requested_again(changeable: House) -> None:
    house = changeable
    house.scorer = CountingScorer(mu=60.0, mute=DOCUMENTS[3])
    report = house.run()
    assert not report.errors
    assert not report.is_complete
    assert None in scores_in(house)
    house.scorer = CountingScorer(mu=60.0)
    assert house.run().is_complete
    assert None not in scores_in(house)
    mute = {context for context, _ in house.scorer.pairs}
    assert mute
    assert all(DOCUMENTS[3] in context for context in mute)
