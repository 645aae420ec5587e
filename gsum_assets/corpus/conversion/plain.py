"""Characters of text files that are converted."""

from gsum_assets.corpus.conversion.formats import ConversionError

_MARKS = {b"\xef\xbb\xbf": "utf-8-sig", b"\xff\xfe": "utf-16", b"\xfe\xff": "utf-16"}


def decoded_text(content: bytes) -> str:
    """Return the characters of a text file, with LF as line end and without NUL.

    Raises
    ------
    ConversionError
        If it is not text.
    """
    codec = next((codec for mark, codec in _MARKS.items() if content.startswith(mark)), "utf-8")
    try:
        text = content.decode(codec)
    except UnicodeDecodeError as error:
        raise ConversionError(
            f"not {codec.upper()} at byte {error.start}; save it as UTF-8"
        ) from error
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")
