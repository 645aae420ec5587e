"""A refresh: what it materializes, in which order, and what a failure leaves undone."""

import shutil
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pytest

from gsum_assets.automation import processes
from gsum_assets.cli.terminal import Console
from gsum_assets.definitions import METHODS, pipeline_for
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.runner.execute import observe_sources
from gsum_assets.runner.run import RefreshError, RunReport, refresh
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
from gsum_resources.state.requests import Requests
from gsum_resources.store.parquet_store import Partition
from tests.conftest import CORPUS, READ_TOGETHER, House, document_in, materialized_by
from tests.models import FirstWords, HashEmbedder
from tests.pipeline.daemon import AssetPartition, requested
from tests.pipeline.homes import LEDGERS, contents, copy_of, furnish, house_at, requests_by_asset

pytestmark = pytest.mark.usefixtures("only_tables")
ANSWERS = ["retrieval/answer_sources", "retrieval/summaries"]  # written in one step
RESULTS = ["retrieval/rankings", "retrieval/contexts", *ANSWERS, "retrieval/scores"]
BOARD = ["comparisons[]", "costs[]", "curves[]", "leaderboard[]"]  # written in one step
BUCKETS = [f"0{i}" for i in range(8)]


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


def in_order(report: RunReport) -> list[AssetPartition]:
    """Return the materialized assets, run after run."""
    return [(a, p) for result in report.results for a in result.assets for p in result.partitions]


@pytest.mark.slow
def test_corpora_are_independent(
    two_corpora: tuple[House, RunReport], indexed_by_bm25: House, two: House
) -> None:
    _, report = two_corpora
    assert report.errors == []
    assert {partition.corpus for _, partition in in_order(report)} == {"second"}
    before = contents(indexed_by_bm25)
    assert contents(two) == before  # what is due of the first waits until it is driven
    second = contents(two, "second")
    report = two.run()
    assert {partition.corpus for _, partition in in_order(report)} == {CORPUS}
    assert "documents[03]" in materialized_by(report)
    assert contents(two) != before
    assert contents(two, "second") == second


def test_broken_settings_of_one_corpus_do_not_stop_another(two: House) -> None:
    (two.folder / "corpus.toml").write_text("colour = 'red'")
    report = two.run(["random"], "second")
    assert not report.errors
    assert report.results
    with pytest.raises(CorpusError, match="unknown key 'colour'"):
        two.run()


def test_deleted_corpus_loses_its_partitions_and_files(two: House) -> None:
    assert two.table("scores").num_rows
    shutil.rmtree(two.folder)
    assert two.run(["bm25"], "second").is_complete
    assert two.table("scores").num_rows  # the folder may come back
    missing = two.pipeline().reconciler.missing
    missing.clear([CORPUS])
    missing.note([CORPUS], time.time() - 25 * 3600)
    assert two.run(["bm25"], "second").is_complete
    with two.instance() as instance:
        assert instance.get_dynamic_partitions("corpora") == ["second"]
    for name in TABLES:
        assert two.table(name).num_rows == 0
        if name not in LEDGERS:  # until their documents are forgotten: tests/forgetting
            assert list(Path(two.store.root, name).glob(f"corpus={CORPUS}")) == []


@pytest.mark.slow
def test_failing_step_blocks_its_descendants_until_the_next_run(fresh: House) -> None:
    fresh.embedder = BrokenEmbedder()
    report = fresh.run(["bm25"])
    (error,) = report.errors
    assert error.startswith("chunk_embeddings: ")
    assert "no memory for" in error
    tables = ("documents", "chunks", "queries", "chunk_embeddings", "rankings", "scores")
    sizes = {name: fresh.table(name).num_rows for name in tables}
    assert [name for name in tables if not sizes[name]] == [
        "chunk_embeddings",
        "rankings",
        "scores",
    ]
    fresh.embedder = HashEmbedder()
    repaired = fresh.run()
    assert repaired.errors == []
    # BM25 reads no vectors, but the graph cannot know: it waited like the others
    expected = [f"chunk_embeddings[{b}]" for b in BUCKETS]
    expected += ["answerability[]", *(f"{asset}[bm25]" for asset in RESULTS)]
    expected += ["retrieval/index[]", "judgements[]", "win_rates[]"]  # not built of nothing before
    assert materialized_by(repaired) == sorted([*expected, *BOARD])


def test_failing_method_does_not_affect_the_others(
    changeable: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(collection: Collection) -> Dense:
        raise RuntimeError(f"no memory for {len(collection.chunk_ids)} chunks")

    monkeypatch.setitem(RETRIEVERS, "dense", lambda collection, _: broken(collection))
    report = changeable.run(["tfidf", "dense"])
    (error,) = report.errors
    assert error.startswith("retrieval/rankings: ")
    assert "no memory for" in error
    assert set(changeable.table("leaderboard")["method"].to_pylist()) == {"bm25", "tfidf"}
    monkeypatch.undo()
    materialized = materialized_by(changeable.run())
    assert materialized == sorted([*(f"{asset}[dense]" for asset in RESULTS), *BOARD])
    assert set(changeable.table("leaderboard")["method"].to_pylist()) == {"bm25", "dense", "tfidf"}


class Absent(HashEmbedder):
    """A model that cannot be loaded."""

    @property
    def identity(self) -> str:
        raise OSError("no weights")

    @identity.setter
    def identity(self, name: str) -> None:
        pass


def test_default_and_all_methods(fresh: House) -> None:
    def run(methods: list[str] | None = None) -> None:
        with pytest.raises(CorpusError, match=f"'{CORPUS}'.*embedding_model: .*no weights"):
            fresh.run(methods)

    fresh.embedder = Absent()  # the request is kept, and nothing can be materialized
    requests = fresh.pipeline().requests
    (fresh.folder / "corpus.toml").write_text("methods = ['rrf', 'random']\n")
    run()
    assert requests.of(CORPUS) == {"rrf", "random"}
    (fresh.folder / "corpus.toml").unlink()
    run()
    assert requests.of(CORPUS) == {"rrf", "random"}  # nothing new of a corpus requested before
    run(["default", "bm25"])
    assert requests.of(CORPUS) == {"rrf", "random", "bm25", *METHODS.default}
    run(["all"])
    assert requests.of(CORPUS) == set(METHODS.known)


def test_concurrent_requests_are_all_kept(fresh: House, monkeypatch: pytest.MonkeyPatch) -> None:
    one, other = Requests(fresh.store), Requests(fresh.store)
    known = one.of

    def meanwhile(corpus: str) -> frozenset[str] | None:
        """The other one requests between this one's reading and writing of requests."""
        found = known(corpus)
        other.add(CORPUS, ["dense"])
        return found

    one.add(CORPUS, ["rrf"])
    monkeypatch.setattr(one, "of", meanwhile)
    one.add(CORPUS, ["bm25"])
    assert other.of(CORPUS) == {"rrf", "bm25", "dense"}
    one.forget(CORPUS)
    assert other.of(CORPUS) is None


def test_nothing_is_requested_if_all_is_current(current: House) -> None:
    with current.instance() as instance:
        assert requested(current.pipeline(), instance) == set()


@pytest.mark.slow
def test_daemon_requests_the_same_first_steps_as_a_refresh(changeable: House) -> None:
    pipeline = changeable.pipeline()
    dense = {(asset, Partition(CORPUS, method="dense")) for asset in RESULTS}
    edited = {(asset, Partition(CORPUS, "03")) for asset in READ_TOGETHER}
    with changeable.instance() as instance:
        pipeline.requests.add(CORPUS, ["dense"])
        assert requested(pipeline, instance) == dense
        changeable.write_document(document_in(3), "A lighthouse saw the boat. " * 40)
        observe_sources(pipeline, instance, CORPUS, {})
        assert requested(pipeline, instance) == edited  # the rest waits for what comes of it
        materialized = in_order(refresh(pipeline, instance, CORPUS))
        assert set(materialized[: len(edited)]) == edited
        assert dense < set(materialized)
        assert len(materialized) == len(set(materialized))
        assert requested(pipeline, instance) == set()


@pytest.mark.slow
def test_daemon_gives_up_failures_and_a_refresh_retries(changeable: House) -> None:
    changeable.model = FirstWords("sour", refuses="boat")
    failed = {(asset, Partition(CORPUS, method="bm25")) for asset in ANSWERS}
    pipeline = changeable.pipeline()
    with changeable.instance() as instance:
        assert requested(pipeline, instance) == failed
        for _ in range(2):
            report = refresh(pipeline, instance, CORPUS)
            assert set(in_order(report)) == failed
            assert len(report.errors) == 1
            assert requested(pipeline, instance) == set()


class Away(FirstWords):
    """A server that does not answer."""

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.n_requests += 1
        raise ModelUnavailableError("server 'away' does not answer; start it")


def test_unavailable_model_is_requested_once_and_the_rest_is_materialized(
    changeable: House,
) -> None:
    changeable.model = Away("away")
    report = changeable.run(["tfidf", "random"])
    (error,) = report.errors
    assert error == "retrieval/summaries: server 'away' does not answer; start it"
    assert changeable.model.n_requests == 1
    assert report.not_materialized == {*ANSWERS, "retrieval/scores"}
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
    assert report.not_materialized == set()
    assert changeable.table("jerr.pages").num_rows > 0
    assert requests_by_asset(changeable)["jerr/pages"] > 0


def test_unavailable_embedder_is_reported_once(
    changeable: House, capsys: pytest.CaptureFixture[str]
) -> None:
    changeable.embedder = AwayEmbedder("away")
    with Console() as console, changeable.instance() as instance:
        report = refresh(
            changeable.pipeline(), instance, CORPUS, ["dense", "hybrid"], on_end=console.ended
        )
    output = " ".join(capsys.readouterr().out.split())
    assert len(report.errors) > 1
    assert output.count("server 'away' does not answer") == 1
    assert output.count("embedding_model is unavailable, see above") == len(report.errors) - 1


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


@pytest.mark.slow
def test_step_that_waits_for_a_place_in_a_pool_says_so(
    fresh: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "fail_orphaned_runs", lambda *_: None)  # that one lives
    said: list[str] = []
    with fresh.instance() as instance:
        storage = instance.event_log_storage
        storage.initialize_concurrency_limit_to_default("llm")
        assert storage.claim_concurrency_slot("llm", "another run", "a step").is_claimed

        def on_wait(what: str) -> None:
            said.append(what)
            storage.free_concurrency_slots_for_run("another run")

        assert not refresh(fresh.pipeline(), instance, CORPUS, ["bm25"], on_wait=on_wait).errors
    assert any("fill the pool 'llm' that " in what for what in said), said
