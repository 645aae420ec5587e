"""Normalization of core elements for comparison."""

import re

from gsum_assets.corpus.names import name_key

_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")


def element_key(element: str) -> str:
    """Return an element without case, marks, extra blanks and a leading article."""
    return _ARTICLE.sub("", name_key(element))
