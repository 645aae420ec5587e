"""Text of Word and PowerPoint files."""

import io
import zipfile
from collections.abc import Iterator
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
    ruled,
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
        rows: list[list[str]] = []
        for row in shape.table.rows:
            cells = [" ".join(_frame(cell.text_frame).split()) for cell in row.cells]
            for i, cell in enumerate(row.cells):  # merged with the one above
                cells[i] = rows[-1][i] if cell._tc.vMerge and rows else cells[i]
            rows.append(cells)
        yield ruled("\n".join(f"| {' | '.join(cells)} |" for cells in rows))
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
