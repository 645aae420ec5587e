"""Titles in the metadata of documents, without those that only programs set."""

import re

_MOST_CHARS = 200  # maximum length of a title; anything longer is a text
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
    """Return a title on one line, or "" if it says nothing about the document."""
    text = " ".join(title.split()) if isinstance(title, str) else ""
    return "" if len(text) > _MOST_CHARS or _JUNK.fullmatch(text) else text
