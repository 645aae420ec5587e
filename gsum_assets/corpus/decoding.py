"""Decoding of text files: a byte order mark decides, then UTF-8 is tried.

The encoding of other texts is detected from lines with bytes above 127: `charset-normalizer`
removes the encodings in which they are not readable; the others are ordered by what does not occur
within words of any language, then by how common the encoding is.
"""

import codecs
import re
from collections import Counter

import regex

_COMMON_FIRST = """
cp1252 cp932 gb18030 cp1251 mac_roman cp1250 big5 cp949 euc_jp koi8_r cp1253 cp1254 cp1257
cp1255 cp1256 iso8859_2 iso8859_5 iso8859_7 cp866 mac_cyrillic cp850 cp437 tis_620
"""
ENCODINGS = tuple(_COMMON_FIRST.split())
"""Encodings that are detected, the most common first."""

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16: its mark begins with that of UTF-16
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_SAMPLE = 65_536  # bytes from which the encoding is detected
_LINE = 4_096  # bytes of one line in the sample, before and after its first byte above 127
_HIGH = re.compile(rb"[\x80-\xff](?:[^\n]{0,%d}(?=[\n ]|\Z)|[^\n]*)" % _LINE)
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1a\x1c-\x1f\x7f]")
_INVALID = "\N{REPLACEMENT CHARACTER}"
_MOST_CONTROLS = 0.02  # share of control characters above which bytes are no text
_MOST_INVALID = 0.02  # share of invalid among the characters outside ASCII that are replaced
_MOST_CHAOS = 0.25
_COHERENCE = 0.2  # weight of a recognized language

_SCRIPTS = (r"\p{Latin}µ", r"\p{Greek}", r"\p{Cyrillic}", r"\p{Hebrew}", r"\p{Arabic}", r"\p{Thai}")
_OTHER_LETTER = f"[\\p{{L}}--[{''.join(_SCRIPTS)}]]"  # of East Asia, for the encodings here
_MIXED = [f"(?<=[\\p{{L}}&&[{script}]])[\\p{{L}}--[{script}]]" for script in _SCRIPTS]
_FAR_ASCII = re.compile(r"(?<![^\x00-\x7f])[\x00-\x7f]+(?![^\x00-\x7f])")  # beside no other one
_HIRAGANA = regex.compile("[\u3041-\u309f]")
_MISPLACED = regex.compile(
    "|".join(
        [
            r"(?<=\p{Ll})\p{Lu}",
            *_MIXED,
            f"(?<={_OTHER_LETTER})[\\p{{L}}--{_OTHER_LETTER}]",
            r"(?<=\p{L})[^\x00-\x7f\p{L}\p{Mn}\p{Mc}\p{Pd}’ʼ·\u00ad\u200c\u200d](?=\p{L})",  # signs
            r"[\uff61-\uff9f\u3130-\u318f]",  # half-width kana, letters of Hangul
            r"[[\p{Cc}\p{Cn}\p{Co}]--[\x00-\x7f]]",
        ]
    ),
    regex.VERSION1,
)
"""Characters that no language has where they are."""
_MISPLACED_OR_KANA = regex.compile(rf"[\u3041-\u30ff]|{_MISPLACED.pattern}", regex.VERSION1)


_BINARY = "binary or damaged, no text; convert it to text, or rename it to its true type"


class NotTextError(ValueError):
    """Error for bytes that are no text; the message has reason and remedy."""


def decode(data: bytes) -> tuple[str, str]:
    """Return the text of a file without its byte order mark, and the name of its encoding.

    A few invalid bytes are replaced by U+FFFD; the name then ends with their number:
    "utf-8, 1 invalid". The text may have NUL characters only if it is UTF-8.

    Raises `NotTextError` if the bytes are no text in any known encoding.
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
        has_control = _CONTROL.search(data[:_SAMPLE])
        return (has_control and _utf16_without_mark(data)) or (text, "utf-8")
    if decoded := _nearly_utf8(data) or _utf16_without_mark(data):
        return decoded
    if len(_CONTROL.findall(data[:_SAMPLE])) > _MOST_CONTROLS * len(data[:_SAMPLE]):
        raise NotTextError(_BINARY)
    return _detected(data)


def _with_replacements(data: bytes, encoding: str) -> tuple[str, str]:
    """Return a text with invalid bytes replaced, and the encoding with their number."""
    text = data.decode(encoding, "replace")
    n_invalid = text.count(_INVALID)
    if n_invalid > _MOST_INVALID * len(text) + 1:
        raise NotTextError(_BINARY)
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
    """Return the text of UTF-16 whose characters are mostly ASCII, or of one script, or None."""
    sample = data[: _SAMPLE - _SAMPLE % 2]
    if len(data) % 2:
        return None
    for first, encoding in ((1, "utf-16-le"), (0, "utf-16-be")):
        pairs = len(sample) // 2
        n_nul, n_other = sample[first::2].count(0), sample[1 - first :: 2].count(0)
        is_ascii = pairs and n_nul > 0.7 * pairs and n_other < 0.01 * pairs + 1
        if is_ascii or (n_nul < 0.7 * pairs and _is_text(sample.decode(encoding, "replace"))):
            try:
                return data.decode(encoding), encoding
            except UnicodeDecodeError:
                continue
    return None


def _is_text(text: str) -> bool:
    """Return whether a text has blanks and punctuation, and letters of an alphabet or East Asia."""
    n_common = len(_COMMON.findall(text))
    blocks = Counter(ord(character) >> 8 for character in text)
    n_alphabet = sum(n for block, n in blocks.most_common(3) if block < 0x20)
    return (
        n_common > 0.03 * len(text)
        and len(_WRITTEN.findall(text)) > 0.97 * len(text)
        and max(n_alphabet, len(_EAST_ASIAN.findall(text))) > 0.8 * len(text)
    )


_COMMON = re.compile("[\t\n\r -~\u3000-\u303f\uff00-\uff20]")
_WRITTEN = regex.compile(r"[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Zs}\s]")
_EAST_ASIAN = re.compile("[\t\n\r -~\u3000-\u30ff\u4e00-\u9fff\uac00-\ud7a3\uff00-\uffef]")


def _sample(data: bytes) -> bytes:
    """Return the first lines that have bytes above 127, of a long line a part around them."""
    lines: list[bytes] = []
    size = end = 0
    while size < _SAMPLE and (high := _HIGH.search(data, end)):
        at = high.start()
        first = max(end, at - _LINE)
        start = max(first, data.rfind(b"\n", first, at) + 1)
        end = high.end()
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
        for name in match.could_be_from_charset
    }
    ranked = sorted(unlikely, key=lambda name: _rank(sample, name, unlikely[name]))
    for name in ranked:
        try:
            return data.decode(name), name
        except UnicodeDecodeError:
            continue
    if not ranked:
        raise NotTextError(_BINARY)
    return _with_replacements(data, ranked[0])


def _rank(sample: bytes, encoding: str, unlikely: float) -> tuple[float, int]:
    """Return how unlikely an encoding is: also by the share of characters that are misplaced."""
    text = _FAR_ASCII.sub(" ", sample.decode(encoding, "replace"))
    n_high = max(1, sum(not character.isascii() for character in text))
    is_japanese = encoding in ("cp932", "euc_jp")
    misplaced = _MISPLACED if is_japanese else _MISPLACED_OR_KANA
    odd = len(misplaced.findall(text)) / n_high
    if is_japanese and len(_HIRAGANA.findall(text)) > 0.2 * n_high:
        odd -= 0.1
    return round(odd, 2) + round(unlikely, 1), ENCODINGS.index(encoding)


_VISIBLE = regex.compile(
    r"[^\p{Cc}\p{Cf}\p{Cn}\p{Cs}\p{M}\p{Z}"
    # fillers of Hangul, the blank of Braille
    r"\u115f\u1160\u3164\uffa0\u2800]"
)


def is_blank(text: str) -> bool:
    """Return whether a text has only blanks, control, formatting and other invisible characters."""
    return not _VISIBLE.search(text)
