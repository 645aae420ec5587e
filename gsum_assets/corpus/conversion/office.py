"""Text of Word, PowerPoint and workbook files."""

import datetime as dt
import io
import posixpath
import re
import zipfile
from collections.abc import Iterator, Set
from contextlib import AbstractContextManager, suppress
from dataclasses import replace
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    counted,
    paged,
    readable_as,
    useful_title,
)
from gsum_assets.corpus.conversion.html import drawn, xml_root
from gsum_assets.corpus.conversion.marks import RAISED, STRUCK, in_marks, shown, whole_runs
from gsum_assets.corpus.conversion.word import WordFile

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # encrypted files, and those of Office 97
_DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_REL = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"


def convert_docx(content: bytes, _: Report) -> Converted:
    """Return a Word file as Markdown; headings are those of its styles."""
    title = _title(content, "Word", "word/document.xml")
    with _readable_by("Word"):
        return WordFile(content).converted(title)


def convert_pptx(content: bytes, report: Report) -> Converted:
    """Return a PowerPoint file as Markdown: each slide's title as a heading, and its notes."""
    from pptx import Presentation

    title = _title(content, "PowerPoint", "ppt/presentation.xml")
    with _readable_by("PowerPoint"):
        slides = list(Presentation(io.BytesIO(content)).slides)
        texts, hidden, shapes = [], [], []
        for number, slide in enumerate(slides, start=1):
            text = "\n\n".join(_blocks(slide, shapes))
            is_hidden = slide.element.get("show") in ("0", "false")
            hidden += [text] if is_hidden else []
            texts.append("" if is_hidden else text)
            report(number, len(slides))
    if not any(text.strip() for text in texts):
        raise ConversionError(
            f"no text on its {len(texts):,} slides, perhaps only pictures; describe them in text, "
            "or remove it"
        )
    left_out = counted(("hidden slide", hidden), ("hidden part", shapes))
    return replace(paged(title, texts), left_out=left_out)


def _title(content: bytes, program: str, member: str) -> str:
    """Check that the archive is readable, and return the title in its properties."""
    if content.startswith(_OLE):
        raise ConversionError(
            f"encrypted, or of {program} 97; save it in {program} without a password, in the "
            "current format"
        )
    with _readable_by(program), zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.getinfo(member)
        has_title = "docProps/core.xml" in archive.namelist()
        properties = archive.read("docProps/core.xml") if has_title else b""
    with suppress(ValueError, SyntaxError):
        return useful_title(xml_root(properties).findtext(_TITLE, ""))
    return ""


def _readable_by(program: str) -> AbstractContextManager[None]:
    return readable_as(program, f"open it in {program} and save it again, or download it again")


def _blocks(slide: Any, hidden: list[str]) -> Iterator[str]:
    """Yield the texts of a slide as Markdown; those of hidden shapes are added to `hidden`."""
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield f"## {' '.join(_frame(title.text_frame).split())}"
    for shape in _by_place(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            yield from _texts(shape, hidden)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
        yield from [f"Notes: {_frame(notes)}"] if notes.text.strip() else []


def _by_place(shapes: Any) -> list[Any]:
    """Return shapes from top to bottom, those in one row from left to right."""
    placed = [(shape.top or 0, shape.left or 0, shape.height or 0, shape) for shape in shapes]
    rows: list[list[tuple[int, int, int, Any]]] = []
    for entry in sorted(placed, key=lambda entry: entry[0]):
        if rows and entry[0] < rows[-1][0][0] + 0.5 * min(entry[2], rows[-1][0][2]):
            rows[-1].append(entry)
        else:
            rows.append([entry])
    return [entry[3] for row in rows for entry in sorted(row, key=lambda entry: entry[1])]


def _texts(shape: Any, hidden: list[str]) -> Iterator[str]:
    described = shape.element.xpath("./*/p:cNvPr/@descr")
    if "1" in shape.element.xpath("./*/p:cNvPr/@hidden"):
        hidden.append(" ".join(shape.element.xpath(".//a:t/text()")))
        return
    if described and described[0].strip():
        yield f"[picture: {' '.join(described[0].split())}]"
    if hasattr(shape, "shapes"):  # a group
        for inner in _by_place(shape.shapes):
            yield from _texts(inner, hidden)
    elif getattr(shape, "has_table", False):
        rows = [
            [" ".join(_frame(c.text_frame).split()) for c in row.cells] for row in shape.table.rows
        ]
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    elif getattr(shape, "has_chart", False):
        yield from filter(None, [drawn(shape.chart._chartSpace)])
    elif parts := shape.element.xpath(".//*[local-name()='relIds']"):  # a diagram
        data = shape.part.related_part(parts[0].get(f"{_REL}dm"))
        yield from filter(None, [drawn(xml_root(data.blob))])
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield _frame(shape.text_frame)


def _frame(frame: Any) -> str:
    """Return the lines of a text frame; PowerPoint breaks lines with a vertical tab."""
    text = shown(whole_runs("\v".join(map(_paragraph, frame.paragraphs))))
    lines = (line.strip() for line in text.replace("\v", "\n").splitlines())
    return "\n".join(line for line in lines if line)


def _paragraph(paragraph: Any) -> str:
    """Return the text of a paragraph with marks of raised and struck runs."""
    text = ""
    for run in paragraph._p.xpath("./a:r | ./a:br | ./a:fld"):
        words = "".join(t.text or "" for t in run.xpath("./a:t")) or "\v" * run.tag.endswith("}br")
        properties = run.find(f"{_DRAWING}rPr")
        form = properties.attrib if properties is not None else {}
        is_raised = int(form.get("baseline", 0)) > 0
        is_struck = form.get("strike", "noStrike") != "noStrike"
        text += in_marks(words, RAISED * is_raised, STRUCK * is_struck)
    return text


def convert_workbook(content: bytes, report: Report) -> Converted:
    """Return the rows of all sheets as a Markdown table, formulas by their stored values."""
    from python_calamine import CalamineWorkbook, SheetVisibleEnum

    lines: list[str] = []
    starts: list[int] = []
    labels: list[str] = []
    length = 0
    with (
        readable_as("a workbook", "save it again, without a password"),
        CalamineWorkbook.from_filelike(io.BytesIO(content)) as book,
    ):
        names = book.sheet_names
        shown = {
            sheet.name
            for sheet in book.sheets_metadata
            if sheet.visible == SheetVisibleEnum.Visible
        }
        hidden = [name for name in names if name not in shown]
        lines_hidden = _hidden_lines(content)
        rows: list[str] = []
        for number, name in enumerate(names, start=1):
            if name in hidden:
                continue
            sheet, of_sheet = book.get_sheet_by_index(number - 1), lines_hidden.get(name, [])
            for label, line in _sheet(sheet, name, frozenset(of_sheet), rows):
                if label:
                    starts.append(length)
                    labels.append(label)
                lines.append(line)
                length += len(line) + 1
            report(number, len(names))
    if not labels:
        raise ConversionError(f"no text in its {len(names):,} sheets; fill it or remove it")
    left_out = counted(("hidden sheet", hidden), ("hidden line", rows))
    return Converted("", "\n".join(lines), tuple(starts), tuple(labels), left_out)


_LINES = re.compile(rb"<(row|col)\b([^>]*\bhidden=\"(?:1|true)\"[^>]*)>")
_ATTRIBUTE = re.compile(rb"\b(r|min|max)=\"(\d+)\"")


def _hidden_lines(content: bytes) -> dict[str, list[int]]:
    """Return the numbers of hidden rows, and of hidden columns times -1, by sheet of an .xlsx."""
    if not zipfile.is_zipfile(io.BytesIO(content)):
        return {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        if "xl/workbook.xml" not in archive.namelist():
            return {}
        relations = xml_root(archive.read("xl/_rels/workbook.xml.rels"))
        targets = {r.get("Id"): posixpath.join("/xl", r.get("Target"))[1:] for r in relations}
        hidden: dict[str, list[int]] = {}
        for sheet in xml_root(archive.read("xl/workbook.xml")).iterfind(".//{*}sheet"):
            part = targets.get(sheet.get(f"{_REL}id"), "")
            data = archive.read(part) if part in archive.namelist() else b""
            for kind, attributes in _LINES.findall(data):
                at = {name: int(value) for name, value in _ATTRIBUTE.findall(attributes)}
                columns = range(-at.get(b"max", 0), 1 - at.get(b"min", 1))
                hidden.setdefault(sheet.get("name"), []).extend(
                    [at.get(b"r", 0)] if kind == b"row" else columns[: 1 << 14]
                )
    return hidden


def _sheet(
    sheet: Any, name: str, hidden: Set[int], left_out: list[str]
) -> Iterator[tuple[str, str]]:
    """Yield label and line of each row that is not empty, after a line with the sheet's name.

    Texts of hidden rows and columns, see `_hidden_lines`, are added to `left_out`.
    """
    row, column = sheet.start or (0, 0)
    first = row + 1  # rows before it are empty
    title = " ".join(name.replace("\0", "").split())
    is_named = False
    for number, values in enumerate(sheet.to_python(skip_empty_area=True), start=first):
        cells = []
        for value in values:
            if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
                value = int(value)
            elif isinstance(value, dt.datetime) and value.time() == dt.time():
                value = value.date()
            cells.append(" ".join(str(value).replace("\0", "").split()))
        if number in hidden:
            left_out += [" ".join(filter(None, cells))] if any(cells) else []
            continue
        if hidden:
            at = {i for i in range(len(cells)) if -(column + i + 1) in hidden}
            left_out += [cells[i] for i in sorted(at) if cells[i]]
            cells = [cell for i, cell in enumerate(cells) if i not in at]
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        if not is_named:
            yield "", f"## {title}"
            is_named = True
        yield f'sheet "{title}", row {number}', f"| {' | '.join(cells)} |"
