"""Characters of text files that are converted."""

from gsum_assets.corpus.conversion.formats import ConversionError
from gsum_assets.corpus.decoding import NotTextError, decode


def decoded_text(content: bytes) -> str:
    """Return the characters of a text file, with LF as line end and without NUL."""
    try:
        text, _ = decode(content)
    except NotTextError as error:
        raise ConversionError(str(error)) from error
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
