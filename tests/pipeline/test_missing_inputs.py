"""A table that was never written is missing, and only one that was written empty is empty."""

import pytest

from gsum_assets.corpus import observe
from gsum_assets.pipeline.tables import table_of
from gsum_assets.refresh.inputs import Run
from gsum_assets.refresh.step import refresh_step
from gsum_assets.registry.declared import ORDERED
from gsum_resources.store.partition import StoreError
from tests.conftest import CORPUS, House

BY_NAME = {declared.name: declared for declared in ORDERED}


@pytest.mark.parametrize(
    ("step", "missing"),
    [
        ("documents", "source_documents of 'tales' were never made (8 of 8 bu"),
        ("chunks", "documents of 'tales' were never made (8 of 8 buckets)"),
        ("graphrag/entities", "graphrag.entity_mentions of 'tales' were never made (8 of 8"),
        ("leaderboard", "scores and summaries of 'tales' were never made for any method"),
        ("judgements", "summaries and "),
    ],
)
def test_step_without_its_inputs_fails_and_names_them(
    house: House, step: str, missing: str
) -> None:
    declared, methods = BY_NAME[step], ["bm25", "graphrag-c0"]
    if declared.for_questions:  # of which there must be some
        observe.sources(house.store, house.home.corpora, CORPUS)
        for before in ORDERED:
            if before.group == "corpus":
                refresh_step(house.workspace, before, CORPUS, methods, Run())
    with pytest.raises(StoreError, match="`gsum run tales`") as raised:
        refresh_step(house.workspace, declared, CORPUS, methods, Run())
    assert missing in str(raised.value)
    assert not house.store.partitions(table_of(declared.path(declared.step.table)))


def test_steps_of_questions_are_not_due_before_questions_are_read(house: House) -> None:
    observe.sources(house.store, house.home.corpora, CORPUS)
    done = refresh_step(
        house.workspace, BY_NAME["retrieval/rankings"], CORPUS, ["bm25"], Run(force=True)
    )
    assert (done.needed, done.written) == ([], [])
