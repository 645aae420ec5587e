"""Packs keep order and room, lose nothing, and soon agree again behind a text that is new."""

import random
from statistics import mean

from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.graphrag.descriptions import packs


@given(st.lists(st.integers(0, 130)), st.integers(-5, 100))
def test_packs_keep_order_and_room_and_lose_nothing(sizes: list[int], room: int) -> None:
    found = packs([str(i) for i in range(len(sizes))], sizes, room)
    assert [index for pack in found for index in pack] == list(range(len(sizes)))
    assert all(found)
    for pack in found:
        assert sum(sizes[index] for index in pack) <= room or len(pack) == 1


def test_texts_of_exactly_the_room_form_one_pack() -> None:
    keys = next(k for i in range(99) if len(packs(k := [f"{i}a", f"{i}b"], [80, 20], 100)) == 1)
    assert packs(keys, [80, 21], 100) == [[0], [1]]


def test_one_more_text_changes_few_packs() -> None:
    """Plainly filled packs all shift behind a new text: about half of them, on the mean."""
    rng = random.Random(0)
    texts = [(f"text {i}", rng.randint(20, 300)) for i in range(300)]

    def packed(of: list[tuple[str, int]]) -> list[tuple[str, ...]]:
        keys, sizes = zip(*of, strict=True)
        return [tuple(keys[i] for i in pack) for pack in packs(keys, sizes, 2000)]

    before, changes = packed(texts), []
    for at in range(0, 301, 3):
        after = packed([*texts[:at], ("new", 150), *texts[at:]])
        changes.append(len(set(after) - set(before)))
    assert mean(changes) < len(before) / 5
    assert sorted(changes)[len(changes) // 2] <= 3
