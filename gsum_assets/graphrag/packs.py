"""Packing of texts into prompts of a given length, such that a new text changes few packs."""

from collections.abc import Sequence

from gsum_resources.store.content_hash import hash_texts

# A pack that is this full ends early after a text marked by its hash (one in three), so that two
# packings of nearly the same texts agree again after such a text.
_FULL, _MARKED = 0.75, 3


def packs(keys: Sequence[str], sizes: Sequence[int], room: int) -> list[list[int]]:
    """Return the indices of the texts of each pack, in order; a too long text is alone in its pack.

    Parameters
    ----------
    keys : id of each text, on which, and not on its position, ends of packs depend.
    sizes : length of each text with its number, in the unit of `room`.
    """
    packed: list[list[int]] = []
    used = room + 1  # starts a new pack
    for index, (key, size) in enumerate(zip(keys, sizes, strict=True)):
        if used + size > room:
            packed.append([])
            used = 0
        packed[-1].append(index)
        used += size
        if used >= _FULL * room and int(hash_texts(["pack", key])[:8], 16) % _MARKED == 0:
            used = room + 1
    return packed
