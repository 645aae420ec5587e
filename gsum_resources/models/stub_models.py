"""Stub models for a plan: free substitutes for models that cost money or hours.

They send no request to a server and read no key.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from gsum_resources.embedding.vectors import unit_length
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel, OnProgress
from gsum_resources.llm.openai_compatible import estimated_tokens
from gsum_resources.llm.stub_model import DryRunModel, Recalled, StubModel
from gsum_resources.llm.tokens import Window, window_of
from gsum_resources.models.by_work import LANGUAGE_MODELS, WORK, Models
from gsum_resources.protocols.models import Embedder, LanguageModel, OnRow, PassageScorer
from gsum_resources.settings.schema import ScorerSettings, Settings
from gsum_resources.state.database import state_of
from gsum_resources.store.memo import memo_folder
from gsum_resources.store.parquet_store import ParquetStore
from gsum_resources.text.vocabulary import content_stems


@dataclass(frozen=True)
class DryRunModels(Models):
    """Models of which those that cost money or hours are replaced by stubs.

    Attributes
    ----------
    recalled : by asset, the memoized replies of the real language models.
    """

    recalled: dict[str, Recalled] = field(default_factory=lambda: defaultdict(Recalled))

    def window(self, name: str = "language_model") -> Window:
        """Return the window of a model as far as it is known without its server."""
        settings = self.settings_of(name)
        if settings.backend != "openai_compatible":
            return super().window(name)
        return self._as_learnt(settings, window_of(settings))

    def language_model(
        self,
        ledger: Ledger,
        on_progress: OnProgress | None = None,
        on_failure: Callable[[str], None] | None = None,
        name: str = "language_model",
        on_filtered: Callable[[str], None] | None = None,
        retries_failures: bool = False,
    ) -> LedgeredModel:
        """Return a language model as `Models` does; record the memoized replies of real ones."""
        model = self._language_model(name)
        if not isinstance(model, StubModel):
            calls = ledger, on_progress, on_failure
            return super().language_model(*calls, name, on_filtered, retries_failures)

        def recall(reply: Recalled) -> None:
            self.recalled[ledger.asset] += reply

        window = partial(self.window, name)
        return DryRunModel(model, self.store, ledger, on_progress, on_failure, recall, window)


def stub_models(models: Models, store: ParquetStore) -> DryRunModels:
    """Return stubs of `models` that read and write `store`.

    Embedders that run in this process, and classical models, are used as they are.
    """
    from gsum_resources.llm.extractive import ExtractiveModel

    settings = models.settings
    state_of(store).behind = state_of(models.store)
    plain = Models(Settings(), store, models.ledger_table)
    writer = ExtractiveModel(LetterHashes())
    stubs: dict[str, LanguageModel | Embedder | PassageScorer] = dict(models.overrides)
    for name in (*LANGUAGE_MODELS, *WORK):
        of_work = models.settings_of(name)
        is_separate = name == "language_model" or of_work is not settings.llm
        if is_separate and name not in stubs and of_work.backend != "extractive":
            scope = getattr(models.bare(name), "failure_scope", "")
            stubs[name] = StubModel(of_work, models.identity(name), writer, scope)
    if "embedding_model" not in stubs and settings.embedding.backend == "openai_compatible":
        identity = models.identity("embedding_model")
        stubs["embedding_model"] = StubEmbedder(
            identity,
            settings.embedding.usd_per_million_tokens,
            plain.embedder,
            _known_dimension(store, identity) or plain.embedder.dimension,
        )
    if "passage_scorer" not in stubs and settings.scorer.backend != "unigram":
        identity = models.identity("passage_scorer")
        stubs["passage_scorer"] = StubScorer(settings.scorer, identity, plain.scorer)
    return DryRunModels(settings, store, models.ledger_table, stubs)


class LetterHashes:
    """An `Embedder` by shared trigrams of content words, 1000 times as fast as a network.

    Its cosines have a distribution similar to the packaged model's, which the extractive model uses
    to decide what is related: for questions and sentences of the sample meetings half are below
    0.06, and one in twenty is above 0.2, with both. So texts written with it are about as long, and
    as many passages are found relevant.
    """

    identity = "letter-hashes-2"
    dimension = 384

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of texts, `(n_texts, dimension)`."""
        from sklearn.feature_extraction.text import HashingVectorizer

        def trigrams(text: str) -> list[str]:  # of stems, with a blank around each
            words = [f" {stem} " for stem in content_stems(text)]
            return [word[at : at + 3] for word in words for at in range(len(word) - 2)]

        hashing: Any = HashingVectorizer(
            analyzer=trigrams,  # pyright: ignore[reportArgumentType] - it is untyped
            n_features=self.dimension - 1,
            alternate_sign=False,
        )
        counts = hashing.transform(texts).toarray()
        # the constant component keeps the vector of a text without content words from being zero
        return unit_length(np.hstack([counts, np.full((len(counts), 1), 0.05)]), self.identity)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of queries; see `embed`."""
        return self.embed(texts)


class StubEmbedder:
    """An `Embedder` that replaces a served one.

    Parameters
    ----------
    embedder : computes the vectors, which are truncated or padded with zeros.
    dimension : dimension of the real model's vectors in the memo.
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
        """Return float32 unit vectors of passages, `(n_texts, dimension)`."""
        self.tokens_read += sum(map(estimated_tokens, texts))
        given = self._embedder.embed(texts)[:, : self.dimension]
        vectors = np.pad(given, ((0, 0), (0, self.dimension - given.shape[1])))
        return unit_length(vectors, self.identity)

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return the vectors of queries by the same encoder as passages; see `embed`."""
        return self.embed(texts)


class StubScorer:
    """A `PassageScorer` that replaces a language model."""

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
        """Return scores, float64 `(n_candidates,)` per context.

        A passage is counted once alone, and once for each of its candidates.
        """
        for context, row in zip(contexts, candidates, strict=True):
            opening = self._read(context)
            self.tokens_read += opening + sum(opening + self._read(text) for text in row)
        return self._scorer.score(contexts, candidates, on_row)

    def _read(self, text: str) -> int:
        return min(estimated_tokens(text), self._longest)


def _known_dimension(store: ParquetStore, identity: str) -> int | None:
    """Return the dimension of a model's memoized vectors; None if there are none."""
    for path in store.fs.glob(f"{memo_folder(store, 'embeddings', identity)}/*/*.parquet"):
        with store.open_file(path) as source:
            values = pq.read_table(source, columns=["value"])["value"]
        return len(values[0].as_py()) // np.dtype(np.float32).itemsize
    return None
