"""Which files a corpus needs of each step, and which of them are stale."""

import pytest

from gsum_assets.refresh.staleness import Staleness, possible
from gsum_assets.registry.declared import ORDERED, STEPS
from gsum_assets.registry.families import FAMILIES
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, House, document_in
from tests.models import HashEmbedder
from tests.refresh.steps import BY_NAME, look, refresh_due, staleness


def names(steps: list) -> list[str]:
    return [declared.name for declared in steps]


def test_every_step_is_behind_those_that_it_depends_on() -> None:
    assert sorted(names(ORDERED)) == sorted(names(STEPS))
    written = set()
    known = {asset for declared in STEPS for asset in declared.assets}
    for declared in ORDERED:
        assert {*declared.read_assets} & known <= written, declared.name
        written.update(declared.assets)
    assert {f"{family.name}/index" for family in FAMILIES} <= written


def test_new_corpus_needs_every_step_of_its_methods_and_no_other(house: House) -> None:
    look(house)
    due = staleness(house, "bm25").due()
    assert {"documents", "chunks", "queries", "retrieval/rankings", "leaderboard"} <= {*names(due)}
    assert not [d.name for d in due if d.group not in ("corpus", "evaluation", "retrieval")]


def test_files_are_buckets_methods_or_one(small: House) -> None:
    of = staleness(small, "bm25", "dense")
    assert of.files(BY_NAME["chunks"]) == [Partition(CORPUS, f"0{i}") for i in range(8)]
    methods = [Partition(CORPUS, method=method) for method in ("bm25", "dense")]
    assert of.files(BY_NAME["retrieval/scores"]) == methods
    assert of.files(BY_NAME["leaderboard"]) == [Partition(CORPUS)]
    assert of.files(BY_NAME["gor/record_nodes"]) == []
    assert staleness(small).files(BY_NAME["leaderboard"]) == []


def test_nothing_is_due_of_what_is_up_to_date(small: House) -> None:
    assert staleness(small, "bm25").due() == []


def test_new_method_is_stale_and_the_others_are_not(small: House) -> None:
    of = staleness(small, "bm25", "tfidf")
    assert of.stale(BY_NAME["retrieval/rankings"]) == [Partition(CORPUS, method="tfidf")]
    assert of.stale(BY_NAME["chunks"]) == []
    assert {"documents", "queries", "retrieval/index"}.isdisjoint(names(of.due()))


def test_edit_makes_its_bucket_stale_and_what_depends_on_it_due(small: House) -> None:
    small.write_document(document_in(3), "A lighthouse saw the boat. " * 40)
    look(small)
    of = staleness(small, "bm25")
    assert of.stale(BY_NAME["documents"]) == [Partition(CORPUS, "03")]
    assert of.stale(BY_NAME["chunks"]) == []  # until `documents` is written
    assert {"chunks", "retrieval/scores", "leaderboard"} <= {*names(of.due())}


def test_model_makes_stale_what_reads_it(small: House) -> None:
    small.embedder = HashEmbedder("another")
    of = staleness(small, "bm25")
    stale = [d.name for d in ORDERED if of.stale(d)]
    assert {"chunk_embeddings", "query_embeddings"} <= {*stale}
    assert {"chunks", "retrieval/rankings"}.isdisjoint(stale)


def test_settings_that_are_wrong_make_their_readers_stale(small: House) -> None:
    settings = small.folder / "corpus.toml"
    settings.write_text(f"{settings.read_text()}\n[retrieval]\nk = 0\n")
    stale = [d.name for d in ORDERED if staleness(small, "bm25").stale(d)]
    assert "retrieval/rankings" in stale or "retrieval/contexts" in stale
    assert "chunks" not in stale


def test_results_stay_needed_when_the_last_question_is_removed(small: House) -> None:
    small.write_queries([])
    refresh_due(small, "bm25")
    of = staleness(small, "bm25", "tfidf")
    assert not of.has_questions
    assert of.files(BY_NAME["retrieval/scores"]) == [Partition(CORPUS, method="bm25")]
    assert small.table("scores").num_rows == 0


@pytest.mark.parametrize(
    ("retrain", "is_trained"), [(["all"], True), (["gor"], True), (["gae"], False), ([], False)]
)
def test_networks_are_stale_if_they_are_to_be_trained(
    small: House, monkeypatch: pytest.MonkeyPatch, retrain: list[str], is_trained: bool
) -> None:
    monkeypatch.setattr(Staleness, "_is_stale", lambda *_: False)
    of = staleness(small, "gor")
    model = BY_NAME["gor/model"]
    assert of.stale(model, retrain) == (of.files(model) if is_trained else [])
    due = names(of.due(retrain))
    assert ("gor/model" in due) == ("retrieval/rankings" in due or "gor/rankings" in due)
    assert ("gor/model" in due) == is_trained
    assert "chunks" not in due


def test_what_depends_on_a_failed_step_is_not_possible() -> None:
    of_bm25 = [d for d in ORDERED if d.is_needed(["bm25"])]
    left = names(possible(of_bm25, ["chunk_embeddings"]))
    assert {"chunks", "queries", "query_embeddings"} <= {*left}
    without = {"chunk_embeddings", "retrieval/index", "retrieval/scores", "leaderboard"}
    assert without.isdisjoint(left)  # no method has results to unite
    of_two = [d for d in ORDERED if d.is_needed(["bm25", "readagent"])]
    assert "leaderboard" in names(possible(of_two, ["retrieval/rankings"]))
    partly = names(possible(of_bm25, ["retrieval/rankings"], ["retrieval/rankings"]))
    assert "retrieval/rankings" not in partly
    assert {"retrieval/scores", "leaderboard"} <= {*partly}
