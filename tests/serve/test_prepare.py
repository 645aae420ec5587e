"""Sentences whose vectors are known before a question reads their passages."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.answering.known_sentences import lend_vectors
from gsum_assets.answering.workspace import Workspace
from gsum_assets.evidence import sentence_index as index_module
from gsum_assets.evidence.sentence_index import sentence_index, sentence_rows
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import Completion, Embedder, Request
from gsum_resources.settings.home import Home
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.store.partition import Partition, Provenance
from tests.models import HashEmbedder
from tests.serve.states import BUCKETS, CORPUS, tables_of, workspace_of, written

PASSAGES = (
    "The ferry left the harbour at nine. The clerk had lost the key. It rained all the morning",
    "and nobody saw the lamp. The bridge was closed for repairs. The letter arrived on Monday.",
)


class OtherVectors(HashEmbedder):
    """Another model of the same length."""

    def embed(self, texts):
        """Return the vectors of other texts."""
        return super().embed([f"other {text}" for text in texts])


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    workspace = workspace_of(Home(tmp_path, str(tmp_path / "warehouse")))
    models = workspace.models
    models.overrides["language_model"] = ExtractiveModel(models.embedder)
    list(written(workspace.store, 0))
    return workspace


def write_sentences(workspace: Workspace, embedder: Embedder) -> None:
    table = TABLES["evidence.sentences"]
    for bucket in BUCKETS:
        rows = sentence_rows(tables_of(0, bucket)["chunks"], embedder)
        footer = Provenance("", "1", {}, asset=table.name)
        workspace.store.write(table, Partition(CORPUS, bucket), rows, footer)


def passages(workspace: Workspace) -> Mapping[str, str]:
    rows = workspace.rows("chunks", CORPUS).get()
    return dict(zip(rows["chunk_id"].to_pylist(), rows["text"].to_pylist(), strict=True))


def n_embedded(workspace: Workspace) -> int:
    return workspace.models.bare("embedding_model").n_embedded


def test_a_request_embeds_only_its_question_after_the_passages_were_prepared() -> None:
    embedder = HashEmbedder()
    model = ExtractiveModel(embedder)
    assert model.prepare(PASSAGES)
    assert all(map(model.has_read, PASSAGES))
    before = embedder.n_embedded
    for passages in (PASSAGES, PASSAGES[:1], PASSAGES[1:]):
        request = Request("answer", "", "Why was the ferry late?", passages, max_words=40)
        (reply,) = model.complete([request])
        assert isinstance(reply, Completion)
        assert reply.text
    assert embedder.n_embedded - before <= 3  # the question, each time


def test_no_more_is_prepared_than_there_is_room_for() -> None:
    model = ExtractiveModel(HashEmbedder(), cache_size=3)
    assert not model.prepare(PASSAGES)
    model.learn("new", {str(i): HashEmbedder().embed(["x"])[0] for i in range(4)})
    assert not model.has_read(PASSAGES[0])


@pytest.mark.parametrize("mapped", [False, True])
def test_sentences_of_an_index_are_not_embedded_to_answer(
    workspace: Workspace, monkeypatch: pytest.MonkeyPatch, mapped: bool
) -> None:
    model, question = workspace.models.bare("answers"), "Which boat is in bucket 01?"
    alone = ask(workspace, CORPUS, question, "bm25")
    whole = n_embedded(workspace)
    write_sentences(workspace, HashEmbedder())
    if mapped:
        monkeypatch.setattr(index_module, "SENTENCES_MAPPED_FROM", 1)
        lend_vectors(workspace, CORPUS, passages(workspace))
        assert not any(map(model.has_read, passages(workspace).values()))  # none are kept yet
        rows, cache = (
            workspace.rows("evidence.sentences", CORPUS),
            ArrayCache(workspace.store, CORPUS),
        )
        sentence_index(rows, 8, cache)
    new = ExtractiveModel(workspace.models.embedder)
    workspace.models._bare["language_model"] = new
    lend_vectors(workspace, CORPUS, passages(workspace))
    assert all(map(new.has_read, passages(workspace).values()))
    before = n_embedded(workspace)
    found = ask(workspace, CORPUS, f"{question} ", "bm25")
    assert n_embedded(workspace) - before < whole
    assert (found.text, found.lines) == (alone.text, alone.lines)


def test_vectors_of_another_embedder_are_not_lent(workspace: Workspace) -> None:
    write_sentences(workspace, OtherVectors())
    lend_vectors(workspace, CORPUS, passages(workspace))
    model = workspace.models.bare("answers")
    assert not any(map(model.has_read, passages(workspace).values()))
