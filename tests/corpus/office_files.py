"""Small files of the formats that are converted, as their programs write them."""

import base64
import io
import re
import zipfile
from collections.abc import Mapping, Sequence

_ENCRYPTED = (
    "JVBERi0xLjMKJeLjz9MKMSAwIG9iago8PAovUHJvZHVjZXIgPGFkMjNhMmNiZDQ+Cj4+CmVuZG9iagoyIDAgb2Jq"
    "Cjw8Ci9UeXBlIC9QYWdlcwovQ291bnQgMQovS2lkcyBbIDQgMCBSIF0KPj4KZW5kb2JqCjMgMCBvYmoKPDwKL1R5"
    "cGUgL0NhdGFsb2cKL1BhZ2VzIDIgMCBSCj4+CmVuZG9iago0IDAgb2JqCjw8Ci9UeXBlIC9QYWdlCi9SZXNvdXJj"
    "ZXMgPDwKPj4KL01lZGlhQm94IFsgMC4wIDAuMCA3MiA3MiBdCi9QYXJlbnQgMiAwIFIKPj4KZW5kb2JqCjUgMCBv"
    "YmoKPDwKL1YgMgovUiAzCi9MZW5ndGggMTI4Ci9QIDQyOTQ5NjcyOTIKL0ZpbHRlciAvU3RhbmRhcmQKL08gPDBl"
    "NTIyOTI1YTNlNGU4NzRjM2NmYWNiZWY1MTFhNzNhYzRlYzJiZDg2NWRjZDNkNDYyNzYxNDkxN2FiZmQ3ZTQ+Ci9V"
    "IDw1MmQ4ODdiZGJhMzcxNTMwYTE5N2ZhODkxZjZlMWRiYzI4YmY0ZTVlNGU3NThhNDE2NDAwNGU1NmZmZmEwMTA4"
    "Pgo+PgplbmRvYmoKeHJlZgowIDYKMDAwMDAwMDAwMCA2NTUzNSBmIAowMDAwMDAwMDE1IDAwMDAwIG4gCjAwMDAw"
    "MDAwNTkgMDAwMDAgbiAKMDAwMDAwMDExOCAwMDAwMCBuIAowMDAwMDAwMTY3IDAwMDAwIG4gCjAwMDAwMDAyNTkg"
    "MDAwMDAgbiAKdHJhaWxlcgo8PAovU2l6ZSA2Ci9Sb290IDMgMCBSCi9JbmZvIDEgMCBSCi9JRCBbIDw0OTE5ZjU5"
    "MzBkOTk0YzgxN2ZhODk4OTliMjc3YWJlNj4gPDQ5MTlmNTkzMGQ5OTRjODE3ZmE4OTg5OWIyNzdhYmU2PiBdCi9F"
    "bmNyeXB0IDUgMCBSCj4+CnN0YXJ0eHJlZgo0NzQKJSVFT0YK"
)


def encrypted_pdf() -> bytes:
    """An empty page behind a password."""
    return base64.b64decode(_ENCRYPTED)


def pdf(pages: Sequence[Sequence[str]], title: str = "") -> bytes:
    """Pages of lines of ASCII; a page without lines is as a scan's, without text."""
    return drawn_pdf(
        [[(50, 800 - 12 * i, 10, line) for i, line in enumerate(lines)] for lines in pages], title
    )


def drawn_pdf(
    pages: Sequence[Sequence[tuple[float, float, float, str]]],
    title: str = "",
    annotations: str = "",
    rotated: int = 0,
    private: bool = False,
) -> bytes:
    """Pages of texts of ASCII, each with its place, from left and below, and the size of its font.

    "{^6}" is a raised and "{_6}" a lowered run, `annotations` are objects of the first page;
    `private` gives the letters codes of private use.
    """
    n = len(pages)
    kids = " ".join(f"{5 + 2 * i} 0 R" for i in range(n))
    codes = "".join(f"<{c:02x}> <{0xE000 + c if private else c:04x}>" for c in range(33, 127))
    to_unicode = f"1 begincodespacerange <00> <ff> endcodespacerange 94 beginbfchar {codes}"
    to_unicode += " endbfchar"
    objects = [
        "<< /Type /Catalog /Pages 2 0 R >>",
        f"<< /Type /Pages /Kids [{kids}] /Count {n} >>",
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 4 0 R >>",
        f"<< /Length {len(to_unicode)} >>\nstream\n{to_unicode}\nendstream",
    ]
    for i, texts in enumerate(pages):
        stream = "".join(
            f"BT /F1 {size} Tf {x} {y} Td {_shown(text, size)} ET\n" for x, y, size, text in texts
        )
        if rotated == 90:
            stream = f"0 1 -1 0 595 0 cm\n{stream}"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents {6 + 2 * i} 0 R "
            f"/Rotate {rotated} /Annots [{annotations if not i else ''}] "
            "/Resources << /Font << /F1 3 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append(f"<< /Title ({_escaped(title)}) >>")
    body, offsets = "%PDF-1.4\n", []
    for number, content in enumerate(objects, start=1):
        offsets.append(len(body))
        body += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{offset:010d} 00000 n \n" for offset in offsets)
    size = len(objects) + 1
    body += (
        f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n"
        f"<< /Size {size} /Root 1 0 R /Info {len(objects)} 0 R >>\n"
        f"startxref\n{len(body)}\n%%EOF\n"
    )
    return body.encode("ascii")


def _shown(text: str, size: float) -> str:
    """Operators that show a text of the size, runs that are raised or lowered in small letters."""
    operators = []
    for part in re.split(r"(\{[\^_][^}]*\})", text):
        rise = {"{^": 4, "{_": -2}.get(part[:2], 0)
        bare, scale = (part[2:-1], 0.6) if rise else (part, 1)
        operators.append(f"/F1 {scale * size} Tf {rise} Ts ({_escaped(bare)}) Tj")
    return " ".join(operators)


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace("(", r"\(").replace(")", r"\)")


def archive(files: dict[str, str]) -> bytes:
    """A ZIP archive of texts."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as packed:
        for name, text in files.items():
            packed.writestr(name, text)
    return buffer.getvalue()


def docx(paragraphs: Sequence[tuple[str, str]], title: str = "") -> bytes:
    """A Word file; paragraphs as style and text, the style "", "Heading1" or "Title"."""
    word = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    package = "http://schemas.openxmlformats.org/package/2006"
    mime = "application/vnd.openxmlformats-officedocument.wordprocessingml"
    body = "".join(
        f'<w:p><w:pPr><w:pStyle w:val="{style}"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>'
        for style, text in paragraphs
    )
    style = "".join(
        f'<w:style w:type="paragraph" w:styleId="{key}"><w:name w:val="{name}"/></w:style>'
        for key, name in {"Heading1": "heading 1", "Title": "Title"}.items()
    )
    return archive(
        {
            "[Content_Types].xml": f'<Types xmlns="{package}/content-types">'
            f'<Override PartName="/word/document.xml" ContentType="{mime}.document.main+xml"/>'
            "</Types>",
            "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
            f'Type="{office}/officeDocument" Target="word/document.xml"/></Relationships>',
            "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">'
            f'<Relationship Id="r1" Type="{office}/styles" Target="styles.xml"/></Relationships>',
            "word/styles.xml": f'<w:styles xmlns:w="{word}">{style}</w:styles>',
            "word/document.xml": f'<w:document xmlns:w="{word}"><w:body>{body}</w:body>'
            "</w:document>",
            "docProps/core.xml": f'<p:coreProperties xmlns:p="{package}/metadata/core-properties" '
            f'xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title>'
            "</p:coreProperties>",
        }
    )


def pptx(slides: Sequence[tuple[str, str, str]]) -> bytes:
    """A PowerPoint file; slides as title, text and notes."""
    from pptx import Presentation

    deck = Presentation()
    for title, text, notes in slides:
        slide = deck.slides.add_slide(deck.slide_layouts[1])
        slide.shapes.title.text = title
        slide.placeholders[1].text = text
        if notes:
            slide.notes_slide.notes_text_frame.text = notes
    buffer = io.BytesIO()
    deck.save(buffer)
    return buffer.getvalue()


def epub(chapters: Sequence[str], title: str = "", encrypted: str = "") -> bytes:
    """A book; chapters as HTML, read in reverse of their order in the archive.

    `encrypted` names a chapter that is.
    """
    names = [f"c{i}.xhtml" for i in range(len(chapters))]
    items = "".join(
        f'<item id="{n}" href="{n}" media-type="application/xhtml+xml"/>' for n in names
    )
    spine = "".join(f'<itemref idref="{name}"/>' for name in names)
    files = {
        "META-INF/container.xml": '<container xmlns="urn:oasis:names:tc:opendocument:xmlns:'
        'container"><rootfiles><rootfile full-path="O/b.opf"/></rootfiles></container>',
        "O/b.opf": '<package xmlns="http://www.idpf.org/2007/opf" '
        f'xmlns:dc="http://purl.org/dc/elements/1.1/"><metadata><dc:title>{title}</dc:title>'
        f"</metadata><manifest>{items}</manifest><spine>{spine}</spine></package>",
    }
    if encrypted:
        files["META-INF/encryption.xml"] = (
            '<e xmlns:n="http://www.w3.org/2001/04/xmlenc#"><n:EncryptedData>'
            f'<n:CipherReference URI="O/{encrypted}"/></n:EncryptedData></e>'
        )
    pages = reversed(list(zip(names, chapters, strict=True)))
    return archive(files | {f"O/{name}": html for name, html in pages})


def word(body: str, parts: Mapping[str, str] | None = None) -> bytes:
    """A Word file; body and parts, such as comments, in XML with the prefix w."""
    main = "http://schemas.openxmlformats.org/wordprocessingml/2006/main"
    files = {"word/document.xml": f'<w:d xmlns:w="{main}"><w:body>{body}</w:body></w:d>'}
    for name, xml in (parts or {}).items():
        files[f"word/{name}.xml"] = f'<w:{name} xmlns:w="{main}">{xml}</w:{name}>'
    return archive(files)


def odt(
    body: str,
    title: str = "",
    before: str = "",
    styles: str = "",
    more: Mapping[str, str] | None = None,
) -> bytes:
    """An OpenDocument text.

    `body` and `styles` in XML with the prefixes office, text, table, style and draw, `before` its
    DTD, `more` other files.
    """
    office = "urn:oasis:names:tc:opendocument:xmlns"
    names = " ".join(f'xmlns:{n}="{office}:{n}:1.0"' for n in ("office", "text", "table", "style"))
    names += f' xmlns:draw="{office}:drawing:1.0"'
    content = (
        f"{before}<office:document-content {names}><office:automatic-styles>{styles}"
        f"</office:automatic-styles><office:body><office:text>{body}</office:text>"
        "</office:body></office:document-content>"
    )
    meta = f'<m xmlns:dc="http://purl.org/dc/elements/1.1/"><dc:title>{title}</dc:title></m>'
    files = {"META-INF/manifest.xml": "<m/>", "content.xml": content, "meta.xml": meta}
    return archive({**files, **(more or {})})


def xlsx(
    sheets: Mapping[str, Mapping[str, str | float | tuple[str, float]]], hidden: str = ""
) -> bytes:
    """An Excel workbook; cells by their address, a formula with the value stored for it."""
    package = "http://schemas.openxmlformats.org/package/2006"
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    office = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
    kinds = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    states = "visible", "hidden"
    listed = "".join(
        f'<sheet name="{name}" sheetId="{i}" r:id="r{i}" state="{states[name == hidden]}"/>'
        for i, name in enumerate(sheets, 1)
    )
    related = "".join(
        f'<Relationship Id="r{i}" Type="{office}/worksheet" Target="worksheets/s{i}.xml"/>'
        for i in range(1, len(sheets) + 1)
    )
    files = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" '
        f'ContentType="{kinds}.worksheet+xml"/><Override PartName="/xl/workbook.xml" '
        f'ContentType="{kinds}.sheet.main+xml"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="r1" '
        f'Type="{office}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        "xl/workbook.xml": f'<workbook xmlns="{main}" xmlns:r="{office}"><sheets>{listed}</sheets>'
        "</workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{package}/relationships">{related}'
        "</Relationships>",
    }
    for i, cells in enumerate(sheets.values(), 1):
        rows: dict[int, str] = {}
        for address, value in cells.items():
            number = int("".join(c for c in address if c.isdigit()))
            rows[number] = rows.get(number, "") + _cell(address, value)
        data = "".join(f'<row r="{number}">{cells}</row>' for number, cells in rows.items())
        files[f"xl/worksheets/s{i}.xml"] = (
            f'<worksheet xmlns="{main}"><sheetData>{data}</sheetData></worksheet>'
        )
    return archive(files)


def _cell(address: str, value: str | float | tuple[str, float]) -> str:
    if isinstance(value, str):
        return f'<c r="{address}" t="inlineStr"><is><t>{value}</t></is></c>'
    formula, number = value if isinstance(value, tuple) else ("", value)
    return f'<c r="{address}">{f"<f>{formula}</f>" if formula else ""}<v>{number}</v></c>'
