"""Joining of overlapping passages: retrieved chunks of one document share their borders."""

from collections import defaultdict
from collections.abc import Iterator, Sequence

MIN_OVERLAP = 30  # characters; shorter overlaps are accidental ("Okay.\nMarketing: Yeah.")


def join_overlapping(passages: Sequence[str], min_overlap: int = MIN_OVERLAP) -> list[str]:
    """Join passages whose ends overlap; drop those contained in others.

    The runs of text have the order of their first passages, best first. An overlap has at least
    `min_overlap` characters. Linear in the total length.
    """
    texts = list(dict.fromkeys(stripped for p in passages if (stripped := p.strip())))
    contained, borders = _containments_and_borders(texts, min_overlap)
    following: dict[int, tuple[int, int]] = {}  # passage -> (next passage, shared characters)
    preceded: set[int] = set()
    for shared, left, right in sorted(borders, key=lambda b: (-b[0], b[1], b[2])):
        free = left not in following and right not in preceded
        if free and not {left, right} & contained and left not in _chain(following, right):
            following[left] = (right, shared)
            preceded.add(right)
    runs = []
    for start in set(range(len(texts))) - preceded - contained:
        members = list(_chain(following, start))
        pieces = [texts[start], *(texts[following[m][0]][following[m][1] :] for m in members[:-1])]
        runs.append((min(members), "".join(pieces)))
    return [text for _, text in sorted(runs)]


def _containments_and_borders(
    texts: list[str], size: int
) -> tuple[set[int], list[tuple[int, int, int]]]:
    """Return texts contained in others, and (shared characters, left, right) of every border.

    Where a text begins inside another one, its first `size` characters hold one of the pieces that
    stand at every `step`-th character there: these are looked up, not each character.
    """
    step = max(1, size // 2)
    length = size - step + 1  # of a piece
    heads: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for i, text in enumerate(texts):
        if len(text) >= size:
            for offset in range(step):
                heads[text[offset : offset + length]].append((i, offset))
    contained: set[int] = set()
    borders = []
    for left, text in enumerate(texts):
        for position in range(0, len(text) - length + 1, step):
            for right, offset in heads.get(text[position : position + length], ()):
                start = position - offset
                if right == left or not 0 <= start <= len(text) - size:
                    continue
                if text.startswith(texts[right], start):
                    contained.add(right)
                elif start and texts[right].startswith(text[start:]):
                    borders.append((len(text) - start, left, right))
    return contained, borders


def _chain(following: dict[int, tuple[int, int]], start: int) -> Iterator[int]:
    yield start
    while start in following:
        start = following[start][0]
        yield start
