"""A corpus of 32 buckets beside one of 8: blocks of bounded size, an edit, and forgetting."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.corpus.buckets import Buckets
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.refresh import step
from gsum_assets.refresh.forget import forget_corpus
from gsum_assets.runner.forget import forget
from tests.conftest import CORPUS, House, document_in, text_of, written_by
from tests.pipeline.homes import copy_of, due, furnish, house_at

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]

MANY, N = "many", 32
AT_ONCE = 12


@pytest.fixture(scope="module")
def grown(
    tmp_path_factory: pytest.TempPathFactory, only_tables: None
) -> Iterator[tuple[House, list[int]]]:
    """A home with both corpora, and how many buckets of chunks of the larger one at once."""
    sizes, computed = [], step._computed

    def noted(reader: step.StepReader) -> step.Result:
        if reader.declared.name == "chunks":
            sizes.append(len(reader.files))
        return computed(reader)

    with house_at(tmp_path_factory.mktemp("grown")) as house, pytest.MonkeyPatch.context() as patch:
        (house.home.root / "gsum.toml").write_text(f"[automation]\nbuckets_per_run = {AT_ONCE}\n")
        for corpus in (CORPUS, MANY):
            furnish(house, corpus)
        settings = house.home.corpora / MANY / "corpus.toml"
        settings.write_text(f"buckets = {N}\n{settings.read_text()}")
        assert house.run(["bm25"]).is_complete
        patch.setattr(step, "_computed", noted)
        assert house.run(["bm25"], MANY).is_complete
        yield house, sizes


@pytest.fixture
def house(grown: tuple[House, list[int]], tmp_path: Path) -> Iterator[House]:
    with copy_of(grown[0], tmp_path) as copy:
        yield copy


def test_a_step_takes_a_bounded_number_of_buckets_at_once(grown: tuple[House, list[int]]) -> None:
    house, sizes = grown
    assert sizes == [12, 12, 8]
    assert len(house.store.partitions(TABLES["chunks"], MANY)) == N
    assert len(house.store.partitions(TABLES["chunks"], CORPUS)) == 8
    assert due(house) == due(house, MANY) == []


def test_an_edit_writes_one_bucket_of_each(house: House) -> None:
    for corpus, n in ((CORPUS, 8), (MANY, N)):
        file = house.home.corpora / corpus / f"{document_in(0)}.txt"
        file.write_text(text_of("another"))
        report = house.run(corpus=corpus)
        assert report.is_complete
        assert written_by(report)["documents"] == f"1 of {n} buckets"
        assert text_of("another") in house.table("documents", corpus)["text"].to_pylist()


def test_forget_leaves_nothing_of_a_document(house: House) -> None:
    document_id = document_in(3)
    with house.instance() as instance:
        report = forget(house.pipeline(), instance, MANY, document_id)
    assert report.problem is None
    assert not report.leftovers
    assert document_id not in house.table("chunks", MANY)["document_id"].to_pylist()
    assert document_id in house.table("chunks", CORPUS)["document_id"].to_pylist()


def test_forgotten_corpus_takes_its_buckets_with_it(house: House) -> None:
    forget_corpus(house.workspace, MANY)
    assert not house.store.partitions(TABLES["chunks"], MANY)
    assert Buckets(house.store).of(MANY) == 8
