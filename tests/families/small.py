"""A small home of each family, with models that record what they are given."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import OnReply, OnRow, Reply, Request
from gsum_resources.scoring.unigram import UnigramScorer
from tests.conftest import House, document_in, text_of
from tests.models import HashEmbedder
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at, write_lines
from tests.tales import paragraphs, tale

DOCUMENTS = [document_in(bucket) for bucket in range(6)]
QUESTION = "Which jetty did Marit Olsen close at Tarnholt?"
QUESTIONS = {"all": None, "first": DOCUMENTS[0]}
"""The document that each question is about; the first is about all."""


def boats(number: int) -> str:
    """Return sentences of twelve words that recur in every document."""
    return text_of(f"tale-{number}", 6 + number)


@dataclass(frozen=True)
class Small:
    """What is indexed of a family.

    Attributes
    ----------
    text : of the nth document.
    may_fail : checks of the family that such short documents need not pass.
    """

    methods: Sequence[str]
    settings: str = ""
    max_tokens: int = 32
    text: Callable[[int], str] = boats
    may_fail: frozenset[str] = frozenset()

    @property
    def corpus_toml(self) -> str:
        """The settings of the corpus."""
        chunking = f"[chunking]\nmax_tokens = {self.max_tokens}\noverlap_tokens = 0\n"
        return f"{WITHOUT_BERTSCORE}{chunking}{self.settings}"


GOR = """
[gor.simulation]
n_queries = 3
k = 2
[gor.ranking]
layer = 1
[gor.training]
epochs = 4
"""
GAE = """
[gae.training]
epochs = 5
[gae.contexts]
k = 4
"""
GRAPHRAG = """
[graphrag.communities]
max_size = 4
[graphrag.answers]
prompt_tokens = 500
"""
JERR = """
[jerr.chunking]
max_tokens = 120
[jerr.search]
n_simulations = 100
[jerr.pages]
min_words = 30
max_words = 90
gist_words = 20
[jerr.long]
unit_tokens = 100
n_units = 2
"""
LIGHTPAL = """
[lightpal.graph]
n_candidates = 4
n_edges = 2
[lightpal.walk]
n_probes = 20
"""
EVIDENCE = """
[retrieval]
k = 2
"""
RAPTOR = """
[raptor.tree]
reduction = "pca"
dim = 2
summary_words = 20
"""

SMALL = {
    "retrieval": Small(["bm25", "dense"]),
    "lightpal": Small(["lightpal", "promptrank", "passage_walk"], LIGHTPAL),
    "jerr": Small(["jerr-published", "readagent"], JERR, 48, paragraphs),
    "graphrag": Small(
        ["graphrag-c1", "graphrag-dynamic", "graphrag-local", "graphrag-ts"], GRAPHRAG, 48, tale
    ),
    "gae": Small(["gae", "gae-no-rerank", "gae-published"], GAE),
    "evidence": Small(["evidence", "evidence-no-graph", "evidence-fixed-k"], EVIDENCE),
    "linear_rag": Small(["linear-rag"], GRAPHRAG, 48, tale),
    "hippo_rag": Small(["hippo-rag"], GRAPHRAG, 48, tale),
    "raptor": Small(["raptor"], RAPTOR, 48, tale),
    "gor": Small(
        ["gor"],
        GOR,
        may_fail=frozenset({"gor/source_ranks:training_helps"}),
    ),
}


class RecordingModel(ExtractiveModel):
    """Keeps each request."""

    def __init__(self) -> None:
        super().__init__(HashEmbedder())
        self.sent: list[Request] = []

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        self.sent += requests
        return super().complete(requests, on_reply)


class RecordingEmbedder(HashEmbedder):
    """Keeps each text."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[str] = []

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        self.sent += texts
        return super().embed(texts)


@dataclass(frozen=True)
class RecordingScorer(UnigramScorer):
    """Keeps each context with its candidates, whose words are the background of its scores."""

    sent: list[tuple[str, ...]] = field(default_factory=list, compare=False)

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        self.sent.extend((c, *row) for c, row in zip(contexts, candidates, strict=True))
        return super().score(contexts, candidates, on_row)


def furnish(house: House, family: str, documents: Sequence[str] = DOCUMENTS) -> None:
    """Write documents, the settings of a family, and two questions."""
    small = SMALL[family]
    for number, document_id in enumerate(documents):
        house.write_document(document_id, small.text(number))
    (house.folder / "corpus.toml").write_text(small.corpus_toml)
    write_lines(
        house.folder / "queries.jsonl",
        [
            {"query_id": query_id, "text": QUESTION, "document_id": document_id}
            | {"references": ["The one at Tarnholt."]}
            for query_id, document_id in QUESTIONS.items()
        ],
    )


@contextmanager
def home_of(family: str, root: Path) -> Iterator[House]:
    """A home with the methods of a family, indexed."""
    with house_at(root) as house:
        house.model = RecordingModel()  # type: ignore[assignment]
        house.embedder, house.scorer = RecordingEmbedder(), RecordingScorer()
        furnish(house, family)
        report = house.run(list(SMALL[family].methods))
        assert report.is_complete, report
        yield house
