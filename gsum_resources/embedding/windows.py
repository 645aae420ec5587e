"""Texts cut into windows of tokens, and vectors of texts from those of their windows."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


_FOR_UNSEEN = "."  # embedded instead of a text without tokens


@dataclass(frozen=True)
class Windows:
    """Token windows of texts; the windows of a text are adjacent and in order.

    `ids` of each window and the `full_length` of a window include special tokens and prefix.
    `owner` is the index of each window's text, `n_content` the number of its tokens that belong to
    the text, both `(n_windows,)`.
    """

    ids: list[np.ndarray]
    owner: np.ndarray
    n_content: np.ndarray
    full_length: int


class WindowCutter:
    """Cuts texts with the tokenizer in a model's folder."""

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _fast_tokenizer(folder)
        framed = self._tokenizer.encode("a")
        content = [i for i, special in enumerate(framed.special_tokens_mask) if not special]
        self._before = np.asarray(framed.ids[: content[0]], np.int64)
        self._after = np.asarray(framed.ids[content[-1] + 1 :], np.int64)
        unseen = self._tokenizer.encode(_FOR_UNSEEN, add_special_tokens=False)
        self._for_unseen = np.asarray(unseen.ids, np.int64)

    def overhead(self, prefix: str) -> int:
        """Return the tokens of a window besides its content: special tokens and the prefix."""
        opening = len(self._tokenizer.encode(prefix, add_special_tokens=False)) if prefix else 0
        return len(self._before) + len(self._after) + opening

    def cut(self, texts: Sequence[str], window_tokens: int, prefix: str = "") -> Windows:
        """Return windows of `window_tokens` content tokens; the last of a text may be shorter.

        Every window begins with the prefix. A text without tokens is read as ".".
        """
        encodings = self._tokenizer.encode_batch(
            [prefix + text for text in texts], add_special_tokens=False
        )
        full = window_tokens + self.overhead(prefix)
        ids: list[np.ndarray] = []
        owner: list[int] = []
        n_content: list[int] = []
        for index, encoding in enumerate(encodings):
            tokens = np.asarray(encoding.ids, np.int64)
            n_prefix = _prefix_length(encoding, prefix)
            opening, content = tokens[:n_prefix], tokens[n_prefix:]
            if not len(content):
                content = self._for_unseen
            for start in range(0, len(content), window_tokens):
                window = content[start : start + window_tokens]
                ids.append(np.concatenate([self._before, opening, window, self._after]))
                owner.append(index)
                n_content.append(len(window))
        return Windows(ids, np.asarray(owner, np.int64), np.asarray(n_content, np.int64), full)

    def beginnings(self, texts: Sequence[str], max_tokens: int) -> list[np.ndarray]:
        """Return the first `max_tokens` tokens of each text, special tokens included."""
        most = max_tokens - self.overhead("")
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        contents = (np.asarray(encoding.ids[:most], np.int64) for encoding in encodings)
        return [np.concatenate([self._before, ids, self._after]) for ids in contents]

    @property
    def frame(self) -> np.ndarray:
        """Special tokens around every input."""
        return np.concatenate([self._before, self._after])


def _prefix_length(encoding: "Encoding", prefix: str) -> int:
    """Return the number of tokens that belong to the prefix, by their offsets.

    A tokenizer that joins a space to the following word ends the prefix alone with another token.
    """
    visible = len(prefix.rstrip())
    if not visible:
        return 0
    return next(
        (i for i, (start, _) in enumerate(encoding.offsets) if start >= visible), len(encoding.ids)
    )


def _fast_tokenizer(folder: Path) -> "Tokenizer":
    """Return the model's tokenizer without its stored truncation and padding."""
    from tokenizers import Tokenizer

    file = folder / "tokenizer.json"
    if file.is_file():
        tokenizer = Tokenizer.from_file(str(file))
    else:  # older models have only a vocabulary, which transformers can read
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer


def weighted_means(
    vectors: np.ndarray, owner: np.ndarray, weights: np.ndarray, n_texts: int
) -> np.ndarray:
    """Return the weighted mean vector of each text's windows, float64 `(n_texts, dim)`.

    From vectors of windows, `(n_windows, dim)`, the index of the text of each, of which every text
    has one, and positive weights, such as tokens, both `(n_windows,)`.
    """
    totals = np.bincount(owner, weights, minlength=n_texts)
    shares = weights / totals[owner]
    means = np.zeros((n_texts, vectors.shape[1]))
    np.add.at(means, owner, vectors * shares[:, None])
    return means


def unit_length(vectors: np.ndarray, model: str) -> np.ndarray:
    """Return rows divided by their Euclidean length, float32; `model` is named in the error.

    Raises `ValueError` if a row is zero or not finite, which means that the model is damaged.
    """
    wide = vectors.astype(np.float64)
    lengths = np.linalg.norm(wide, axis=1, keepdims=True)
    broken = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if len(broken):
        raise ValueError(
            f"embedding model '{model}': {len(broken)} of {len(vectors)} vectors are zero or not "
            f"finite (first: row {broken[0]}); its weights are damaged or do not suit the "
            "precision; try precision='float32' or download the model again"
        )
    return (wide / lengths).astype(np.float32)
