"""The end of a message about an unknown name."""

import pytest

from gsum_resources.messages.suggest import did_you_mean

METHODS = ("bm25", "dense", "hybrid", "graphrag-c0", "graphrag-c1", "graphrag-c2", "graphrag-local")


@pytest.mark.parametrize(
    ("word", "known", "end"),
    [
        ("desne", METHODS, "; did you mean 'dense'?"),
        ("bm52", METHODS, "; did you mean 'bm25'?"),
        ("DENSE", METHODS, "; did you mean 'dense'?"),
        ("hyb", METHODS, "; did you mean 'hybrid'?"),
        ("graphrag-c", METHODS, "; did you mean 'graphrag-c0', 'graphrag-c1' or 'graphrag-c2'?"),
        ("xyz", ("a", "b"), "; known: a, b"),
        ("xyz", "abcdefghij", "; known: a, b, c, d, e, f, g, h … (10 in all)"),
        ("", ("a", "b"), "; known: a, b"),
        ("xyz", (), ""),
        ("dens", ("sense", "dense"), "; did you mean 'dense' or 'sense'?"),
    ],
)
def test_nearest_names_or_some_of_all_are_suggested(
    word: str, known: tuple[str, ...], end: str
) -> None:
    assert did_you_mean(word, known) == end
