"""A rehearsal of a run: a copy of the home, and models that cost nothing in place of those that do.

Nothing of the real home is written, no server is asked, no key is read.
"""

import os
import shutil
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import dagster as dg
import numpy as np
import pyarrow.parquet as pq

from gsum_resources.dagster_private import NO_COMPUTE_LOGS
from gsum_resources.embedding.vectors import unit_length
from gsum_resources.home import Home
from gsum_resources.instance import CONFIG_FILE
from gsum_resources.llm.classical.vocabulary import content_stems
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel, OnProgress
from gsum_resources.llm.openai_compatible import estimated_tokens
from gsum_resources.llm.rehearsal import Recalled, RehearsedModel, Understudy
from gsum_resources.llm.tokens import Window, window_of
from gsum_resources.memo import memo_folder
from gsum_resources.models import LANGUAGE_MODELS, WORK, Models
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import Embedder, LanguageModel, OnRow, PassageScorer
from gsum_resources.settings import SETTINGS_FILE, ScorerSettings, Settings
from gsum_resources.state import state_of
from gsum_resources.warehouse_io import WarehouseIO

_MEMOS = "_memo"


@contextmanager
def rehearsal_home(home: Home, corpus: str, tables: Iterable[str]) -> Iterator[Home]:
    """A home for a while: settings and documents of `home`, and a copy of a corpus's tables.

    Files are immutable, so that a local store's are linked where the disk allows that.

    Parameters
    ----------
    tables : whose files are taken along, with all memos.
    """
    with TemporaryDirectory(prefix="gsum-rehearsal-") as folder:
        root = Path(folder).resolve()
        (root / "corpora").mkdir()
        (root / "corpora" / corpus).symlink_to(home.corpora / corpus)
        with suppress(FileNotFoundError):
            shutil.copyfile(home.root / SETTINGS_FILE, root / SETTINGS_FILE)
        (root / "prompts").symlink_to(home.root / "prompts")  # which need not be there
        store = home.open_store()
        for part in (_MEMOS, *(f"{name}/corpus={corpus}" for name in tables)):
            _take(store, f"{store.root}/{part}", root / "warehouse" / part)
        yield Home(root, str(root / "warehouse"))


def rehearsal_instance(home: Home) -> dg.DagsterInstance:
    """A Dagster instance in the home of a rehearsal, whatever `DAGSTER_HOME` says."""
    beside = home.root / "dagster"
    beside.mkdir()
    (beside / CONFIG_FILE).touch()  # Dagster remarks on it where there is none
    folder = str(beside)
    storage = {"module": "gsum_resources.event_log", "class": "InstanceStorage"}
    return dg.DagsterInstance.local_temp(
        folder,
        {
            "telemetry": {"enabled": False},
            "storage": {"custom": {**storage, "config": {"base_dir": folder}}},
            "compute_logs": NO_COMPUTE_LOGS,
        },
    )


def _take(store: ParquetStore, source: str, target: Path) -> None:
    """Link or copy a folder of the store; what another process merges meanwhile is there anew."""
    complete = False
    while not complete:
        complete = True
        store.fs.invalidate_cache(source)
        for path in store.fs.find(source):
            beside = target / path[len(source) :].lstrip("/")
            if beside.exists() or path.endswith(".part"):
                continue
            beside.parent.mkdir(parents=True, exist_ok=True)
            try:
                _copy(store, path, beside)
            except FileNotFoundError:
                complete = False


def _copy(store: ParquetStore, path: str, target: Path) -> None:
    if store.is_local:
        try:
            os.link(path, target)
        except FileNotFoundError:
            raise
        except OSError:  # another disk, or one without links
            pass
        else:
            return
    store.fs.get_file(path, str(target))


class RehearsedWarehouse(WarehouseIO):
    """Without a catalogue: nobody would read it."""

    def rebuild_catalogue(self) -> None:
        """Not here."""


@dataclass(frozen=True)
class RehearsedModels(Models):
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
        if not isinstance(model, Understudy):
            return super().language_model(ledger, on_progress, on_failure, name)

        def recall(one: Recalled) -> None:
            self.recalled[ledger.asset] += one

        window = partial(self.window, name)
        return RehearsedModel(model, self.store, ledger, on_progress, on_failure, recall, window)


def rehearsed(models: Models, store: ParquetStore) -> RehearsedModels:
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
            cast[name] = Understudy(own, models.identity(name), writer, scope)
    if "embedding_model" not in cast and settings.embedding.backend == "openai_compatible":
        identity = models.identity("embedding_model")
        cast["embedding_model"] = UnderstudyEmbedder(
            identity,
            settings.embedding.usd_per_million_tokens,
            plain.embedder,
            _known_dimension(store, identity) or plain.embedder.dimension,
        )
    if "passage_scorer" not in cast and settings.scorer.backend != "unigram":
        identity = models.identity("passage_scorer")
        cast["passage_scorer"] = UnderstudyScorer(settings.scorer, identity, plain.scorer)
    return RehearsedModels(settings, store, models.ledger_table, cast)


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


class UnderstudyEmbedder:
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


class UnderstudyScorer:
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
