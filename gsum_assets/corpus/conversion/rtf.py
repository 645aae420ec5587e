"""Text of RTF files."""

import re

from gsum_assets.corpus.conversion.formats import ConversionError, Converted, readable_as, with_text
from gsum_assets.corpus.conversion.titles import useful_title

_LEVEL = re.compile(r"\\outlinelevel([0-8])(?![0-9]) ?")
_TITLE = re.compile(r"\{\\title ([^{}]*)\}")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n){2,}")
_EMPTY_HEADING = re.compile(r"^#+[ \t]*$", re.MULTILINE)


def convert_rtf(content: bytes) -> Converted:
    """Return an RTF file as Markdown; headings are the paragraphs with an outline level."""
    from striprtf.striprtf import rtf_to_text

    if not content.lstrip().startswith(b"{\\rtf"):
        raise ConversionError("not RTF: it does not begin with {\\rtf; save it as RTF again")
    source = content.decode("cp1252", "replace")  # other characters are escaped in RTF
    marked = _LEVEL.sub(
        lambda level: rf"\outlinelevel{level[1]} {'#' * (int(level[1]) + 1)} ", source
    )
    title = _TITLE.search(source)
    with readable_as("RTF", "save it again"):
        text = rtf_to_text(marked, errors="replace")
        name = rtf_to_text(rf"{{\rtf1 {title[1]}}}", errors="replace") if title else ""
    text = text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
    text = _BLANK_LINES.sub("\n\n", _EMPTY_HEADING.sub("", text)).strip("\n")
    return with_text(useful_title(name), text)
