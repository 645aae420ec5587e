"""Text of Word, PowerPoint, OpenDocument, RTF and workbook files."""

import datetime as dt
import io
import re
import zipfile
from collections.abc import Iterator
from contextlib import AbstractContextManager, suppress
from html import escape
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    paged,
    readable_as,
    single_blank_lines,
    tidied,
    useful_title,
    with_text,
)
from gsum_assets.corpus.conversion.html import html_to_markdown, xml_root

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # encrypted files, and those of Office 97
_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_ODF_TEXT, _ODF_TABLE = f"{{{_ODF}text:1.0}}", f"{{{_ODF}table:1.0}}"
_ODF_TAGS = {
    f"{_ODF_TEXT}p": "p",
    f"{_ODF_TEXT}list": "ul",
    f"{_ODF_TEXT}list-item": "li",
    f"{_ODF_TABLE}table": "table",
    f"{_ODF_TABLE}table-row": "tr",
    f"{_ODF_TABLE}table-cell": "td",
}
_ODF_BLANKS = {f"{_ODF_TEXT}s": " ", f"{_ODF_TEXT}tab": " ", f"{_ODF_TEXT}line-break": "<br/>"}
_ODF_UNREAD = frozenset(
    {
        f"{_ODF_TEXT}tracked-changes",  # deleted text
        f"{_ODF_TEXT}table-of-content",
        f"{_ODF_TEXT}sequence-decls",
        f"{{{_ODF}office:1.0}}annotation",
    }
)
_RTF_LEVEL = re.compile(r"\\outlinelevel([0-8])(?![0-9]) ?")
_RTF_TITLE = re.compile(r"\{\\title ([^{}]*)\}")
_EMPTY_HEADING = re.compile(r"^#+[ \t]*$", re.MULTILINE)


def convert_docx(content: bytes, _: Report) -> Converted:
    """Return a Word file as Markdown; headings are those of its styles."""
    import mammoth

    title = _title(content, "Word", "word/document.xml")
    with _readable_by("Word"):
        without_images = mammoth.images.img_element(lambda image: {"src": ""})
        html = mammoth.convert_to_html(io.BytesIO(content), convert_image=without_images).value
    return with_text(title, html_to_markdown(html, whole=True).text)


def convert_pptx(content: bytes, report: Report) -> Converted:
    """Return a PowerPoint file as Markdown: each slide's title as a heading, and its notes."""
    from pptx import Presentation

    title = _title(content, "PowerPoint", "ppt/presentation.xml")
    with _readable_by("PowerPoint"):
        slides = list(Presentation(io.BytesIO(content)).slides)
        texts = []
        for number, slide in enumerate(slides, start=1):
            texts.append("\n\n".join(_blocks(slide)))
            report(number, len(slides))
    if not any(text.strip() for text in texts):
        raise ConversionError(
            f"no text on its {len(texts):,} slides, perhaps only pictures; describe them in text, "
            "or remove it"
        )
    return paged(title, texts)


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
    with suppress(ValueError):
        return useful_title(xml_root(properties).findtext(_TITLE, ""))
    return ""


def _readable_by(program: str) -> AbstractContextManager[None]:
    return readable_as(program, f"open it in {program} and save it again, or download it again")


def _blocks(slide: Any) -> Iterator[str]:
    """Yield the texts of a slide as Markdown."""
    title = slide.shapes.title
    if title is not None and title.text_frame.text.strip():
        yield f"## {' '.join(title.text_frame.text.split())}"
    for shape in slide.shapes:
        if title is None or shape.shape_id != title.shape_id:
            yield from _texts(shape)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame):
        yield from [f"Notes: {_clean(notes.text)}"] if notes.text.strip() else []


def _texts(shape: Any) -> Iterator[str]:
    if hasattr(shape, "shapes"):  # a group
        for inner in shape.shapes:
            yield from _texts(inner)
    elif getattr(shape, "has_table", False):
        rows = [[" ".join(cell.text.split()) for cell in row.cells] for row in shape.table.rows]
        yield "\n".join(f"| {' | '.join(cells)} |" for cells in rows)
    elif shape.has_text_frame and shape.text_frame.text.strip():
        yield _clean(shape.text_frame.text)


def _clean(text: str) -> str:
    """Return stripped lines; PowerPoint breaks lines with a vertical tab."""
    lines = (line.strip() for line in text.replace("\v", "\n").splitlines())
    return "\n".join(line for line in lines if line)


def convert_odt(content: bytes, _: Report) -> Converted:
    """Return an OpenDocument text as Markdown, headings by their outline level."""
    with (
        readable_as("OpenDocument", "open it in LibreOffice and save it again"),
        zipfile.ZipFile(io.BytesIO(content)) as archive,
    ):
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise ConversionError("encrypted; save it without a password")
        body = xml_root(archive.read("content.xml")).find(f".//{{{_ODF}office:1.0}}text")
        has_meta = "meta.xml" in archive.namelist()
        title = xml_root(archive.read("meta.xml")).findtext(_TITLE, "") if has_meta else ""
        if body is None:
            raise ValueError("content.xml holds no text")
    text = html_to_markdown(f"<body>{_odf_inner(body)}</body>", whole=True).text
    return with_text(useful_title(title), text)


def _odf_inner(element: Any) -> str:
    """Return the content of an element as HTML."""
    pieces = [escape(element.text or "", quote=False)]
    for child in element:
        pieces += [_odf_html(child), escape(child.tail or "", quote=False)]
    return "".join(pieces)


def _odf_html(element: Any) -> str:
    tag = element.tag
    if not isinstance(tag, str) or tag in _ODF_UNREAD:  # not a string: a comment or an entity
        return ""
    if tag in _ODF_BLANKS:
        return _ODF_BLANKS[tag]
    inner = _odf_inner(element)
    if tag == f"{_ODF_TEXT}h":
        level = element.get(f"{_ODF_TEXT}outline-level", "1")
        level = min(int(level), 6) if level.isdigit() else 1
        return f"<h{level}>{inner}</h{level}>"
    if tag == f"{_ODF_TEXT}note":
        bodies = element.iterfind(f"{_ODF_TEXT}note-body")
        note = " ".join("".join(text for body in bodies for text in body.itertext()).split())
        return f" ({escape(note, quote=False)})"
    name = _ODF_TAGS.get(tag)
    return f"<{name}>{inner}</{name}>" if name else inner


def convert_rtf(content: bytes, _: Report) -> Converted:
    """Return an RTF file as Markdown; headings are the paragraphs with an outline level."""
    from striprtf.striprtf import rtf_to_text

    if not content.lstrip().startswith(b"{\\rtf"):
        raise ConversionError("not RTF: it does not begin with {\\rtf; save it as RTF again")
    source = content.decode("cp1252", "replace")  # other characters are escaped in RTF
    marked = _RTF_LEVEL.sub(
        lambda level: rf"\outlinelevel{level[1]} {'#' * (int(level[1]) + 1)} ", source
    )
    title = _RTF_TITLE.search(source)
    with readable_as("RTF", "save it again"):
        text = rtf_to_text(marked, errors="replace")
        name = rtf_to_text(rf"{{\rtf1 {title[1]}}}", errors="replace") if title else ""
    return with_text(useful_title(name), single_blank_lines(_EMPTY_HEADING.sub("", tidied(text))))


def convert_workbook(content: bytes, report: Report) -> Converted:
    """Return the rows of all sheets as a Markdown table, formulas by their stored values."""
    from python_calamine import CalamineWorkbook

    lines: list[str] = []
    starts: list[int] = []
    labels: list[str] = []
    length = 0
    with (
        readable_as("a workbook", "save it again, without a password"),
        CalamineWorkbook.from_filelike(io.BytesIO(content)) as book,
    ):
        names = book.sheet_names
        for number, name in enumerate(names, start=1):
            for label, line in _sheet(book.get_sheet_by_index(number - 1), name):
                if label:
                    starts.append(length)
                    labels.append(label)
                lines.append(line)
                length += len(line) + 1
            report(number, len(names))
    if not labels:
        raise ConversionError(f"no text in its {len(names):,} sheets; fill it or remove it")
    return Converted("", "\n".join(lines), tuple(starts), tuple(labels))


def _sheet(sheet: Any, name: str) -> Iterator[tuple[str, str]]:
    """Yield label and line of each row that is not empty, after a line with the sheet's name."""
    first = (sheet.start or (0, 0))[0] + 1  # rows before it are empty
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
        while cells and not cells[-1]:
            cells.pop()
        if not cells:
            continue
        if not is_named:
            yield "", f"## {title}"
            is_named = True
        yield f'sheet "{title}", row {number}', f"| {' | '.join(cells)} |"
