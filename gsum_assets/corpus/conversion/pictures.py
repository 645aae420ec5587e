"""Pictures and other files that are written into a text as `data:` URLs."""

import re
from dataclasses import replace

from gsum_assets.corpus.conversion.formats import Converted

_DATA = (
    r"data:[\w.+-]+/[\w.+-]+[;,][^\s<>()\"'\]]{64,}"
    r"(?:(?:\n[ \t]*[\w+/=]{60,})+(?:\n[ \t]*[\w+/]+={0,2}(?=\s*?(?:\n[ \t]*\n|\Z)))?)?"  # in lines
)
_EMBEDDED = re.compile(
    rf"!\[(?P<alt>[^\]\n]*)\]\(\s*<?{_DATA}>?[^)\n]*\)"
    rf"|^[ ]{{0,3}}\[(?P<name>[^\]\n]+)\]:[ \t]*<?{_DATA}.*$"  # named elsewhere: ![alt][name]
    rf"|<img\b[^<>]*?{_DATA}[^<>]*>"
    rf"|{_DATA}",
    re.IGNORECASE | re.MULTILINE,
)
_ALT = re.compile(r"\balt=[\"']([^\"']*)[\"']", re.IGNORECASE)


def without_pictures(converted: Converted) -> Converted:
    """Return a text with `[picture: description]` in place of embedded files, which are counted."""
    text, starts, end, pieces = converted.text, [*converted.page_starts], 0, []
    for match in _EMBEDDED.finditer(text) if "data:" in text else ():
        in_tag = _ALT.search(match[0])
        description = match["alt"] or match["name"] or (in_tag[1] if in_tag else "")
        shown = f"[picture: {description}]" if description else "[picture]"
        pieces += [text[end : match.start()], shown]
        end = match.end()
        for i, start in enumerate(converted.page_starts):
            starts[i] -= (len(match[0]) - len(shown)) * (start >= end)
    if not pieces:
        return converted
    n = len(pieces) // 2
    counts = [converted.left_out] * bool(converted.left_out)
    counts.append(f"{n:,} embedded picture{'s' if n > 1 else ''}")
    text = "".join([*pieces, text[end:]])
    return replace(converted, text=text, page_starts=tuple(starts), left_out="; ".join(counts))
