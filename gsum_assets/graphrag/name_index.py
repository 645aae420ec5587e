"""Finds the texts that hold a name, for many names at once.

A name can only stand in a text that has all of the name's pieces, so only such texts are searched.
Pieces are the runs of plain letters and digits, which `names.holds` never finds inside a longer
one, and of other scripts all three characters in a row.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence

from gsum_assets.corpus.names import holds

_RUNS = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")
_LENGTH = 3  # characters of a piece of another script


def texts_holding(keys: Collection[str], text_keys: Sequence[str]) -> dict[str, frozenset[int]]:
    """Return the places of the texts that hold each name.

    Parameters
    ----------
    keys : names as `name_key` makes them; one without a letter or digit is found nowhere.
    text_keys : texts as `name_key` makes them.
    """
    pieces = {key: set(_pieces(key)) for key in keys}
    wanted = set().union(*pieces.values())
    texts_of_run: dict[str, set[int]] = defaultdict(set)
    for place, text in enumerate(text_keys):
        for run in _RUNS.findall(text):
            texts_of_run[run].add(place)
    texts_with: dict[str, set[int]] = defaultdict(set)
    for run, places in texts_of_run.items():
        for piece in wanted.intersection(_all_pieces(run)):
            texts_with[piece] |= places
    found = {}
    for key, own in pieces.items():
        rarest_first = sorted((texts_with.get(piece, set()) for piece in own), key=len)
        candidates: set[int] = set.intersection(*rarest_first) if rarest_first else set()
        found[key] = frozenset(place for place in candidates if holds(text_keys[place], key))
    return found


def _pieces(key: str) -> Iterator[str]:
    """What a text must have to hold a name."""
    for run in _RUNS.findall(key):
        length = len(run) if run.isascii() else min(_LENGTH, len(run))
        yield from _cut(run, length)


def _all_pieces(run: str) -> Iterator[str]:
    """Yield every piece that a name in a run of a text can have."""
    if run.isascii():
        yield run
    else:
        for length in range(1, _LENGTH + 1):
            yield from _cut(run, length)


def _cut(run: str, length: int) -> Iterator[str]:
    """Return all stretches of `length` characters."""
    return (run[start : start + length] for start in range(len(run) - length + 1))
