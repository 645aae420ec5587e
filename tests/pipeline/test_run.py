"""A refresh: what it writes, in which order, and what a failure leaves undone."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from gsum_assets.cli.terminal import Console
from gsum_assets.forgetting.missing import note_missing
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.runner.report import RefreshError, RunReport
from gsum_assets.runner.run import kept_methods, pipeline_for, refresh
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.models.by_work import Models
from gsum_resources.protocols.models import (
    EmbedderUnavailableError,
    ModelUnavailableError,
    OnReply,
    Reply,
    Request,
)
from gsum_resources.settings.schema import LlmSettings, Settings
from tests.conftest import CORPUS, House, document_in, written_by
from tests.models import FirstWords, HashEmbedder
from tests.pipeline.homes import (
    LEDGERS,
    contents,
    copy_of,
    due,
    furnish,
    house_at,
    requests_by_asset,
)

pytestmark = pytest.mark.usefixtures("only_tables")
ANSWERS = ["retrieval/answer_sources", "retrieval/summaries"]  # written in one step
RESULTS = ["retrieval/rankings", "retrieval/contexts", *ANSWERS, "retrieval/scores"]
BOARD = ["comparisons", "costs", "curves", "leaderboard"]  # written in one step


class BrokenEmbedder(HashEmbedder):
    """Fails on passages."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        raise RuntimeError(f"no memory for {len(texts)} texts")

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        return HashEmbedder().embed_queries(texts)


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[House]:
    with house_at(tmp_path) as house:
        furnish(house)
        yield house


@pytest.fixture(scope="module")
def two_corpora(
    indexed_by_bm25: House, tmp_path_factory: pytest.TempPathFactory
) -> tuple[House, RunReport]:
    """A document of the indexed corpus is changed; the tables are of the second version."""
    with copy_of(indexed_by_bm25, tmp_path_factory.mktemp("two")) as house:
        house.write_document(document_in(3), "A lighthouse saw the boat. " * 40)
        furnish(house, "second")
        return house, house.run(["bm25"], "second")


@pytest.fixture
def two(two_corpora: tuple[House, RunReport], tmp_path: Path) -> Iterator[House]:
    with copy_of(two_corpora[0], tmp_path) as copy:
        yield copy


def test_corpora_are_independent(
    two_corpora: tuple[House, RunReport], indexed_by_bm25: House, two: House
) -> None:
    assert two_corpora[1].is_complete
    before = contents(indexed_by_bm25)
    assert contents(two) == before  # what is stale of the first waits until it is run
    second = contents(two, "second")
    assert written_by(two.run())["documents"] == "1 of 8 buckets"
    assert contents(two) != before
    assert contents(two, "second") == second


def test_broken_settings_of_one_corpus_do_not_stop_another(two: House) -> None:
    (two.folder / "corpus.toml").write_text("colour = 'red'")
    report = two.run(["random"], "second")
    assert not report.errors
    assert report.written
    with pytest.raises(CorpusError, match="unknown key 'colour'"):
        two.run()


def test_deleted_corpus_loses_its_partition_and_files(two: House) -> None:
    assert two.run().is_complete
    assert two.table("scores").num_rows
    shutil.rmtree(two.folder)
    assert two.run(["bm25"], "second").is_complete
    assert two.table("scores").num_rows  # the folder may come back
    note_missing(two.store, {})
    note_missing(two.store, {CORPUS: time.time() - 25 * 3600})
    assert two.run(["bm25"], "second").is_complete
    with two.instance() as instance:
        assert instance.get_dynamic_partitions("corpora") == ["second"]
    for name in TABLES:
        assert two.table(name).num_rows == 0
        if name not in LEDGERS:  # until their documents are forgotten: tests/forgetting
            assert list(Path(two.store.root, name).glob(f"corpus={CORPUS}")) == []


def test_failing_step_blocks_its_descendants_until_the_next_run(fresh: House) -> None:
    fresh.embedder = BrokenEmbedder()
    report = fresh.run(["bm25"])
    assert report.failed == ["chunk_embeddings"]
    assert "no memory for" in report.errors[0]
    assert report.missing == due(fresh)
    tables = ("documents", "chunks", "queries", "chunk_embeddings", "rankings", "scores")
    assert [name for name in tables if not fresh.table(name).num_rows] == [
        *("chunk_embeddings", "rankings", "scores")
    ]
    fresh.embedder = HashEmbedder()
    repaired = fresh.run()
    assert repaired.is_complete
    # BM25 reads no vectors, but the graph cannot know: it waited like the others
    expected = ["chunk_embeddings", "answerability", *RESULTS, "retrieval/index", *BOARD]
    assert set(expected) <= set(written_by(repaired))
    assert not {"documents", "chunks", "queries"} & set(written_by(repaired))


def test_failing_method_does_not_affect_the_others(
    changeable: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(collection: Collection) -> Dense:
        raise RuntimeError(f"no memory for {len(collection.chunk_ids)} chunks")

    monkeypatch.setitem(RETRIEVERS, "dense", lambda collection, _: broken(collection))
    report = changeable.run(["tfidf", "dense"])
    assert report.failed == ["retrieval/rankings"]
    assert "dense: no memory for" in report.errors[0]
    assert report.errors[0].endswith("(the other methods are written)")
    assert set(changeable.table("leaderboard")["method"].to_pylist()) == {"bm25", "tfidf"}
    monkeypatch.undo()
    written = written_by(changeable.run())
    assert {written[asset] for asset in RESULTS} == {"methods dense (of 3)"}
    assert set(written) == {*RESULTS, *BOARD}
    assert set(changeable.table("leaderboard")["method"].to_pylist()) == {"bm25", "dense", "tfidf"}


def test_methods_that_are_named_are_kept_in_the_settings(fresh: House) -> None:
    def kept() -> set[str]:
        return set(METHODS.wanted(fresh.home.corpora, CORPUS))

    def keep(*names: str) -> str:
        return kept_methods(fresh.workspace, CORPUS, names)

    assert keep("rrf", "random").startswith('methods = ["rrf", "random"] in ')
    assert kept() == {"rrf", "random"}  # in place of the defaults, before the first run
    assert keep("random") == keep("default") == ""
    keep("default", "bm25")
    assert kept() == {"rrf", "random", "bm25"}
    keep("all")
    assert kept() == set(METHODS.listed)
    with pytest.raises(CorpusError, match="unknown method 'bm52'; did you mean 'bm25'"):
        keep("bm52")
    assert kept() == set(METHODS.listed)


def test_methods_named_later_are_kept_beside_those_of_before(changeable: House) -> None:
    assert kept_methods(changeable.workspace, CORPUS, ["tfidf"])
    assert METHODS.wanted(changeable.home.corpora, CORPUS) == ["bm25", "tfidf"]


def test_nothing_is_due_if_all_is_current(current: House) -> None:
    assert due(current) == []
    assert current.run().steps == []


class Away(FirstWords):
    """A server that does not answer."""

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.n_requests += 1
        raise ModelUnavailableError("server 'away' does not answer; start it")


def test_unavailable_model_is_reported_once_and_the_rest_is_written(
    changeable: House,
) -> None:
    changeable.model = Away("away")
    report = changeable.run(["tfidf", "random"])
    (error,) = report.errors
    assert error == "retrieval/summaries: server 'away' does not answer; start it"
    assert changeable.model.n_requests <= 3  # one for each method
    assert {"retrieval/summaries", "retrieval/scores"} <= set(report.missing)
    assert not report.is_complete
    ranked = set(changeable.table("rankings")["method"].to_pylist())
    assert ranked == {"bm25", "tfidf", "random"}
    changeable.model = FirstWords("away")
    assert changeable.run().is_complete


class AwayEmbedder(HashEmbedder):
    """Its server does not answer."""

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        raise EmbedderUnavailableError("server 'away' does not answer; start it")

    embed_queries = embed


def test_unavailable_embedder_does_not_stop_language_model_assets(changeable: House) -> None:
    changeable.embedder = AwayEmbedder("away")
    changeable.model = ExtractiveModel(HashEmbedder())  # type: ignore[assignment]
    report = changeable.run(["readagent"])
    said = "server 'away' does not answer; start it"
    assert report.errors == [f"chunk_embeddings: {said}", f"query_embeddings: {said}"]
    assert changeable.table("jerr.pages").num_rows > 0
    assert requests_by_asset(changeable)["jerr/pages"] > 0


def test_unavailable_embedder_is_reported_once(
    changeable: House, capsys: pytest.CaptureFixture[str]
) -> None:
    changeable.embedder = AwayEmbedder("away")
    with Console() as console, changeable.instance() as instance:
        report = refresh(
            changeable.pipeline(), instance, CORPUS, ["dense", "hybrid"], events=console
        )
    output = " ".join(capsys.readouterr().out.split())
    assert len(report.errors) > 1
    assert output.count("server 'away' does not answer") == 1
    assert output.count("the model is unavailable, see above") == len(report.errors) - 1


def test_unavailable_model_raises_before_any_work(changeable: House) -> None:
    settings = LlmSettings(
        backend="openai_compatible",
        model="none",
        base_url="http://127.0.0.1:9/v1",  # no server listens on the discard port
        api_key_env="",
        max_retries=0,
    )
    models = Models(
        Settings(llm=settings),
        changeable.store,
        TABLES["llm_calls"],
        {"embedding_model": changeable.embedder},
    )
    pipeline = pipeline_for(changeable.home, models)
    with changeable.instance() as instance:
        before = len(changeable.table("llm_calls"))
        with pytest.raises(RefreshError, match=r"127\.0\.0\.1:9"):
            refresh(pipeline, instance, CORPUS)
        assert len(changeable.table("llm_calls")) == before
