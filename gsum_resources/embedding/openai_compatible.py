"""`OpenAICompatibleEmbedder`: unit vectors of texts of any length, computed by a server."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, pairwise
from typing import Any

import numpy as np

from gsum_resources.embedding.windows import unit_length, weighted_means
from gsum_resources.endpoint import Endpoint, EndpointError
from gsum_resources.protocols.models import EmbedderUnavailableError
from gsum_resources.settings.schema import EmbeddingSettings

VERSION = "1"  # raise it with every change of how texts are cut or vectors combined

_BYTES_PER_TOKEN = 2
_BYTES_PER_COUNT = 4  # bytes per token if a server does not count tokens
_BATCH_WINDOWS = 32  # limit of the strictest servers
_BATCH_BYTES = 200_000
_SHORTEST_WINDOW = 64  # bytes; a shorter window is rejected for another reason
_REJECTED = frozenset({400, 413, 422})
_TOO_LONG = re.compile(r"too (long|large|many)|context|length|maximum|exceed", re.IGNORECASE)
_TOO_MUCH = re.compile(r"batch.size|too (long|large|many (?!requests))|context.length", re.I)
"""What is wrong with the input, in an answer with the status of a fault of the server."""
_OF_BATCH = re.compile(r"batch|inputs|\bitems", re.IGNORECASE)


class EmbeddingError(ValueError):
    """Unusable vectors, or a text that cannot be embedded; names model and server."""


class OpenAICompatibleEmbedder:
    """An `Embedder` served over HTTP.

    A text is cut into windows of `2 * max_tokens` bytes of UTF-8, between words where possible,
    since some servers truncate long inputs silently; one that is rejected as too long is halved.
    The vector of a text is the mean of its windows', weighted by bytes, of unit length.
    """

    def __init__(self, settings: EmbeddingSettings, endpoint: Endpoint) -> None:
        self._settings = settings
        self._endpoint = endpoint
        self._name = f"embedding model '{settings.model}' at {settings.base_url}"
        self._dimension = 0
        self._most_windows = _BATCH_WINDOWS  # fewer once the server has named its limit
        self.usd_per_million_tokens = settings.usd_per_million_tokens
        self.tokens_read = 0

    @property
    def identity(self) -> str:
        """Backend, model, version and window."""
        settings = self._settings
        version = f"/version={settings.version}" if settings.version else ""
        window = f"window={settings.max_tokens}"
        return f"openai_compatible-{VERSION}/{settings.model}{version}/{window}"

    @property
    def dimension(self) -> int:
        """Length of a vector, from the first reply; sends a request if there was none."""
        if not self._dimension:
            self.embed(["dimension"])
        return self._dimension

    def embed(self, texts: Sequence[str]) -> np.ndarray:
        """Return float32 unit vectors of passages, `(n_texts, dimension)`."""
        return self.embed_streaming(texts, lambda index, vector: None)

    def embed_streaming(
        self, texts: Sequence[str], on_vector: Callable[[int, np.ndarray], None]
    ) -> np.ndarray:
        """Return float32 unit vectors of passages, `(n_texts, dimension)`.

        `on_vector` is called in the calling thread with index and vector of each text as soon as it
        is computed. Raises `EmbeddingError` for a blank or rejected text and for invalid vectors.
        """
        if not len(texts):
            return np.zeros((0, self.dimension), np.float32)
        windows, owner = self._cut(texts)
        n_bytes = np.array([len(window.encode("utf-8", "replace")) for window in windows])
        bounds = _batch_bounds(n_bytes)
        first = np.searchsorted(owner, np.arange(len(texts) + 1))  # first window of each text
        rows: dict[int, np.ndarray] = {}  # by window
        vectors: dict[int, np.ndarray] = {}  # by text

        def on_batch(nth: int, received: np.ndarray) -> None:
            rows.update(enumerate(received, bounds[nth]))
            for text in dict.fromkeys(owner[bounds[nth] : bounds[nth + 1]].tolist()):
                of_text = range(first[text], first[text + 1])
                if rows.keys() >= set(of_text):
                    of_windows = np.stack([rows[window] for window in of_text])
                    vectors[text] = self._vector(of_windows, n_bytes[of_text.start : of_text.stop])
                    on_vector(text, vectors[text])

        self._endpoint.map(self._embed_batch, [windows[a:b] for a, b in pairwise(bounds)], on_batch)
        return np.stack([vectors[text] for text in range(len(texts))])

    def _vector(self, windows: np.ndarray, n_bytes: np.ndarray) -> np.ndarray:
        """Return the vector of one text, `(dimension,)`, from those of its windows."""
        owner = np.zeros(len(windows), np.int64)
        mean = weighted_means(windows, owner, n_bytes.astype(float), 1)
        return unit_length(mean, f"{self._settings.model}' at '{self._settings.base_url}")[0]

    def embed_queries(self, texts: Sequence[str]) -> np.ndarray:
        """Return vectors of queries by the same encoder as passages; see `embed`."""
        return self.embed(texts)

    def _cut(self, texts: Sequence[str]) -> tuple[list[str], np.ndarray]:
        """Return the windows of all texts, and the index of the text of each, `(n_windows,)`."""
        of_texts = [list(cut(t, self._settings.max_tokens * _BYTES_PER_TOKEN)) for t in texts]
        if [] in of_texts:
            index = of_texts.index([])
            raise EmbeddingError(
                f"{self._name}: text {index} of those to embed is blank; leave it out"
            )
        return list(chain(*of_texts)), np.repeat(np.arange(len(texts)), [*map(len, of_texts)])

    async def _embed_batch(self, windows: Sequence[str]) -> np.ndarray:
        """Return the vectors of windows, `(n_windows, dimension)`; a rejected batch is split."""
        if len(windows) > self._most_windows:
            return await self._embed_pieces(windows, self._most_windows)
        body = {"model": self._settings.model, "input": windows, "encoding_format": "float"}
        try:
            answer = await self._endpoint.post("/embeddings", body, 0, _rows, is_rejection)
        except EndpointError as error:
            failure = error
        else:
            counted = sum(len(w.encode("utf-8", "replace")) for w in windows) // _BYTES_PER_COUNT
            self.tokens_read += answer.tokens_in if answer.tokens_in is not None else counted
            return self._checked(answer.value, len(windows))
        if not is_rejection(failure.status, str(failure)):
            raise EmbedderUnavailableError(f"{self._name}: {failure}; run again later")
        if len(windows) == 1:
            return await self._embed_halves(windows[0], failure)
        if limit := most_inputs(str(failure), len(windows)):
            self._most_windows = min(self._most_windows, limit)
        return await self._embed_pieces(windows, limit or len(windows) // 2)

    async def _embed_pieces(self, windows: Sequence[str], size: int) -> np.ndarray:
        pieces = [windows[start : start + size] for start in range(0, len(windows), size)]
        return np.concatenate([await self._embed_batch(piece) for piece in pieces])

    async def _embed_halves(self, window: str, failure: EndpointError) -> np.ndarray:
        """Return the vector of a rejected window, `(1, dimension)`, from those of its halves."""
        n_bytes = len(window.encode("utf-8", "replace"))
        if not _TOO_LONG.search(str(failure)) or n_bytes < 2 * _SHORTEST_WINDOW:
            raise EmbeddingError(f"{self._name} rejects the text {window[:40]!r}…: {failure}")
        halves = list(cut(window, -(-n_bytes // 2)))
        vectors = await self._embed_pieces(halves, 1)
        weights = [len(half.encode("utf-8", "replace")) for half in halves]
        return np.average(vectors, axis=0, weights=weights)[None]

    def _checked(self, rows: list[Any], n_windows: int) -> np.ndarray:
        """Return the validated vectors of a reply, `(n_windows, dimension)`, float64."""
        if len(rows) != n_windows:
            raise EmbeddingError(
                f"{self._name} sent {len(rows)} vectors for {n_windows} texts; it does not follow "
                "the protocol; use another server"
            )
        wanted = self._dimension or len(rows[0])
        wrong = next((len(row) for row in rows if len(row) != wanted or not wanted), None)
        if wrong is not None:
            raise EmbeddingError(
                f"{self._name} sent a vector of length {wrong}, others have {wanted}; change "
                "version in [embedding] of gsum.toml if the model behind the name is a new one"
            )
        vectors = np.asarray(rows, np.float64)
        if not np.isfinite(vectors).all():
            raise EmbeddingError(
                f"{self._name} sent a vector that is not finite; use another server"
            )
        self._dimension = wanted
        return vectors


def cut(text: str, max_bytes: int) -> Iterator[str]:
    """Yield windows of at most `max_bytes` bytes of UTF-8; blank windows are left out.

    A window ends after the last blank in its second half, or else after a character.
    """
    encoded = text.encode("utf-8", "replace")
    start = 0
    while start < len(encoded):
        end = start + max_bytes
        if end < len(encoded):
            blank = max(encoded.rfind(mark, start + max_bytes // 2, end) for mark in (b" ", b"\n"))
            end = blank + 1 if blank >= 0 else end
            while encoded[end] & 0xC0 == 0x80:  # inside a character
                end -= 1
        window = encoded[start:end].decode()
        if window.strip():
            yield window
        start = end


def _batch_bounds(n_bytes: np.ndarray) -> list[int]:
    """Return batch boundaries, with at most `_BATCH_WINDOWS` and `_BATCH_BYTES` per batch."""
    bounds, filled = [0], 0
    for i, n in enumerate(n_bytes.tolist()):
        if i > bounds[-1] and (i - bounds[-1] == _BATCH_WINDOWS or filled + n > _BATCH_BYTES):
            bounds.append(i)
            filled = 0
        filled += n
    return [*bounds, len(n_bytes)]


def is_rejection(status: int, message: str) -> bool:
    """Return whether an answer is about the input, so that to send it again is useless."""
    return status in _REJECTED or (status >= 500 and bool(_TOO_MUCH.search(message)))


def most_inputs(message: str, n_windows: int) -> int:
    """Return the most inputs of a request by a rejection of `n_windows`: half without a number.

    0 if it is about something else: a limit of tokens allows as many shorter texts as before.
    """
    if not _OF_BATCH.search(message) or "token" in message:
        return 0
    numbers = (int(number) for number in re.findall(r"(?<![\w.])\d{1,6}(?!\w|\.\d)", message))
    return max((number for number in numbers if 0 < number < n_windows), default=n_windows // 2)


def _rows(reply: Any) -> list[list[float]]:
    data = reply["data"]
    return [row["embedding"] for row in sorted(data, key=lambda row: row.get("index", 0))]
