"""`evidence` as assets: passages within the budget, and a choice that can be explained."""

from collections.abc import Iterator

import pytest

from gsum_resources.store.arrow import pc
from tests.conftest import House, written_by
from tests.families.small import DOCUMENTS, home_of
from tests.pipeline.homes import copy_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


@pytest.fixture(scope="module")
def indexed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with home_of("evidence", tmp_path_factory.mktemp("evidence")) as house:
        yield house


def n_passages(house: House, method: str) -> list[int]:
    """The number of passages that a method reads for each question."""
    contexts = house.table("contexts")
    mine = contexts.filter(pc.equal(contexts["method"], method))
    return mine["query_id"].value_counts().field("counts").to_pylist()


def test_only_a_fixed_number_of_passages_is_k(indexed: House) -> None:
    assert n_passages(indexed, "evidence-fixed-k") == [2, 2]
    assert n_passages(indexed, "evidence") != [2, 2]


def test_changes_embed_their_sentences_and_a_budget_changes_the_contexts_alone(
    indexed: House, tmp_path_factory: pytest.TempPathFactory
) -> None:
    with copy_of(indexed, tmp_path_factory.mktemp("changed")) as house:
        house.write_document(DOCUMENTS[2], "A lamp met a clerk by the river. " * 20)
        (house.folder / f"{DOCUMENTS[3]}.txt").unlink()
        assert written_by(house.run())["evidence/sentences"] == "2 of 8 buckets"
        file = house.folder / "corpus.toml"
        file.write_text(file.read_text() + "[evidence.contexts]\nmax_tokens = 1\n")
        written = house.run().written
        assert "evidence/contexts" in written
        assert not [name for name in written if "rankings" in name or "sentences" in name]
        assert n_passages(house, "evidence") == n_passages(house, "evidence-no-graph") == [1, 1]
