"""Text of PDF files."""

import re
from collections.abc import Callable
from itertools import accumulate
from typing import Any

from gsum_assets.corpus.conversion.formats import ConversionError, Converted
from gsum_assets.corpus.conversion.pages import paragraphs, without_running_lines
from gsum_assets.corpus.conversion.titles import useful_title

_SOFT_HYPHEN = re.compile("[\ufffe\u00ad][ \t]*\n?")  # PDFium's marks of a hyphen at a line's end
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\uffff]")
_LETTER = re.compile(r"[^\W_]")
_PAGE_BREAK = "\n\n"


def convert_pdf(content: bytes, report: Callable[[int, int], None]) -> Converted:
    """Return the text of a PDF file, page after page.

    Parameters
    ----------
    report : called with the number of pages read, and of all pages.

    Raises
    ------
    ConversionError
        If the file is encrypted or damaged, or has no text (a scan).
    """
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(content) as document:
            n_pages = len(document)
            pages = []
            for number in range(n_pages):
                pages.append(_lines(document, number))
                report(number + 1, n_pages)
            title = useful_title(_title(document))
    except pypdfium2.PdfiumError as error:
        raise _failed(str(error)) from error
    texts = paragraphs(without_running_lines(pages))
    if not any(_LETTER.search(text) for text in texts):
        raise ConversionError(
            f"no text on its {n_pages:,} pages, probably a scan; recognize its text first, for "
            "example with `ocrmypdf in.pdf out.pdf`, and use the result"
        )
    starts = accumulate((len(text) + len(_PAGE_BREAK) for text in texts[:-1]), initial=0)
    return Converted(title, _PAGE_BREAK.join(texts), tuple(starts))


def _lines(document: Any, number: int) -> list[str]:
    """Return the lines of a page, numbered from 0, as printed."""
    page = document[number]
    text_page = page.get_textpage()
    try:
        text = text_page.get_text_range()
    finally:
        text_page.close()
        page.close()
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return _UNPRINTED.sub("", _SOFT_HYPHEN.sub("", text)).split("\n")


def _title(document: Any) -> str:
    return _UNPRINTED.sub("", document.get_metadata_dict().get("Title", ""))


def _failed(message: str) -> ConversionError:
    if "password" in message.lower() or "security" in message.lower():
        return ConversionError(
            "encrypted: it opens with a password only; save a copy without it, for example with "
            "`qpdf --decrypt --password=… in.pdf out.pdf`"
        )
    return ConversionError(
        f"not readable as PDF ({message.rstrip('.')}); open it in a viewer and print it to a new "
        "PDF, or download it again"
    )
