"""Text of PDF files."""

import re
from collections.abc import Callable
from itertools import accumulate

from gsum_assets.corpus.conversion.formats import ConversionError, Converted
from gsum_assets.corpus.conversion.pages import paragraphs, without_running_lines
from gsum_assets.corpus.conversion.titles import useful_title

_SOFT_HYPHEN = re.compile("[\ufffe\u00ad][ \t]*\n?")  # PDFium's marks of a hyphen at a line's end
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\uffff]")
_LETTER = re.compile(r"[^\W_]")
_PAGE_BREAK = "\n\n"


def convert_pdf(content: bytes, report: Callable[[int, int], None]) -> Converted:
    """Return the text of a PDF file, page after page."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(content) as document:
            n_pages = len(document)
            pages = []
            for number in range(n_pages):
                page = document[number]
                text_page = page.get_textpage()
                try:
                    page_text = text_page.get_text_range()
                finally:
                    text_page.close()
                    page.close()
                page_text = page_text.replace("\r\n", "\n").replace("\r", "\n")
                pages.append(_UNPRINTED.sub("", _SOFT_HYPHEN.sub("", page_text)).split("\n"))
                report(number + 1, n_pages)
            title = useful_title(_UNPRINTED.sub("", document.get_metadata_dict().get("Title", "")))
    except pypdfium2.PdfiumError as error:
        if any(word in str(error).lower() for word in ("password", "security")):
            raise ConversionError(
                "encrypted: it opens with a password only; save a copy without it, for example "
                "with `qpdf --decrypt --password=… in.pdf out.pdf`"
            ) from error
        raise ConversionError(
            f"not readable as PDF ({str(error).rstrip('.')}); open it in a viewer and print it to "
            "a new PDF, or download it again"
        ) from error
    texts = paragraphs(without_running_lines(pages))
    if not any(_LETTER.search(text) for text in texts):
        raise ConversionError(
            f"no text on its {n_pages:,} pages, probably a scan; recognize its text first, for "
            "example with `ocrmypdf in.pdf out.pdf`, and use the result"
        )
    starts = accumulate((len(text) + len(_PAGE_BREAK) for text in texts[:-1]), initial=0)
    return Converted(title, _PAGE_BREAK.join(texts), tuple(starts))
