"""Text of PDF files.

PDFium gives the characters of a page in the order in which they are drawn, with their places. Lines
are put together by place, columns are read one after the other, and what runs at the edges of most
pages is left out.
"""

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence, Set
from ctypes import POINTER, byref, c_double, cast, create_string_buffer
from itertools import accumulate, pairwise
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from gsum_assets.corpus.conversion.fonts import unreadable_lines
from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    counted,
    remark,
    useful_title,
)
from gsum_assets.corpus.conversion.marks import END, LOWERED, RAISED, shown

_OCR = "recognize its text first, for example with `ocrmypdf {}in.pdf out.pdf`, and use the result"
_UNPRINTED = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff\ufffe\uffff]")
_BESIDE_NUMBER = re.compile(r"(?:(?<=^\d)|(?<=^\d\d)|(?<=^\d{3})|(?<=^\d{4})) +| +(?=\d{1,4}$)")
_LETTER = re.compile(r"[^\W_]")
_LINE = re.compile(r"[^\s\ufffe](?:[^\r\n\ufffe]*(?:[^\s\ufffe]|\ufffe))?")
"""A line; PDFium has U+FFFE for a hyphen at its end, and nothing else before the next line."""
_DIGITS = re.compile(r"\d+")
_RIGHT_TO_LEFT = re.compile("[\u0590-\u08ff]")
_DESCENT = 0.2  # share of a character's height below the baseline
_SHIFT = 0.13  # of the font's size, by which a raised or lowered character differs from its line


_Box = tuple[float, ...]
"""Left, lower, right and upper end."""


class Line(NamedTuple):
    """A line of a page, the height of its baseline and size of its font in points; 0: unknown."""

    text: str
    base: float = 0.0
    size: float = 0.0


class _Piece(NamedTuple):
    """Characters `start` to `end` of a page that PDFium has on one line, and their place.

    `shift` says whether its last character is raised (1) or lowered (-1) against the others.
    """

    start: int
    end: int
    left: float
    right: float
    base: float
    size: float
    shift: int


def convert_pdf(content: bytes, report: Report) -> Converted:
    """Return the text of a PDF file, page after page."""
    import pypdfium2

    try:
        with pypdfium2.PdfDocument(content) as document:
            n_pages = len(document)
            pages, remarks = [], []
            for number in range(n_pages):
                page = document[number]
                text_page = page.get_textpage()
                try:
                    of_page, struck = _annotations(page)
                    pages.append(_Page(page, text_page, struck).lines())
                    remarks.append(of_page)
                finally:
                    text_page.close()
                    page.close()
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
    n_lines, unreadable = sum(map(len, pages)), list[str]()
    for number, lines in enumerate(pages):
        of_page = unreadable_lines([line.text for line in lines])
        unreadable += [lines[i].text for i in sorted(of_page)]
        pages[number] = [line for i, line in enumerate(lines) if i not in of_page]
    n_unreadable = len(unreadable)
    if n_unreadable and n_unreadable > 0.5 * n_lines:
        raise ConversionError(
            f"the letters of {n_unreadable:,} of its {n_lines:,} lines have no usable meaning (a "
            f"broken font map); {_OCR.format('--force-ocr ')}"
        )
    pages, running = without_running_lines(pages)
    text, starts = joined(pages, remarks)
    if not _LETTER.search(text):
        raise ConversionError(
            f"no text on its {n_pages:,} pages, probably a scan; {_OCR.format('')}"
        )
    left_out = counted(("running line", running), ("line in a broken font", unreadable))
    return Converted(title, text, starts, left_out=left_out)


class _Page:
    """The characters of a page and their places, in points from its shown lower left corner."""

    def __init__(self, page: Any, text_page: Any, struck: Sequence[_Box]) -> None:
        import pypdfium2.raw as pdfium

        self._handle, self._turn = text_page.raw, page.get_rotation()
        self._text = text_page.get_text_range()
        self._struck = struck
        self._is_odd = len(self._text) != pdfium.FPDFText_CountChars(self._handle)
        self._box, self._get_box = pdfium.FS_RECTF(), pdfium.FPDFText_GetLooseCharBox
        self._count_rects, self._get_rect = pdfium.FPDFText_CountRects, pdfium.FPDFText_GetRect

    def lines(self) -> list[Line]:
        """Return the lines in reading order."""
        text = self._text
        if self._is_odd:  # characters cannot be told by their number
            return [Line(line) for line in _clean(text).replace("\r\n", "\n").split("\n")]
        self._numbers = [match.end() - 1 for match in _DIGITS.finditer(text)]
        pieces = [self._piece(*match.span()) for match in _LINE.finditer(text)]
        rows: list[list[_Piece]] = []
        before = None
        for piece in self._in_order(pieces) if pieces else pieces:
            if before is not None and _is_same_row(before, piece):
                rows[-1].append(piece)
            else:
                rows.append([piece])
            before = piece
        self._text = text = text.replace("\ufffe", "-").replace("\xad", "-")
        if self._struck:
            self._text = "".join(map(self._shifted_if_struck, range(len(text)), text))
        lines = map(self._line, rows)
        return [Line(_STRUCK.sub(_in_marks, _clean(line.text)), *line[1:]) for line in lines]

    def _corners(self, index: int) -> _Box:
        """Return left, lower, right and upper end of a character."""
        box = self._box
        self._get_box(self._handle, index, box)
        corners = box.left, box.bottom, box.right, box.top
        return self._turned(*corners) if self._turn else corners

    def _shifted_if_struck(self, index: int, character: str) -> str:
        """Return a character, of private use if it is struck, so that all keep their positions."""
        box = self._box
        self._get_box(self._handle, index, box)
        x, y = (box.left + box.right) / 2, (box.bottom + box.top) / 2
        is_struck = any(a < x < c and b < y < d for a, b, c, d in self._struck)
        return (
            chr(ord(character) + _PRIVATE)
            if is_struck and " " < character <= "\uffff"
            else character
        )

    def _turned(self, left: float, low: float, right: float, high: float) -> _Box:
        if self._turn == 90:
            return low, -right, high, -left
        if self._turn == 180:
            return -right, -high, -left, -low
        return -high, left, -low, right

    def _piece(self, start: int, end: int) -> _Piece:
        left, low, _, high = self._corners(start)
        _, last_low, right, last_high = self._corners(end - 1)
        size = high - low
        base, shift = low + _DESCENT * size, 0
        if low != last_low or high != last_high:
            last_size = last_high - last_low
            last_base = last_low + _DESCENT * last_size
            if last_size > size:
                size, base = last_size, last_base
            shift = _shift(last_base - base, size)
        return _Piece(start, end, left, right, base, size, shift)

    def _line(self, row: list[_Piece]) -> Line:
        first = row[0]
        if len(row) == 1 and not first.shift:
            text = self._text[first.start : first.end]
            numbers = self._numbers
            ends = numbers[bisect_left(numbers, first.start) : bisect_left(numbers, first.end)]
            if not ends:
                return Line(text, first.base, first.size)
            if not any(self._shift(end, first) for end in ends if end < first.end - 1):
                return Line(self._spaced(text, first), first.base, first.size)
        main = max(row, key=lambda piece: (round(piece.size, 1), piece.end - piece.start))
        text, right = "", first.left
        for piece in row:
            gap = piece.left - right
            text += " " * (gap > 0.2 * main.size)
            text = self._with_marks(text, piece, main, gap < -0.1 * main.size)
            right = piece.right
        return Line(shown(text), main.base, main.size)

    def _spaced(self, text: str, piece: _Piece) -> str:
        """Return a line with a tab where its first or last number stands apart from the rest."""
        has_number = text[0].isdigit() or text[-1].isdigit()
        for blanks in _BESIDE_NUMBER.finditer(text) if has_number else ():
            before, after = piece.start + blanks.start() - 1, piece.start + blanks.end()
            if self._corners(after)[0] - self._corners(before)[2] > 1.5 * piece.size:
                return f"{text[: blanks.start()]}\t{text[blanks.end() :]}"
        return text

    def _shift(self, index: int, main: _Piece) -> int:
        _, low, _, high = self._corners(index)
        return _shift(low + _DESCENT * (high - low) - main.base, main.size)

    def _with_marks(self, text: str, piece: _Piece, main: _Piece, is_below: bool) -> str:
        """Return a text with a piece behind it, in which raised characters are marked."""
        own = self._text
        ends = {match.end() for match in _DIGITS.finditer(own, piece.start, piece.end)}
        at = piece.start
        for end in sorted({*ends, piece.end}):
            shift, start = self._shift(end - 1, main), end - 1
            if not shift or end <= at:
                continue
            while start > at and not own[start - 1].isspace():
                if self._shift(start - 1, main) != shift:
                    break
                start -= 1
            while end < piece.end and self._shift(end, main) == shift:
                end += 1
            text += own[at:start]
            run, at = own[start:end], end
            if shift > 0:
                text = f"{text.rstrip() or text}{RAISED}{run}{END}"
            else:
                text += f"{'/' * is_below}{LOWERED}{run}{END}"
        return text + own[at : piece.end]

    def _in_order(self, pieces: list[_Piece]) -> list[_Piece]:
        """Return pieces in reading order: of one column from top to bottom, then of the next."""
        if len(pieces) >= _COLUMN_LINES and not _RIGHT_TO_LEFT.search(self._text):
            pieces = self._by_columns(pieces, self._boxes())
        starts = [i for i, (a, b) in enumerate(pairwise(pieces), 1) if b.base >= a.base + b.size]
        if not starts:
            return pieces
        runs = [pieces[a:b] for a, b in pairwise([0, *starts, len(pieces)])]
        spans = [(-max(p.base for p in run), -min(p.base for p in run)) for run in runs]
        order = sorted(range(len(runs)), key=lambda i: spans[i])
        if any(spans[after][0] <= spans[before][1] for before, after in pairwise(order)):
            return pieces  # side by side
        return [piece for i in order for piece in runs[i]]

    def _boxes(self) -> list[_Box]:
        """Return left, lower, right and upper end of parts that are drawn at once."""
        corners, box = [], (c_double * 4)()
        places = [byref(c_double.from_buffer(box, 8 * i)) for i in (0, 3, 2, 1)]
        for index in range(self._count_rects(self._handle, 0, -1)):
            self._get_rect(self._handle, index, *places)
            corners.append(tuple(box))
        return [self._turned(*box) for box in corners] if self._turn else corners

    def _by_columns(self, pieces: list[_Piece], boxes: list[_Box]) -> list[_Piece]:
        """Return pieces column by column where two columns of prose stand side by side."""
        x = _gutter(boxes)
        if x is None:
            return pieces
        levels = sorted(-(low + high) / 2 for left, low, right, high in boxes if left < x < right)
        bands: dict[int, list[_Piece]] = {}
        for piece in pieces:
            middle = -piece.base - 0.3 * piece.size
            n_above = bisect_left(levels, middle - 0.5 * piece.size)
            crossing = bisect_left(levels, middle + 0.5 * piece.size) > n_above
            n_above = n_above if crossing else bisect_left(levels, -piece.base)
            bands.setdefault(2 * n_above + crossing, []).append(piece)
        ordered: list[_Piece] = []
        n_prose = 0
        for band in sorted(bands):
            sides: tuple[list[_Piece], list[_Piece]] = ([], [])
            for piece in bands[band]:
                is_cut = piece.left < x < piece.right
                for part in self._cut(piece, x) if is_cut else [piece]:
                    sides[part.left >= x].append(part)
            if band % 2 or not all(map(self._is_prose, sides)):
                ordered += bands[band]
                continue
            n_prose += 1
            inside = [
                box for box in boxes if 2 * bisect_left(levels, -(box[1] + box[3]) / 2) == band
            ]
            ordered += self._by_columns(sides[0], [box for box in inside if box[2] <= x])
            ordered += self._by_columns(sides[1], [box for box in inside if box[0] >= x])
        return ordered if n_prose else pieces

    def _cut(self, piece: _Piece, x: float) -> list[_Piece]:
        """Return the parts of a piece left and right of a place."""
        indices = range(piece.start, piece.end)
        at = piece.start + bisect_left(indices, x, key=lambda i: self._corners(i)[0])
        parts = []
        for start, end in ((piece.start, at), (at, piece.end)):
            bare = self._text[start:end].strip()
            first = start + self._text[start:end].index(bare) if bare else start
            parts += [self._piece(first, first + len(bare))] if bare else []
        return parts if len(parts) == 2 else [piece]

    def _is_prose(self, pieces: Sequence[_Piece]) -> bool:
        """Return whether lines are those of paragraphs, not the cells of a table."""
        if len(pieces) < _COLUMN_LINES:
            return False
        extent = max(p.right for p in pieces) - min(p.left for p in pieces)
        widths = sorted(p.right - p.left for p in pieces)
        n_lower = sum(self._text[piece.start].islower() for piece in pieces[1:])
        return widths[len(widths) // 2] > 0.6 * extent and n_lower >= 0.3 * (len(pieces) - 1)


_COLUMN_LINES = 4  # that a column has at least
_LEAST_COLUMN = 90.0  # points of its width


def _gutter(boxes: Sequence[_Box]) -> float | None:
    """Return the middle of a blank strip of 6 points between lines that few boxes cross."""
    lefts, rights = sorted(box[0] for box in boxes), sorted(box[2] for box in boxes)
    best: tuple[int, float] | None = None
    for n_left, edge in enumerate(rights, start=1):
        if lefts[0] + _LEAST_COLUMN < edge < rights[-1] - _LEAST_COLUMN:
            n_right = len(lefts) - bisect_left(lefts, edge + 6)
            n_crossing = len(lefts) - n_left - n_right
            if min(n_left, n_right) >= max(_COLUMN_LINES, 2 * n_crossing):
                best = min(best or (n_crossing, edge), (n_crossing, edge))
    return best and best[1] + 3


def _is_same_row(before: _Piece, piece: _Piece) -> bool:
    """Return whether a piece stands behind another on its line; PDFium breaks lines at a shift."""
    size = max(before.size, piece.size)
    near = abs(piece.base - before.base) < 0.6 * size or (before.shift and piece.base < before.base)
    return bool(near) and -0.8 * size < piece.left - before.right < 1.5 * size


def _shift(difference: float, size: float) -> int:
    if not _SHIFT * size < abs(difference) < 0.8 * size:
        return 0
    return 1 if difference > 0 else -1


def _clean(text: str) -> str:
    """Return characters that print; a mark of a hyphen at a line's end is a hyphen."""
    return _UNPRINTED.sub("", shown(text.replace("\ufffe", "-").replace("\xad", "-")))


def _annotations(page: Any) -> tuple[list[str], list[_Box]]:
    """Return the comments on a page and the values of its form fields, and what is struck out."""
    import pypdfium2.raw as pdfium

    lines: list[str] = []
    struck: list[_Box] = []
    if not (n_annotations := pdfium.FPDFPage_GetAnnotCount(page)):
        return lines, struck

    def value(name: bytes) -> str:
        size = pdfium.FPDFAnnot_GetStringValue(annotation, name, None, 0)
        buffer = create_string_buffer(size)
        as_wide = cast(buffer, POINTER(pdfium.FPDF_WCHAR))
        pdfium.FPDFAnnot_GetStringValue(annotation, name, as_wide, size)
        return " ".join(_clean(buffer.raw[: size - 2].decode("utf-16-le", "replace")).split())

    for index in range(n_annotations):
        annotation = pdfium.FPDFPage_GetAnnot(page, index)
        try:
            kind = pdfium.FPDFAnnot_GetSubtype(annotation)
            if kind == pdfium.FPDF_ANNOT_WIDGET:
                name, state = value(b"T"), value(b"V") or value(b"AS")
                is_said = state and (name or state != "Off")  # an option of several has no name
                lines += [f"{name}: {state}" if name else state] if is_said else []
            elif kind in _COMMENTS and (said := value(b"Contents")):
                lines.append(remark(value(b"T"), said))
            points = pdfium.FS_QUADPOINTSF()
            n_areas = pdfium.FPDFAnnot_CountAttachmentPoints(annotation)
            for number in range(n_areas if kind == pdfium.FPDF_ANNOT_STRIKEOUT else 0):
                pdfium.FPDFAnnot_GetAttachmentPoints(annotation, number, points)
                xs = sorted((points.x1, points.x2, points.x3, points.x4))
                ys = sorted((points.y1, points.y2, points.y3, points.y4))
                struck.append((xs[0], ys[0], xs[3], ys[3]))
        finally:
            pdfium.FPDFPage_CloseAnnot(annotation)
    return lines, struck


_COMMENTS = frozenset({1, 3, 9, 10, 11, 12})  # text, free text, highlight, underline, …, strike-out


_PRIVATE = 0x100000
_STRUCK = re.compile("[\U00100000-\U0010ffff]+(?: [\U00100000-\U0010ffff]+)*")


def _in_marks(struck: re.Match[str]) -> str:
    words = "".join(chr(ord(c) - _PRIVATE) if c != " " else c for c in struck[0])
    return f"~~{words}~~"


_NEAR = 4  # pages before and after a page, some of which have its running lines
_ROMAN = re.compile(r"[ivxlc]+", re.IGNORECASE)
_PLACE = 3.0  # points by which a running line may stand higher or lower
_MOST_EDGE = 6  # lines of a header or footer
_PAGE_NUMBER = re.compile(
    r"\W*#\W*(?:(?:of|von|de|sur|di|van|av|af|z|из|/)?\W*#\W*)?|.*\b(?:p|pp|page|seite|página|pagina|"
    r"pag|pág|sida|side|sivu|strona|стр|страница|blatt)\b\W*#.*|#\t.*|.*\t#|#\W*[|–—·•]\W.*|.*\W[|–—·•]\W*#",
    re.IGNORECASE | re.DOTALL,
)
"""Lines in which a number, here "#", may be the page's."""


def without_running_lines(
    pages: Sequence[Sequence[Line]],
) -> tuple[list[list[Line]], list[str]]:
    """Return the lines of each page without running headers and footers, and those left out.

    These have equal words but for the page's number at the same place of most pages near by. A
    header of the first page stays: it may be the title, or name the columns of a table.
    """
    kept = [list(lines) for lines in pages]
    left_out: list[str] = []
    for is_top in (True, False):
        parts = [_rows(sorted(lines, key=itemgetter(1), reverse=is_top)) for lines in kept]
        edges = [[_whole(row) for row in rows] for rows in parts]
        depths = [0] * len(edges)
        for depth in range(_MOST_EDGE):
            at = [e[depth] if depths[i] == depth < len(e) else None for i, e in enumerate(edges)]
            depths = [n + runs for n, runs in zip(depths, _running(at), strict=True)]
        for page, edge in enumerate(edges):
            for line, row in zip(
                edge[: _without_body(edge, depths[page])], parts[page], strict=False
            ):
                is_kept = (
                    is_top and page == 0 and any(line.text == o.text for e in edges[1:2] for o in e)
                )
                if not is_kept:
                    kept[page] = [o for o in kept[page] if all(o is not part for part in row)]
                    left_out.append(line.text)
    return kept, left_out


def _rows(lines: Sequence[Line]) -> list[list[Line]]:
    """Return lines of one height together, as a title and the number of the page."""
    rows: list[list[Line]] = []
    base = 0.0
    for line in lines:
        if rows and base and abs(line.base - base) < 1.0:
            rows[-1].append(line)
        else:
            rows.append([line])
            base = line.base
    return rows


def _whole(row: Sequence[Line]) -> Line:
    return row[0] if len(row) == 1 else Line("\t".join(line.text for line in row), row[0].base)


def _without_body(edge: Sequence[Line], depth: int) -> int:
    """Return how many running lines stand before a gap; all if there is none."""
    if not depth:
        return 0
    gaps = [abs(a.base - b.base) for a, b in pairwise(edge)]
    of_rows = sorted(gap for gap in gaps if gap > 1.0) or [0.0]
    usual = of_rows[(len(of_rows) - 1) // 2]
    return max((i + 1 for i, gap in enumerate(gaps[:depth]) if gap > 1.4 * usual), default=depth)


def _running(at: Sequence[Line | None]) -> list[bool]:
    """Return for the line of each page whether it runs over the pages near by."""
    keys = []
    for line in at:
        words = line.text if line else ""
        numbers = [int(n) for n in _DIGITS.findall(words) if len(n) < 7]
        masked = "#" if _ROMAN.fullmatch(words) else _DIGITS.sub("#", words) if numbers else ""
        keys.append((words, masked if masked and _PAGE_NUMBER.fullmatch(masked) else "", numbers))
    counts = Counter(key for words, masked, _ in keys for key in {words, masked} if key)

    def is_alike(page: int, other: int) -> bool:
        (words, masked, numbers), (words_2, masked_2, numbers_2) = keys[page], keys[other]
        if words == words_2 or not masked or masked != masked_2 or len(numbers) != len(numbers_2):
            return words == words_2
        return all(
            a == b or (a - b == page - other and not 1900 <= a <= 2100)
            for a, b in zip(numbers, numbers_2, strict=True)
        )

    runs = []
    for page, line in enumerate(at):
        words, masked, numbers = keys[page]
        is_named = bool(masked) and any(map(str.isalpha, words)) and len(words.split()) < 6
        is_number = is_named and numbers == [page + 1, len(at)]
        if is_number or not line or max(counts[words], counts[masked]) < 2:
            runs.append(is_number)
            continue
        near = at[max(0, page - _NEAR) : page + _NEAR + 1]
        n_alike = sum(
            other is not None and abs(line.base - other.base) <= _PLACE and is_alike(page, index)
            for index, other in enumerate(near, max(0, page - _NEAR))
        )
        runs.append(n_alike >= min(3, max(2, len(at))))
    return runs


_FULL = 0.75  # share of the usual width; a shorter line ends its paragraph
_WORD_END = re.compile(r"([^\W\d_]+)-$")
_HYPHEN = re.compile(r"\w-$")
_WORD_START = re.compile(r"([^\W\d_]+)")
_ITEM = re.compile(r"([•▪◦‣∙*–—-]|\(?\w{1,3}[.)])\s|\d+(\.\d+)+\.?\s")
_LEADER = re.compile(r"(\. ?){4,}|…{2,}|_{4,}")  # in tables of contents and forms
_SENTENCE_END = (".", "!", "?", ":", ";", "”", '"', "»", "…", ")")


def joined(
    pages: Sequence[Sequence[Line]],
    remarks: Sequence[Sequence[str]] = (),
) -> tuple[str, list[int]]:
    """Return the text with one line per paragraph, and where each page begins.

    A line of about the usual width, or one that ends within a word, goes on in the next line, also
    over a page's border, unless that is a list item, or a row of a table or table of contents.
    """
    texts = [[" ".join(line.text.split()) for line in lines] for lines in pages]
    lengths = [len(line) for lines in texts for line in lines if line]
    full = _FULL * float(np.percentile(lengths, 90)) if lengths else 0.0
    whole = "\n".join(map("\n".join, texts)).replace("-\n", "\0").lower()  # divided words apart
    words = frozenset(whole.split())
    parts: list[str] = []
    firsts: list[int] = []  # parts with which pages begin
    before, size = "", 0.0
    for number, lines in enumerate(texts):
        glue = "\n\n" if number else ""
        for line, place in zip(lines, pages[number], strict=True):
            if not line:
                continue
            is_first = len(firsts) == number
            is_alike = abs(place.size - size) <= 0.1 * size
            if before and is_alike and _continues(before, line, full, is_border=is_first):
                glue = _glue(before, line, whole, words)
                if glue is None:
                    parts[-1], glue = parts[-1][:-1], ""
            parts += (glue, line)
            firsts += [len(parts) - 1] if is_first else []
            glue, before, size = "\n", line, place.size
        if len(firsts) == number:
            parts.append(glue)
            firsts.append(len(parts))
        for extra in remarks[number] if number < len(remarks) else ():
            parts.append(f"\n{extra}" if parts else extra)
            before = ""
    ends = [0, *accumulate(map(len, parts))]
    return "".join(parts), [ends[first] for first in firsts]


def _continues(line: str, following: str, full: float, is_border: bool) -> bool:
    """Return whether `following` continues the paragraph of `line`."""
    if len(line) < full and line[-1] != "-":
        return False
    if _ITEM.match(following) or _has_leader(line) or _has_leader(following):
        return False
    goes_on = following[0].islower()
    if is_border and (line.endswith(_SENTENCE_END) or not (goes_on or len(following) >= full)):
        return False
    first = line.partition(" ")[0]
    if following.partition(" ")[0] == first and not goes_on and _DIGITS.search(line):
        return False  # rows of a table
    return len(line) >= full or bool(_HYPHEN.search(line[-2:]))


def _has_leader(line: str) -> bool:
    is_dotted = ".." in line or ". ." in line or "…" in line or "__" in line
    return is_dotted and bool(_LEADER.search(line))


def _glue(before: str, line: str, whole: str, words: Set[str]) -> str | None:
    """Return what stands between two lines; None: the hyphen at the end of the first goes."""
    if before[-1] == "/":  # a path or an address
        return ""
    if before[-1] != "-":
        return " "
    head, tail = _WORD_END.search(before[-40:]), _WORD_START.match(line)
    if not head or not tail or not line[0].islower() or head[1].isupper():
        return " " if before.endswith(" -") else ""
    first, second = head[1].lower(), tail[1].lower()
    are_words = min(len(first), len(second)) > 3 and first in words and second in words
    is_compound = f"{first}-{second}" in whole or _PREFIX.fullmatch(first) or are_words
    return "" if is_compound and first + second not in words else None


_PREFIX = re.compile("self|well|half|quasi|non")
