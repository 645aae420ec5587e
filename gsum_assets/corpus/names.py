"""Names as models write them, made clean and comparable."""

import re
import unicodedata

MOST_CHARS = 200  # of a name; what is longer is a text
_MARK_UP = re.compile(
    r"</?[A-Za-z][^<>]{0,200}>|[*`|~\x00-\x1f\x7f]+|(?<!\w)[#_]+|_+(?!\w)"  # "C#" is a name
)
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_AROUND = " \t\"'“”‘’«»‹›„‚.,;:!?¿¡()[]{}<>…、。「」『』《》〈〉【】،؛؟।"


def clean_name(text: str) -> str:
    """The name without mark-up, quotes, marks and blanks around it, in any script.

    Raises
    ------
    ValueError
        If no letter or digit is left of it, or more than 200 characters.
    """
    name = " ".join(_MARK_UP.sub(" ", _UNSEEN.sub("", unicodedata.normalize("NFC", text))).split())
    if not any(character.isalnum() for character in name):
        raise ValueError(f"the name {text[:40]!r} holds no letter or digit")
    stripped = name.strip(_AROUND)
    if name.endswith(")") and stripped.count("(") > stripped.count(")"):
        stripped += ")"  # of "Tennessee Valley Authority (TVA)"
    if len(stripped) > MOST_CHARS:
        raise ValueError(
            f"the name '{stripped[:40]}…' has {len(stripped):,} characters; the most is "
            f"{MOST_CHARS}"
        )
    return stripped


def name_key(name: str) -> str:
    """What spellings of one name share: case, width, blanks and marks around it left aside."""
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", name)).casefold()
    return " ".join(folded.split()).strip(_AROUND)


def holds(text_key: str, key: str) -> bool:
    """Whether a text holds a name, both as `name_key` makes them.

    A Latin name counts as a word of its own only; scripts without blanks have no such borders.
    """
    start = text_key.find(key)
    while start >= 0:
        end = start + len(key)
        before, after = text_key[max(0, start - 1) : start], text_key[end : end + 1]
        if not (_joins(before, key[:1]) or _joins(key[-1:], after)):
            return True
        start = text_key.find(key, start + 1)
    return False


def _joins(first: str, second: str) -> bool:
    """Whether two characters side by side belong to one word."""
    return all(
        character.isalnum() and (character.isascii() or character != character.upper())
        for character in (first, second)
    )
