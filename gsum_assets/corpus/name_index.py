"""Search of texts that contain a name, for many names at once.

Only texts that have all of a name's pieces are searched. Pieces are runs of ASCII letters and
digits, which `names.holds` never finds inside a longer run, and all three consecutive characters of
other scripts.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from gsum_assets.corpus.names import holds

_RUNS = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")
_LENGTH = 3  # characters of a piece of another script


def texts_holding(keys: Collection[str], text_keys: Sequence[str]) -> dict[str, frozenset[int]]:
    """Return the indices of the texts that contain each name.

    Parameters
    ----------
    keys : names normalized by `name_key`; one without a letter or digit is never found.
    text_keys : texts normalized by `name_key`.
    """
    pieces = {key: set(_pieces(key)) for key in keys}
    all_pieces = set().union(*pieces.values())
    texts_of_run: dict[str, set[int]] = defaultdict(set)
    for index, text in enumerate(text_keys):
        for run in _RUNS.findall(text):
            texts_of_run[run].add(index)
    texts_with: dict[str, set[int]] = defaultdict(set)
    for run, indices in texts_of_run.items():
        for piece in all_pieces.intersection(_all_pieces(run)):
            texts_with[piece] |= indices
    holding = {}
    for key, own_pieces in pieces.items():
        rarest_first = sorted((texts_with.get(piece, set()) for piece in own_pieces), key=len)
        candidates: set[int] = set.intersection(*rarest_first) if rarest_first else set()
        holding[key] = frozenset(index for index in candidates if holds(text_keys[index], key))
    return holding


def _pieces(key: str) -> Iterator[str]:
    """Yield the pieces that a text must have to contain a name."""
    for run in _RUNS.findall(key):
        length = len(run) if run.isascii() else min(_LENGTH, len(run))
        yield from _cut(run, length)


def _all_pieces(run: str) -> Iterator[str]:
    """Yield every possible piece of names in a run of a text."""
    if run.isascii():
        yield run
    else:
        for length in range(1, _LENGTH + 1):
            yield from _cut(run, length)


def _cut(run: str, length: int) -> Iterator[str]:
    """Return all substrings of `length` characters."""
    return (run[start : start + length] for start in range(len(run) - length + 1))
