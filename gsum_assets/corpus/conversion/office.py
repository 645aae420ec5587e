"""Text of Word and PowerPoint files."""

import io
import zipfile
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from itertools import accumulate
from typing import Any

from gsum_assets.corpus.conversion.formats import ConversionError, Converted, readable_as, with_text
from gsum_assets.corpus.conversion.html import html_to_markdown
from gsum_assets.corpus.conversion.titles import useful_title

_OLE = bytes.fromhex("d0cf11e0a1b11ae1")  # encrypted files, and those of Office 97
_BREAK = "\n\n"


def convert_docx(content: bytes) -> Converted:
    """Return a Word file as Markdown; headings are those of its styles."""
    import mammoth

    properties = _open(content, "Word", "word/document.xml")
    with _readable_by("Word"):
        without_images = mammoth.images.img_element(lambda image: {"src": ""})
        html = mammoth.convert_to_html(io.BytesIO(content), convert_image=without_images).value
    return with_text(useful_title(properties), html_to_markdown(html, whole=True).text)


def convert_pptx(content: bytes, report: Callable[[int, int], None]) -> Converted:
    """Return a PowerPoint file as Markdown: each slide's title as a heading, and its notes."""
    from pptx import Presentation

    title = _open(content, "PowerPoint", "ppt/presentation.xml")
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
    starts = accumulate((len(text) + len(_BREAK) for text in texts[:-1]), initial=0)
    return Converted(useful_title(title), _BREAK.join(texts), tuple(starts))


def _open(content: bytes, program: str, member: str) -> str:
    """Check that the archive is readable, and return the title in its properties."""
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - it is native

    if content.startswith(_OLE):
        raise ConversionError(
            f"encrypted, or of {program} 97; save it in {program} without a password, in the "
            "current format"
        )
    with _readable_by(program), zipfile.ZipFile(io.BytesIO(content)) as archive:
        archive.getinfo(member)
        has_title = "docProps/core.xml" in archive.namelist()
        properties = archive.read("docProps/core.xml") if has_title else b"<none/>"
    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(properties, parser)
    title = None if root is None else root.find("{http://purl.org/dc/elements/1.1/}title")
    return "" if title is None else title.text or ""


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
