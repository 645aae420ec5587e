"""Choices of the state machine: methods of all families, settings, questions, models."""

from typing import Any

from tests.growing.home import Chosen

Tables = dict[str, dict[str, Any]]

FAMILIES: dict[str, tuple[str, ...]] = {
    "retrieval": ("bm25", "dense", "tfidf", "hybrid", "full_context", "random"),
    "lightpal": ("passage_walk", "lightpal", "promptrank", "lightpal-embedding"),
    "jerr": ("jerr-pagerank", "jerr-search", "readagent", "longrag", "jerr-published", "jerr"),
    "graphrag": (
        "graphrag-local",
        "graphrag-c0",
        "graphrag-ts",
        "graphrag-ss",
        "graphrag-c1",
        "graphrag-dynamic",
    ),
    "gae": ("gae", "gae-no-rerank", "gae-reflection", "gae-published"),
    "evidence": ("evidence", "evidence-no-graph", "evidence-fixed-k"),
    "linear_rag": ("linear-rag",),
    "hippo_rag": ("hippo-rag",),
    "raptor": ("raptor", "raptor-leaves"),
    "gor": ("gor", "thought-retriever", "node2vec", "gor-untrained", "gor-no-rank"),
}

SMALL: Tables = {
    "scores": {"bertscore": False},
    "chunking": {"max_tokens": 48, "overlap_tokens": 0},
    "gor.simulation": {"n_queries": 2, "k": 2},
    "gor.ranking": {"layer": 1},
    "gor.training": {"epochs": 2},
    "gae.training": {"epochs": 3},
    "gae.contexts": {"k": 4},
    "lightpal.graph": {"n_candidates": 4, "n_edges": 2},
    "lightpal.walk": {"n_probes": 20},
    "graphrag.communities": {"max_size": 4},
    "graphrag.answers": {"prompt_tokens": 500},
    "raptor.tree": {"reduction": "pca", "dim": 2, "summary_words": 20},
    "jerr.chunking": {"max_tokens": 120},
    "jerr.search": {"n_simulations": 50},
    "jerr.pages": {"min_words": 30, "max_words": 90, "gist_words": 20},
    "jerr.long": {"unit_tokens": 100, "n_units": 2},
}
"""Settings for short documents and quick steps."""

SETTINGS: tuple[tuple[str, str, Any], ...] = (
    ("chunking", "max_tokens", 32),
    ("chunking", "overlap_tokens", 8),
    ("chunking", "chunker", "lines"),
    ("chunking", "borders", "length"),
    ("answer", "max_words", 20),
    ("documents", "max_bytes", 400),
    ("retrieval", "k", 2),
    ("retrieval", "bigrams", True),
    ("gor.simulation", "n_queries", 3),
    ("gor.ranking", "layer", 2),
    ("gor.training", "epochs", 1),
    ("gor.contexts", "k", 2),
    ("gae.graph", "n_nearest", 2),
    ("gae.training", "epochs", 2),
    ("gae.refine", "prompt_tokens", 400),
    ("gae.rerank", "same_document", 0.2),
    ("lightpal.graph", "n_edges", 3),
    ("lightpal.walk", "n_probes", 15),
    ("lightpal.contexts", "k", 2),
    ("graphrag.extraction", "claims", False),
    ("graphrag.local", "n_entities", 2),
    ("graphrag.merging", "aliases", False),
    ("graphrag.communities", "max_size", 2),
    ("graphrag.communities", "method", "leiden"),
    ("graphrag.reports", "max_words", 60),
    ("jerr.long", "n_units", 1),
    ("linear_rag", "threshold", 0.1),
    ("hippo_rag.linking", "n_triples", 2),
    ("raptor.contexts", "budget_tokens", 100),
    ("evidence.candidates", "n", 4),
    ("evidence.contexts", "max_tokens", 60),
    ("jerr.search", "n_nodes", 2),
    ("jerr.pages", "max_words", 60),
)
"""A change is applied, and reverted the next time it is chosen."""

_ASKED = {"query_id": "all", "text": "Which jetty did Marit Olsen close?", "references": ["One."]}
_OF_ONE = {"query_id": "one", "text": "Who was at Tarnholt?", "document_id": "tale-0"}
QUESTIONS: tuple[list[dict[str, Any]], ...] = (
    [_ASKED],
    [_ASKED, {**_OF_ONE, "references": ["Dov Hallam at Tarnholt."], "split": "train"}],
    [{**_ASKED, "text": "What did the skipper say at Sallow Point?"}],
    [{**_ASKED, "references": ["The jetty at Tarnholt was closed."]}],
    [
        {**_OF_ONE, "document_id": "tale-1", "options": ["Teo Lisk", "Ines Quell"]}
        | {"form": "choice", "references": ["Teo Lisk"]},
        {**_ASKED, "relevant_document_ids": ["tale-0", "tale-2"]},
    ],
    [],
)

MODELS: tuple[Chosen, ...] = (
    Chosen(embedder="other"),
    Chosen(language_model="two"),
    Chosen(scorer="50"),
)
