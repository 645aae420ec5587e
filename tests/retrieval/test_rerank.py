"""Reranking by hand: what it scores, how scores are combined, and what it says of a bad model."""

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pytest

from gsum_assets.hippo_rag.family import FAMILY as HIPPO_RAG
from gsum_assets.lightpal.family import FAMILY as LIGHTPAL
from gsum_assets.linear_rag.family import FAMILY as LINEAR_RAG
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.family import FAMILY as BASELINES
from gsum_assets.retrieval.rerank import (
    late_interaction,
    query_likelihood,
    rerank,
    reranker,
)
from gsum_assets.retrieval.settings import RerankSettings
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder, TokenVectors
from gsum_resources.scoring.cross_encoder import CrossEncoder
from gsum_resources.store.lazy import Lazy
from tests.retrieval.toys import CHUNKS, tables

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "boat", "harbour", "apples", "red", "the"]
TEXTS = {chunk_id: text for chunk_id, _, _, text, _ in CHUNKS}


def rankings(nodes: dict[str, float], documents: dict[str, float]) -> pa.Table:
    """Rows of one question, best first."""
    rows = [
        {"query_id": "q", "level": level, "rank": rank, "item_id": i, "score": s, "latency_s": 1.0}
        for level, scores in (("document", documents), ("node", nodes))
        for rank, (i, s) in enumerate(scores.items(), 1)
    ]
    return pa.Table.from_pylist(rows, TABLES["rankings"].schema)


def scores_of(table: pa.Table, level: str) -> dict[str, float]:
    return {r["item_id"]: r["score"] for r in table.to_pylist() if r["level"] == level}


def lengths(question: str, passages: Sequence[str]) -> np.ndarray:
    """Score a passage by its number of words."""
    return np.array([float(len(text.split())) for text in passages])


FIRST = rankings(
    {"c-boat-2": 4.0, "c-boat-1": 3.0, "c-apple-1": 2.0, "c-cloud-1": 1.0},
    {"boats": 9.0, "apples": 8.0, "clouds": 7.0},
)


def reordered(**settings: float) -> pa.Table:
    chosen = RerankSettings.model_validate({"model": "query_likelihood", **settings})
    return rerank(FIRST, {"q": "?"}, tables()[1], lengths, chosen, clock=iter((1.0, 3.5)).__next__)


def test_both_scores_are_scaled_and_added_by_weight():
    # words 3, 6, 6, 4: 0, 1, 1, 1/3; first scores 1, 2/3, 1/3, 0; half of each: 3/6, 5/6, 4/6, 1/6
    found = reordered(weight=0.5, depth=4)
    expected = {"c-boat-1": 4.0, "c-apple-1": 3.25, "c-boat-2": 2.5, "c-cloud-1": 1.0}
    assert scores_of(found, "node") == pytest.approx(expected)
    assert list(scores_of(found, "node")) == list(expected)
    # documents: words of the best chunk 6, 6, 4: 1, 1, 0; first scores 1, 1/2, 0
    assert scores_of(found, "document") == pytest.approx({"boats": 9, "apples": 8.5, "clouds": 7})
    assert found["rank"].to_pylist() == FIRST["rank"].to_pylist()
    assert set(found["latency_s"].to_pylist()) == {3.5}
    assert found.schema.equals(FIRST.schema)


def test_weight_0_keeps_the_ranking_and_the_rest_stays_below():
    assert scores_of(reordered(weight=0), "node") == pytest.approx(scores_of(FIRST, "node"))
    # of two chunks: words 3, 6
    nodes = scores_of(reordered(weight=1, depth=2), "node")
    assert nodes == {"c-boat-1": 4.0, "c-boat-2": 3.0, "c-apple-1": 2.0, "c-cloud-1": 1.0}


def test_likely_question_is_one_whose_words_the_passage_has():
    scores = query_likelihood("apples on the tree", list(TEXTS.values()))
    assert np.argsort(-scores)[:2].tolist() == [0, 1]
    assert query_likelihood("", ["a boat"]).shape == (1,)


def test_late_interaction_is_the_mean_of_the_best_cosines():
    vectors = {"a": [1.0, 0.0], "b": [0.0, 1.0], "c": [0.6, 0.8]}

    class Letters:
        identity = "letters"

        def embed_tokens(self, texts: Sequence[str]) -> list[TokenVectors]:
            rows = [np.array([vectors[letter] for letter in text]).reshape(-1, 2) for text in texts]
            return [TokenVectors(row, np.ones(len(row), bool)) for row in rows]

    scores = late_interaction("ab", ["a", "ab", "c"], Letters())
    assert scores == pytest.approx([0.5, 1.0, 0.7])
    assert late_interaction("", ["a"], Letters()).tolist() == [0.0]


@pytest.mark.slow
def test_late_interaction_with_the_packaged_model_prefers_the_passage_about_it():
    texts = [TEXTS["c-apple-1"], TEXTS["c-boat-1"]]
    scores = late_interaction("a ship in port", texts, LocalTokenEmbedder(threads=1))
    assert scores[1] > scores[0]


@pytest.fixture
def bert(tmp_path):
    """Writes a tiny model that was initialized at random."""
    from transformers import BertConfig, BertForSequenceClassification, BertModel
    from transformers.models.bert.tokenization_bert import BertTokenizer

    (tmp_path / "vocab.txt").write_text("\n".join(WORDS))

    def write(n_labels: int | None = 1) -> str:
        config = BertConfig(
            vocab_size=len(WORDS),
            hidden_size=8,
            num_hidden_layers=1,
            num_attention_heads=2,
            intermediate_size=16,
        )
        config.num_labels = n_labels or 1
        model = BertForSequenceClassification(config) if n_labels else BertModel(config)
        model.save_pretrained(tmp_path)
        BertTokenizer(str(tmp_path / "vocab.txt")).save_pretrained(tmp_path)
        return str(tmp_path)

    return write


@pytest.mark.parametrize("n_labels", [1, 2])
def test_cross_encoder_reads_question_and_passage_together(bert, n_labels):
    import torch
    from transformers import AutoTokenizer, BertForSequenceClassification

    folder = bert(n_labels)
    texts = ["the boat", "red apples " * 400, "harbour"] * 4  # more than a batch, and too long
    found = CrossEncoder(folder, "model", threads=1).score("the harbour", texts)
    model = BertForSequenceClassification.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    for text, score in zip(texts, found, strict=True):
        pair = tokenizer("the harbour", text, truncation=True, max_length=512, return_tensors="pt")
        with torch.inference_mode():
            logits = model(**pair).logits[0].tolist()
        assert score == pytest.approx(logits[-1] - (logits[0] if n_labels == 2 else 0), abs=1e-5)
    assert CrossEncoder(folder, "model").score("the harbour", []).shape == (0,)


@pytest.mark.parametrize(
    ("n_labels", "reason"), [(3, "has 3 classes, not a score"), (None, "lack 'classifier.bias'")]
)
def test_wrong_model_is_named_with_the_setting_and_the_remedy(bert, n_labels, reason):
    with pytest.raises(ValueError, match=reason) as raised:
        reranker(bert(n_labels))("boat", ["the boat"])
    assert str(raised.value).startswith("[retrieval.rerank] model = '/")
    assert "give the folder of a cross-encoder" in str(raised.value)


def test_missing_folder_is_named(tmp_path):
    missing = str(tmp_path / "none")
    with pytest.raises(ValueError, match=rf"model = '{missing}': there is no config.json"):
        reranker(missing)("boat", ["the boat"])


class Sections:
    """Settings of a corpus that reranks."""

    def __init__(self, rerank: dict) -> None:
        self.values = {"language": "en", "retrieval.rerank": rerank}

    def section(self, corpus: str, section: str) -> object:
        return self.values.get(section, {})


def ranked(method: str, rerank: dict) -> dict[str, float]:
    """Scores of the chunks for a question, by the step of the baselines."""
    documents, chunks, vectors = tables()
    chunks = chunks.append_column("start", pa.array(range(chunks.num_rows)))
    queries = {"query_id": ["q"], "retrieval_text": ["the harbour"], "document_id": [None]}
    given = {
        "documents": documents,
        "chunks": chunks,
        "chunk_embeddings": vectors,
        "queries": pa.table(queries, TABLES["queries"].schema.empty_table().select(queries).schema),
        "query_embeddings": pa.table(
            {"query_id": ["q"], "embedding": vectors["embedding"].slice(2, 1)}
        ),
    }
    inputs = Inputs(
        {**{name: Lazy.of(rows) for name, rows in given.items()}, SETTINGS: Sections(rerank)},
        "toys",
        method,
    )
    return scores_of(BASELINES.question[0].result(inputs).rows, "node")


def test_step_of_the_baselines_reranks_what_searches():
    for method in ("bm25", "hybrid"):
        plain, turned = (
            ranked(method, rerank)
            for rerank in ({}, {"model": "query_likelihood", "depth": 5, "weight": 1})
        )
        likelihood = query_likelihood("the harbour", [TEXTS[i] for i in plain])
        assert list(turned) == [list(plain)[i] for i in np.argsort(-likelihood, kind="stable")]
        assert sorted(turned) == sorted(plain)
    rerank = {"model": "query_likelihood", "weight": 1}
    assert ranked("random", rerank) == ranked("random", {})


def test_ranking_steps_can_read_the_texts_that_are_scored_again():
    for family in (BASELINES, LIGHTPAL, LINEAR_RAG, HIPPO_RAG):
        (step,) = (step for step in family.question if step.table == "rankings")
        assert "chunks" in step.reads
