"""Texts without a visible character."""

from unicodedata import category

_INVISIBLE = frozenset(("Cc", "Cf", "Cn", "Cs", "Zl", "Zp", "Zs"))
_BLANK_LETTERS = frozenset(  # fillers of Hangul, the blank of Braille, joiners and selectors
    ["\u115f", "\u1160", "\u3164", "\uffa0", "\u2800", "\u034f", *map(chr, range(0xFE00, 0xFE10))]
)


def is_blank(text: str) -> bool:
    """Return whether a text has only blanks, control, formatting and other invisible characters."""
    return not any(
        category(character) not in _INVISIBLE and character not in _BLANK_LETTERS
        for character in text
    )
