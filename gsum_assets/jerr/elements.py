"""Core elements as they are compared."""

import re

from gsum_assets.corpus.names import name_key

_ARTICLE = re.compile(r"^(?:the|an?)\s+(?=\S)")


def element_key(element: str) -> str:
    """What spellings of one element share: case, marks, blanks and a leading article left aside."""
    return _ARTICLE.sub("", name_key(element))
