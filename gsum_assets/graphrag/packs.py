"""Texts put together to prompts of a given length, so that a new text disturbs few of them."""

from collections.abc import Sequence

from gsum_resources.content_hash import hash_texts

# A pack may end early, once it is this full, behind a text that its hash marks (one in three):
# behind the next such place two packings of nearly the same texts agree again.
_FULL, _MARKED = 0.75, 3


def packs(keys: Sequence[str], sizes: Sequence[int], room: int) -> list[list[int]]:
    """Places of the texts of each pack, in order; a text that is too long is alone in its pack.

    Parameters
    ----------
    keys : what a text is known by, so that ends of packs depend on it and not on its place.
    sizes : length of each text with its mark, in the unit of `room`.
    room : most that the texts of a pack have together.
    """
    found: list[list[int]] = []
    used = room + 1  # as if there were a full pack before
    for place, (key, size) in enumerate(zip(keys, sizes, strict=True)):
        if used + size > room:
            found.append([])
            used = 0
        found[-1].append(place)
        used += size
        if used >= _FULL * room and int(hash_texts(["pack", key])[:8], 16) % _MARKED == 0:
            used = room + 1
    return found
