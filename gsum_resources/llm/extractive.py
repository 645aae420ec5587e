"""The built-in default language model: classical, deterministic, without key or download.

It ranks, cuts and quotes passages, and every completion has `model = "extractive"`. Unsupported
requests get an error that names a backend which supports them.
"""

import hashlib
import threading
import time
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import BaseModel, ValidationError

from gsum_resources.protocols.models import (
    Completion,
    CompletionError,
    Embedder,
    OnReply,
    Reply,
    Request,
    Task,
)
from gsum_resources.protocols.results import Entities, Facts, Score, Topic
from gsum_resources.text.filling import UnfillableSchemaError, fill
from gsum_resources.text.reading import Reading, question_aspects
from gsum_resources.text.replies import Replies
from gsum_resources.text.sentences import Sentence, read_sentences
from gsum_resources.text.summarize import SummarySettings
from gsum_resources.text.vocabulary import count_tokens

NAME = "extractive"
VERSION = "25"
_BATCH = 256  # requests per embedding call
_SCHEMAS: dict[Task, type[BaseModel]] = {
    "entities": Entities,
    "facts": Facts,
    "topic": Topic,
    "score": Score,
}


@dataclass(frozen=True)
class _Prepared:
    request: Request
    sentences: list[Sentence]
    aspects: list[str]
    reading_s: float


class ExtractiveModel:
    """A `LanguageModel` that uses classical methods on sentence embeddings.

    It keeps `cache_size` sentence vectors in memory (20,000 of 384 dimensions take 31 MB).
    `vectors` is part of its identity in place of the embedder's identity.
    """

    def __init__(
        self,
        embedder: Embedder,
        settings: SummarySettings | None = None,
        cache_size: int = 20_000,
        vectors: str | None = None,
    ) -> None:
        self._embedder = embedder
        self._of_vectors = vectors or embedder.identity
        self._settings = settings or SummarySettings()
        self._cache_size = cache_size
        self._vectors: OrderedDict[str, np.ndarray] = OrderedDict()
        self._read: set[str] = set()  # passages, the vectors of whose sentences are kept
        self._lock = threading.Lock()

    @property
    def embedder(self) -> Embedder:
        """The embedder of sentences and questions."""
        return self._embedder

    @property
    def identity(self) -> str:
        """Version, and a hash of the settings and the embedder."""
        content = f"{self._settings}\n{self._of_vectors}"
        return f"{NAME}-{VERSION}/{hashlib.sha256(content.encode()).hexdigest()[:12]}"

    reads_weights = True
    only_quotes = True  # it writes sentences of the passages, and no numbers of them

    @property
    def structure(self) -> str:
        """Method of structured replies."""
        return "rules"

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order.

        The sentences of 256 requests are embedded in one call. Latency is a request's own time plus
        an equal share of the embedding. A generated question is empty if the passages have no
        sentence or keyphrase.
        """
        replies: list[Reply] = []
        for start in range(0, len(requests), _BATCH):
            for reply in self._complete_batch(requests[start : start + _BATCH]):
                if on_reply:
                    on_reply(len(replies), reply)
                replies.append(reply)
        return replies

    def prepare(self, passages: Sequence[str]) -> bool:
        """Embed the sentences of one document's passages; return whether there is room for more."""
        each = [sentence for passage in passages for sentence in read_sentences([passage])]
        # at the border of two passages a sentence is whole only where both are read
        self._embed(dict.fromkeys(s.embedded for s in (*read_sentences(passages), *each)))
        self._read.update(passages)
        return len(self._vectors) < self._cache_size

    def has_read(self, passage: str) -> bool:
        """Return whether the sentences of a passage need not be embedded."""
        return passage in self._read

    def learn(self, passage: str, vectors: Mapping[str, np.ndarray]) -> None:
        """Take the vectors of the sentences of a passage, by their texts, as embedded."""
        self._keep(vectors)
        self._read.add(passage)

    def _complete_batch(self, requests: Sequence[Request]) -> Iterator[Reply]:
        prepared = []
        for request in requests:
            started = time.perf_counter()
            labels = request.labels if request.is_brief else ()
            sentences = read_sentences(request.passages, labels)
            aspects = question_aspects(request.question)
            prepared.append(_Prepared(request, sentences, aspects, time.perf_counter() - started))
        started = time.perf_counter()
        vectors = self._embed(dict.fromkeys(s.embedded for p in prepared for s in p.sentences))
        texts = list(dict.fromkeys(aspect for p in prepared for aspect in p.aspects))
        of_texts = self._embedder.embed_queries(texts) if texts else ()
        of_aspects = dict(zip(texts, of_texts, strict=True))
        share = (time.perf_counter() - started) / max(1, len(requests))
        for each in prepared:
            yield self._reply(each, vectors, of_aspects, share)

    def _embed(self, texts: dict[str, None]) -> dict[str, np.ndarray]:
        with self._lock:
            known = {text: self._vectors[text] for text in texts if text in self._vectors}
        missing = [text for text in texts if text not in known]
        if missing:
            known.update(zip(missing, self._embedder.embed(missing), strict=True))
        self._keep(known)
        return known

    def _keep(self, vectors: Mapping[str, np.ndarray]) -> None:
        with self._lock:
            for text, vector in vectors.items():
                self._vectors[text] = vector
                self._vectors.move_to_end(text)
            while len(self._vectors) > self._cache_size:
                self._vectors.popitem(last=False)
                self._read.clear()

    def _reply(
        self,
        prepared: _Prepared,
        vectors: dict[str, np.ndarray],
        aspects: dict[str, np.ndarray],
        share: float,
    ) -> Reply:
        request, started = prepared.request, time.perf_counter()
        if not prepared.sentences:
            if request.task == "question":
                return Completion("", NAME, count_tokens(request.render()), 0, prepared.reading_s)
            what = "no sentence" if any(p.strip() for p in request.passages) else "no passage"
            return CompletionError(
                f"extractive: {request.described} has {what}; retrieve passages with words first, "
                "then repeat the request",
                NAME,
            )
        no_aspects = np.zeros((0, self._embedder.dimension), dtype=np.float32)
        reading = Reading(
            prepared.sentences,
            np.stack([vectors[s.embedded] for s in prepared.sentences]),
            request.question,
            np.stack([aspects[a] for a in prepared.aspects]) if prepared.aspects else no_aspects,
        )
        try:
            replies = Replies(request, reading, self._settings)
            schema = request.schema or _SCHEMAS.get(request.task)
            if schema:
                filled = fill(schema, replies)
                text, parsed = filled.model_dump_json(), filled if request.schema else None
            else:
                text = replies.question if request.task == "question" else replies.summary
                parsed = None
        except (UnfillableSchemaError, ValidationError) as error:
            return CompletionError(
                f"extractive: cannot fill {error}; give the field a default, use a model of "
                "gsum_resources.protocols.results, or choose another language model",
                NAME,
            )
        own_s = prepared.reading_s + time.perf_counter() - started
        tokens_in = count_tokens(request.instructions) + count_tokens(request.render())
        return Completion(text, NAME, tokens_in, count_tokens(text), own_s + share, parsed)
