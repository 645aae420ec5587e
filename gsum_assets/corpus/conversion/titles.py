"""Titles that documents give themselves, and those that only their programs gave them."""

import re

_MOST_CHARS = 200  # of a title; what is longer is a text
_JUNK = re.compile(
    r"""
      microsoft\s(word|powerpoint|office).*   # "Microsoft Word - report.doc"
    | (untitled|unbenannt|sans\stitre|no\stitle|title|document|doc|slide|presentation)[\s_-]*\d*
    | powerpoint[ -]pr.sentation
    | .*\.(docx?|pptx?|xlsx?|pdf|dvi|ps|tex|indd|qxd|rtf|odt|html?|txt)
    | [\W\d_]*                                # no letter
    """,
    re.VERBOSE | re.IGNORECASE | re.DOTALL,
)


def useful_title(title: object) -> str:
    """Return a title on one line, or "" for one that says nothing of the document."""
    text = " ".join(title.split()) if isinstance(title, str) else ""
    return "" if len(text) > _MOST_CHARS or _JUNK.fullmatch(text) else text
