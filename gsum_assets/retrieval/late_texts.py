"""Texts that are read when they are used."""

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import overload


class LateTexts(Sequence[str]):
    """Texts that are read when the first one is used; a slice reads its own only.

    Parameters
    ----------
    ids : ids of the texts, `(n,)`.
    read : returns the texts of some of them.
    """

    def __init__(self, ids: Sequence[str], read: Callable[[Sequence[str]], Sequence[str]]) -> None:
        self._ids, self._read = ids, read

    @cached_property
    def _texts(self) -> Sequence[str]:
        return self._read(self._ids)

    def at(self, indices: Sequence[int]) -> Sequence[str]:
        """Return some of the texts, without reading the others."""
        if "_texts" in self.__dict__:
            return [self._texts[index] for index in indices]
        return self._read([self._ids[index] for index in indices])

    def __len__(self) -> int:
        return len(self._ids)

    def __iter__(self) -> Iterator[str]:
        return iter(self._texts)

    @overload
    def __getitem__(self, index: int) -> str: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[str]: ...
    def __getitem__(self, index: int | slice) -> str | Sequence[str]:
        if isinstance(index, slice) and "_texts" not in self.__dict__:
            return LateTexts(self._ids[index], self._read)
        return self._texts[index]


def texts_at(texts: Sequence[str], indices: Sequence[int]) -> Sequence[str]:
    """Return some of the texts, of `LateTexts` without reading the others."""
    if isinstance(texts, LateTexts):
        return texts.at(indices)
    return [texts[index] for index in indices]
