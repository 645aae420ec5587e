"""Names written by models, cleaned and made comparable."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence

from gsum_resources.llm.extractive import NAME as EXTRACTIVE
from gsum_resources.text.vocabulary import has_case

MOST_CHARS = 200  # maximum length of a name; anything longer is a text
_MARK_UP = re.compile(
    r"</?[A-Za-z][^<>]{0,200}>|[*`~\x00-\x1f\x7f]+"
    r"|(?<!\w)[#_|]+|[_|]+(?!\w)"  # "C#" and "AC|DC" are names
)
_UNSEEN = re.compile("[\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060\u2066-\u2069\ufeff]")
_INITIALS = re.compile(r"(?:\w\.){2,}")
_AROUND = " \t\"'“”‘’«»‹›„‚.,;:!?¿¡()[]{}<>…、。「」『』《》〈〉【】،؛؟।"


def clean_name(text: str) -> str:
    """Return the name without mark-up, quotes, punctuation and blanks around it, in any script.

    Raises `ValueError` if no letter or digit is left, or more than 200 characters.
    """
    name = " ".join(_MARK_UP.sub(" ", _UNSEEN.sub("", unicodedata.normalize("NFC", text))).split())
    if not any(character.isalnum() for character in name):
        raise ValueError(f"the name {text[:40]!r} holds no letter or digit")
    stripped = _bare(name)
    if _INITIALS.fullmatch(f"{stripped}.") and f"{stripped}." in name:
        stripped += "."  # "U.S."
    if name.endswith(")") and stripped.count("(") > stripped.count(")"):
        stripped += ")"  # "Tennessee Valley Authority (TVA)"
    if len(stripped) > MOST_CHARS:
        raise ValueError(f"the name has {len(stripped):,} characters; the most is {MOST_CHARS}")
    return stripped


def name_key(name: str) -> str:
    """Return the key of all spellings of a name: case, width and outer punctuation are ignored."""
    folded = unicodedata.normalize("NFKC", _UNSEEN.sub("", name)).casefold()
    return _bare(" ".join(folded.split()))


def _bare(name: str) -> str:
    """Return a name without what is around it, but with the point of ".NET"."""
    bare = name.strip(_AROUND)
    return f".{bare}" if re.search(r"(?<!\.)\.$", name[: name.find(bare)]) else bare


def names_skipped(texts: Iterable[str], model_identity: str) -> str | None:
    """Return why a model finds no names in some of the texts, or None if it may."""
    if not model_identity.startswith(EXTRACTIVE) or all(map(has_case, texts)):
        return None
    return (
        f"the model '{EXTRACTIVE}' finds names by their capitals, hence none in scripts without, "
        "such as Chinese and Arabic; choose a language model in gsum.toml, [llm]"
    )


def holds(text_key: str, key: str) -> bool:
    """Return whether a text contains a name, both given as `name_key`.

    A Latin name must be a whole word; scripts without blanks have no word boundaries.
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
    """Return whether two adjacent characters belong to one word."""
    return all(
        character.isalnum() and (character.isascii() or character != character.upper())
        for character in (first, second)
    )


_RUNS = re.compile(r"[a-z0-9]+|[^\x00-\x7f]+")
_PIECE_CHARS = 3  # characters of a piece of another script


def texts_holding(keys: Collection[str], text_keys: Sequence[str]) -> dict[str, frozenset[int]]:
    """Return the indices of the texts that contain each name, see `holds`.

    A name without a letter or digit is in no text. The texts are searched only for names of which
    they have all pieces: the whole runs of ASCII, and substrings of the others.
    """
    pieces = {
        key: {
            piece
            for run in _RUNS.findall(key)
            for piece in _pieces(run, [min(_PIECE_CHARS, len(run))])
        }
        for key in keys
    }
    all_pieces = set().union(*pieces.values())
    texts_of_run: dict[str, set[int]] = defaultdict(set)
    for index, text in enumerate(text_keys):
        for run in _RUNS.findall(text):
            texts_of_run[run].add(index)
    texts_with: dict[str, set[int]] = defaultdict(set)
    for run, indices in texts_of_run.items():
        for piece in all_pieces.intersection(_pieces(run, range(1, _PIECE_CHARS + 1))):
            texts_with[piece] |= indices
    holding = {}
    for key, own_pieces in pieces.items():
        rarest_first = sorted((texts_with.get(piece, set()) for piece in own_pieces), key=len)
        candidates: set[int] = set.intersection(*rarest_first) if rarest_first else set()
        holding[key] = frozenset(index for index in candidates if holds(text_keys[index], key))
    return holding


def _pieces(run: str, lengths: Iterable[int]) -> Iterator[str]:
    """Yield all substrings of a run that have one of the lengths; of ASCII the whole run."""
    if run.isascii():
        yield run
        return
    for length in lengths:
        yield from (run[start : start + length] for start in range(len(run) - length + 1))
