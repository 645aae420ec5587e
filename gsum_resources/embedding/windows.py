"""Texts cut into windows of tokens: nothing is dropped, each window knows its text."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from tokenizers import Encoding, Tokenizer


@dataclass(frozen=True)
class Windows:
    """Token windows of some texts, those of one text side by side and in order.

    Attributes
    ----------
    ids : for each window the model's input, special tokens and prefix included.
    owner : index of the text a window comes from, `(n_windows,)`.
    n_content : tokens of a window that stem from the text itself, `(n_windows,)`.
    full_length : tokens of a full window, special tokens and prefix included.
    """

    ids: list[np.ndarray]
    owner: np.ndarray
    n_content: np.ndarray
    full_length: int


class WindowCutter:
    """Cuts texts by a model's own tokenizer.

    Parameters
    ----------
    folder : holds `tokenizer.json`, or files that transformers can make a fast tokenizer of.
    """

    def __init__(self, folder: Path) -> None:
        self._tokenizer = _fast_tokenizer(folder)
        framed = self._tokenizer.encode("a")
        content = [i for i, special in enumerate(framed.special_tokens_mask) if not special]
        self._before = np.asarray(framed.ids[: content[0]], np.int64)
        self._after = np.asarray(framed.ids[content[-1] + 1 :], np.int64)

    def overhead(self, prefix: str) -> int:
        """Return the tokens of a window beside its content: special ones and the prefix."""
        opening = len(self._tokenizer.encode(prefix, add_special_tokens=False)) if prefix else 0
        return len(self._before) + len(self._after) + opening

    def cut(
        self,
        texts: Sequence[str],
        window_tokens: int,
        prefix: str = "",
        first_index: int = 0,
    ) -> Windows:
        """Return the windows of `window_tokens` content tokens; the last one of a text may be shorter.

        The prefix opens every window, since each is a passage of its own for the model.

        Raises
        ------
        ValueError
            If a text has no tokens; the message counts texts from `first_index`.
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
                raise ValueError(
                    f"text {first_index + index} of those to embed has no tokens "
                    f"({texts[index][:40]!r}); leave blank texts out"
                )
            for start in range(0, len(content), window_tokens):
                window = content[start : start + window_tokens]
                ids.append(np.concatenate([self._before, opening, window, self._after]))
                owner.append(index)
                n_content.append(len(window))
        return Windows(ids, np.asarray(owner, np.int64), np.asarray(n_content, np.int64), full)

    def beginnings(self, texts: Sequence[str], max_tokens: int) -> list[np.ndarray]:
        """Return input for the beginning of each text: at most `max_tokens`, special tokens
        included.
        """
        most = max_tokens - self.overhead("")
        encodings = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        contents = (np.asarray(encoding.ids[:most], np.int64) for encoding in encodings)
        return [np.concatenate([self._before, ids, self._after]) for ids in contents]

    @property
    def frame(self) -> np.ndarray:
        """Special tokens that the model puts around every input."""
        return np.concatenate([self._before, self._after])


def _prefix_length(encoding: "Encoding", prefix: str) -> int:
    """Return the tokens that stem from the prefix.

    Told by offsets: where a tokenizer joins a space to the word after it, the prefix cut alone
    would end in another token than the prefix in front of a text.
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
    else:  # older models carry a vocabulary only; transformers knows how to read it
        from transformers import AutoTokenizer

        tokenizer = AutoTokenizer.from_pretrained(folder).backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer
