"""Models for a plan: those that cost nothing stand in for those that do.

No server is asked, no key is read.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gsum_resources.embedding.vectors import unit_length
from gsum_resources.llm.classical.vocabulary import content_stems
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel, OnProgress
from gsum_resources.llm.openai_compatible import estimated_tokens
from gsum_resources.llm.stub_model import DryRunModel, Recalled, StubModel
from gsum_resources.llm.tokens import Window, window_of
from gsum_resources.memo import memo_folder
from gsum_resources.models import LANGUAGE_MODELS, WORK, Models
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import Embedder, LanguageModel, OnRow, PassageScorer
from gsum_resources.settings import ScorerSettings, Settings
from gsum_resources.state import state_of

_MEMOS = "_memo"


@dataclass(frozen=True)
class DryRunModels(Models):
    """Models of which those that cost money or hours have an understudy.

    Attributes
    ----------
    recalled : by asset, what the memo had of the real language models.
    """

    recalled: dict[str, Recalled] = field(default_factory=lambda: defaultdict(Recalled))

    def window(self, name: str = "language_model") -> Window:
        """That of the model as far as no server must be asked: a plan reaches none."""
        settings = self.settings_of(name)
        if settings.backend != "openai_compatible":
            return super().window(name)
        return window_of(settings)

    def language_model(
        self,
        ledger: Ledger,
        on_progress: OnProgress | None = None,
        on_failure: Callable[[str], None] | None = None,
        name: str = "language_model",
    ) -> LedgeredModel:
        """As `Models` does, noting what the memo had."""
        model = self._language_model(name)
        if not isinstance(model, StubModel):
            return super().language_model(ledger, on_progress, on_failure, name)

        def recall(one: Recalled) -> None:
            self.recalled[ledger.asset] += one

        window = partial(self.window, name)
        return DryRunModel(model, self.store, ledger, on_progress, on_failure, recall, window)


def stub_models(models: Models, store: ParquetStore) -> DryRunModels:
    """Understudies of `models` that read and write `store`.

    Embedders that run in this process, and classical models, play themselves.
    """
    from gsum_resources.llm.extractive import ExtractiveModel

    settings = models.settings
    state_of(store).behind = state_of(models.store)
    plain = Models(Settings(), store, models.ledger_table)
    writer = ExtractiveModel(LetterHashes())
    cast: dict[str, LanguageModel | Embedder | PassageScorer] = dict(models.overrides)
    for name in (*LANGUAGE_MODELS, *WORK):
        own = models.settings_of(name)
        is_own = name == "language_model" or own is not settings.llm
        if is_own and name not in cast and own.backend != "extractive":
            scope = getattr(models.bare(name), "failure_scope", "")
            cast[name] = StubModel(own, models.identity(name), writer, scope)
    if "embedding_model" not in cast and settings.embedding.backend == "openai_compatible":
        identity = models.identity("embedding_model")
        cast["embedding_model"] = StubEmbedder(
            identity,
            settings.embedding.usd_per_million_tokens,
            plain.embedder,
            _known_dimension(store, identity) or plain.embedder.dimension,
        )
    if "passage_scorer" not in cast and settings.scorer.backend != "unigram":
        identity = models.identity("passage_scorer")
        cast["passage_scorer"] = StubScorer(settings.scorer, identity, plain.scorer)
    return DryRunModels(settings, store, models.ledger_table, cast)


class LetterHashes:
    """An `Embedder` by the letters that content words share, a thousand times as fast as a network.

    Its cosines are spread as those of the packaged model are, by which the extractive model tells
    what is related: of questions and sentences of the sample meetings half are below 0.06, and one
    in twenty is above 0.2, with either. So what is written with it is about as long, and as many
    passages are found to help.
    """

    identity = "letter-hashes-2"
    dimension = 384

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Texts to float32 unit vectors, `(n_texts, dimension)`."""
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing: Any = HashingVectorizer(
            analyzer=_trigrams,  # pyright: ignore[reportArgumentType] - it is untyped
            n_features=self.dimension - 1,
            alternate_sign=False,
        )
        counts = hashing.transform(texts).toarray()
        # no text without a content word has length zero
        return unit_length(np.hstack([counts, np.full((len(counts), 1), 0.05)]), self.identity)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Queries likewise."""
        return self.embed(texts)


def _trigrams(text: str) -> list[str]:
    """Three letters in a row, of the stems of content words with a blank around each."""
    return [f" {word} "[at : at + 3] for word in content_stems(text) for at in range(len(word))]


class StubEmbedder:
    """An `Embedder` that stands in for a served one.

    Parameters
    ----------
    identity : of the model that it stands in for.
    usd_per_million_tokens : its price.
    embedder : gives the vectors, which are cut or filled up with zeros.
    dimension : of the vectors that the memo has of the real model.

    Attributes
    ----------
    tokens_read : estimated.
    """

    def __init__(
        self, identity: str, usd_per_million_tokens: float, embedder: Embedder, dimension: int
    ) -> None:
        self.identity = identity
        self.usd_per_million_tokens = usd_per_million_tokens
        self.dimension = dimension
        self.tokens_read = 0
        self._embedder = embedder

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Passages to float32 unit vectors, `(n_texts, dimension)`."""
        self.tokens_read += sum(map(estimated_tokens, texts))
        given = self._embedder.embed(texts)[:, : self.dimension]
        vectors = np.pad(given, ((0, 0), (0, self.dimension - given.shape[1])))
        return unit_length(vectors, self.identity)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Queries likewise: served models have one encoder."""
        return self.embed(texts)


class StubScorer:
    """A `PassageScorer` that stands in for a language model.

    Parameters
    ----------
    settings : of the model that it stands in for.
    identity : of that model.
    scorer : gives the scores.

    Attributes
    ----------
    tokens_read : estimated.
    """

    is_pairwise = True

    def __init__(self, settings: ScorerSettings, identity: str, scorer: PassageScorer) -> None:
        self.identity = identity
        self.usd_per_million_tokens = settings.usd_per_million_tokens
        self.tokens_read = 0
        self._longest = settings.max_tokens // 2
        self._scorer = scorer

    def score(
        self,
        contexts: Sequence[str],
        candidates: Sequence[Sequence[str]],
        on_row: OnRow | None = None,
    ) -> list[np.ndarray]:
        """Scores, float64 `(n_candidates,)` a context.

        A passage is read once alone, and once before each of its candidates.
        """
        for context, row in zip(contexts, candidates, strict=True):
            opening = self._read(context)
            self.tokens_read += opening + sum(opening + self._read(text) for text in row)
        return self._scorer.score(contexts, candidates, on_row)

    def _read(self, text: str) -> int:
        return min(estimated_tokens(text), self._longest)


def _known_dimension(store: ParquetStore, identity: str) -> int | None:
    """Length of the vectors that the memo has of a model; None where it has none."""
    for path in store.fs.glob(f"{memo_folder(store, 'embeddings', identity)}/*/*.parquet"):
        with store.fs.open(path, "rb") as source:
            values = pq.read_table(source, columns=["value"])["value"]
        return len(values[0].as_py()) // np.dtype(np.float32).itemsize
    return None
