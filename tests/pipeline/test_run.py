"""A refresh: what it writes, in which order, and what a failure leaves undone."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import dagster as dg
import numpy as np
import pytest

from gsum_assets.cli.terminal import Console
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.registry.families import METHODS
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.methods import RETRIEVERS
from gsum_assets.runner.run import kept_methods, refresh
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import (
    EmbedderUnavailableError,
    ModelUnavailableError,
    OnReply,
    Reply,
    Request,
)
from tests.conftest import CORPUS, House, document_in, written_by
from tests.models import FirstWords, HashEmbedder
from tests.pipeline.homes import (
    contents,
    due,
    furnish,
    house_at,
    requests_by_asset,
)

pytestmark = pytest.mark.usefixtures("only_tables")
ANSWERS = ["retrieval/answer_sources", "retrieval/summaries"]  # written in one step
RESULTS = ["retrieval/rankings", "retrieval/contexts", *ANSWERS, "retrieval/scores"]
BOARD = ["comparisons", "costs", "leaderboard"]  # written in one step


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


def test_corpora_are_independent(changeable: House) -> None:
    furnish(changeable, "second")
    assert changeable.run(["bm25"], "second").is_complete
    before, second = contents(changeable), contents(changeable, "second")
    changeable.write_document(document_in(3), "A lighthouse saw the boat. " * 40)
    assert written_by(changeable.run())["documents"] == "1 of 8 buckets"
    assert contents(changeable) != before
    assert contents(changeable, "second") == second
    (changeable.folder / "corpus.toml").write_text("colour = 'red'")
    report = changeable.run(["random"], "second")
    assert not report.errors
    assert report.written
    with pytest.raises(CorpusError, match="unknown key 'colour'"):
        changeable.run()


def test_run_goes_on_whatever_is_in_dagsters_record(fresh: House) -> None:
    with fresh.instance() as instance:
        instance.add_dynamic_partitions("corpora", ["a|b", "..", "gone"])
        for partition in (None, "", "gone", "a|b", dg.MultiPartitionKey({"a": "b", "c": "d"})):
            for name in ("chunks", "source_documents", "unknown"):
                tags = {"dagster/data_version": "x"}
                event = dg.AssetMaterialization(name, partition=partition, tags=tags)
                instance.report_runless_asset_event(event)
        job = fresh.pipeline().definitions.resolve_job_def("index")
        for tags in ({}, {"dagster/partition": "a|b"}, {"dagster/partition/corpus": CORPUS}):
            instance.create_run_for_job(job, tags=tags)
    assert fresh.run(["bm25"]).is_complete


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


def test_unavailable_embedder_is_reported_once_and_stops_only_its_readers(
    changeable: House, capsys: pytest.CaptureFixture[str]
) -> None:
    changeable.embedder = AwayEmbedder("away")
    changeable.model = ExtractiveModel(HashEmbedder())  # type: ignore[assignment]
    with Console() as console, changeable.instance() as instance:
        report = refresh(
            changeable.pipeline(),
            instance,
            CORPUS,
            ["readagent", "dense", "hybrid"],
            events=console,
        )
    output = " ".join(capsys.readouterr().out.split())
    said = "server 'away' does not answer; start it"
    assert report.errors == [f"chunk_embeddings: {said}", f"query_embeddings: {said}"]
    assert output.count(said) == 1
    assert output.count("the model is unavailable, see above") == 1
    assert changeable.table("jerr.pages").num_rows > 0
    assert requests_by_asset(changeable)["jerr/pages"] > 0
