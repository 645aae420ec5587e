"""Decoding of text files in any common encoding.

UTF-8 is tried first; a byte order mark decides otherwise. What is neither is detected from a sample
of the lines that have bytes above 127: `charset-normalizer` removes the encodings in which the
sample is not readable, and the rest is ordered by what does not occur within words of any
language, then by how common the encoding is. Equal bytes give equal texts, on every computer.
"""

import codecs
import re
from unicodedata import category

ENCODINGS = (
    "cp1252",
    "cp932",  # Shift-JIS as Windows writes it
    "gb18030",
    "cp1251",
    "mac_roman",
    "cp1250",
    "big5",
    "cp949",
    "euc_jp",
    "koi8_r",
    "cp1253",
    "cp1254",
    "cp1257",
    "cp1255",
    "cp1256",
    "iso8859_2",
    "iso8859_5",
    "iso8859_7",
    "cp866",
    "mac_cyrillic",
    "cp850",
    "cp437",
    "tis_620",
)
"""Encodings that are detected, the most common first."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 65_536  # bytes from which the encoding is detected
_LINE = 4_096  # bytes of one line in the sample
_HIGH = re.compile(rb"[\x80-\xff]")
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_HIRAGANA = re.compile("[\u3041-\u309f]")
_JAPANESE = ("cp932", "euc_jp")
_INVALID = "\N{REPLACEMENT CHARACTER}"
_MOST_CONTROLS = 0.02  # share of control characters above which bytes are no text
_MOST_INVALID = 0.02  # share of invalid among the characters outside ASCII that are replaced
_MOST_CHAOS = 0.25
_COHERENCE = 0.2  # weight of a recognized language
_IN_WORDS = "’'ʼ·-‐‑\u00ad\u200c\u200d"


class NotTextError(ValueError):
    """Error for bytes that are no text; the message has reason and remedy."""


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of a file without its byte order mark, and the name of its encoding.

    A few invalid bytes are replaced by U+FFFD; the name then ends with their number:
    "utf-8, 1 invalid". The text may have NUL characters only if it is UTF-8.

    Raises
    ------
    NotTextError
        If the bytes are no text in any known encoding.
    """
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _with_replacements(data[len(mark) :], name)
    if b"\x1b$" in data and data.isascii():
        try:
            return data.decode("iso2022_jp"), "iso2022_jp"
        except UnicodeDecodeError:  # the codes of a terminal's colours, for example
            pass
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        pass
    else:
        return _utf16_without_mark(data) or (text, "utf-8")
    if (decoded := _nearly_utf8(data)) is not None:
        return decoded
    if (decoded := _utf16_without_mark(data)) is not None:
        return decoded
    if len(_CONTROL.findall(data[:_SAMPLE])) > _MOST_CONTROLS * len(data[:_SAMPLE]):
        raise _binary()
    return _detected(data)


def _binary() -> NotTextError:
    return NotTextError(
        "binary or damaged, no text; convert it to text, or rename it to its true type"
    )


def _with_replacements(data: bytes, encoding: str) -> tuple[str, str]:
    """Return a text with invalid bytes replaced, and the encoding with their number."""
    text = data.decode(encoding, "replace")
    n_invalid = text.count(_INVALID)
    if n_invalid and n_invalid > _MOST_INVALID * len(text) + 1:
        raise _binary()
    if n_invalid:
        n_invalid -= text.encode(encoding).count(_INVALID.encode(encoding)) - n_invalid
    return text, f"{encoding}, {n_invalid} invalid" if n_invalid > 0 else encoding


def _nearly_utf8(data: bytes) -> tuple[str, str] | None:
    """Return a text with more valid than invalid sequences of UTF-8 outside ASCII, or None."""
    text = data.decode("utf-8", "replace")
    n_replaced = text.count(_INVALID) - data.count(_INVALID.encode())
    n_high = len(data.translate(None, bytes(range(128))))
    n_valid = len(text) - (len(data) - n_high) - n_replaced
    if n_replaced > n_valid or n_replaced > max(1, _MOST_INVALID * n_valid):
        return None
    return text, f"utf-8, {n_replaced} invalid"


def _utf16_without_mark(data: bytes) -> tuple[str, str] | None:
    """Return the text of UTF-16 with mostly ASCII characters, or None."""
    sample = data[:_SAMPLE]
    pairs = len(sample) // 2
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        n_nul, n_other = sample[first::2].count(0), sample[1 - first :: 2].count(0)
        if pairs and n_nul > 0.7 * pairs and n_other < 0.01 * pairs + 1 and len(data) % 2 == 0:
            try:
                return data.decode(encoding), encoding
            except UnicodeDecodeError:
                return None
    return None


def _sample(data: bytes) -> bytes:
    """Return the first lines that have bytes above 127."""
    lines: list[bytes] = []
    size = end = 0
    while size < _SAMPLE and (high := _HIGH.search(data, end)):
        at = high.start()
        start = max(end, data.rfind(b"\n", max(end, at - _LINE), at) + 1)
        if at - start > _LINE:  # a line without an end near by: begin at a blank
            start = max(end, data.rfind(b" ", at - _LINE, at) + 1, at - _LINE)
        end = data.find(b"\n", at, at + _LINE)
        if end < 0:
            end = min(len(data), at + _LINE)
            end = max(data.rfind(b" ", at, end), at + 1) if end < len(data) else end
        lines.append(data[start:end])
        size += end - start
    return b"\n".join(lines)


def _detected(data: bytes) -> tuple[str, str]:
    from charset_normalizer import from_bytes

    sample = _sample(data)
    matches = from_bytes(sample, cp_isolation=list(ENCODINGS), threshold=_MOST_CHAOS)
    unlikely = {
        name: match.chaos - _COHERENCE * match.coherence
        for match in matches
        for name in (match.encoding, *(submatch.encoding for submatch in match.submatch))
    }
    ranked = sorted(unlikely, key=lambda name: _rank(sample, name, unlikely[name]))
    for name in ranked:
        try:
            return data.decode(name), name
        except UnicodeDecodeError:
            continue
    if not ranked:
        raise _binary()
    return _with_replacements(data, ranked[0])


def _rank(sample: bytes, encoding: str, unlikely: float) -> tuple[float, int]:
    text = sample.decode(encoding, "replace")
    n_high = sum(not character.isascii() for character in text)
    odd = _n_odd(text, encoding) / max(1, n_high)
    if encoding in _JAPANESE and len(_HIRAGANA.findall(text)) > 0.2 * n_high:
        odd -= 0.1
    return round(odd, 2) + round(unlikely, 1), ENCODINGS.index(encoding)


def _n_odd(text: str, encoding: str) -> int:
    """Return how many characters outside ASCII are where no language has them.

    Capitals after small letters, signs and other scripts within words, control characters,
    undefined characters, and kana where the encoding is not Japanese.
    """
    n_odd = 0
    for before, here, after in zip(" " + text, text, text[1:] + " ", strict=False):
        if before.isascii() and here.isascii():
            continue
        n_odd += (
            _is_rare(here, encoding)
            or (before.islower() and here.isupper())
            or (before.isalpha() and here.isalpha() and _script(before) != _script(here))
            or (before.isalpha() and after.isalpha() and _is_sign(here))
        )
    return n_odd


def _is_rare(character: str, encoding: str) -> bool:
    if "\u3041" <= character <= "\u30ff":  # kana
        return encoding not in _JAPANESE
    half_width_kana, jamo = "\uff61" <= character <= "\uff9f", "\u3130" <= character <= "\u318f"
    undefined = not character.isascii() and category(character) in ("Cc", "Cn", "Co")
    return half_width_kana or jamo or undefined


def _is_sign(character: str) -> bool:
    """Return whether a character outside ASCII is no letter, mark or dash, nor an apostrophe."""
    if character.isascii() or character.isalpha() or character in _IN_WORDS:
        return False
    return category(character) not in ("Mn", "Mc", "Pd")


def _script(letter: str) -> int:
    """Return a number for the script of a letter; all of East Asia has one."""
    starts = (0x0370, 0x0400, 0x0530, 0x0590, 0x0600, 0x0900, 0x0E00, 0x1E00, 0x1F00, 0x2E80)
    code = ord(letter)
    if 0x1E00 <= code < 0x1F00 or code < 0x0370:
        return 0
    if 0x1F00 <= code < 0x2000:
        return 1
    return sum(code >= start for start in starts)


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
