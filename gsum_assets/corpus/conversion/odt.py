"""Text of OpenDocument texts."""

import io
import zipfile
from html import escape
from typing import Any

from gsum_assets.corpus.conversion.formats import ConversionError, Converted, readable_as, with_text
from gsum_assets.corpus.conversion.html import html_to_markdown, xml_root
from gsum_assets.corpus.conversion.titles import useful_title

_OFFICE = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE = f"{{{_OFFICE}text:1.0}}", f"{{{_OFFICE}table:1.0}}"
_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
_HTML = {
    f"{_TEXT}p": "p",
    f"{_TEXT}list": "ul",
    f"{_TEXT}list-item": "li",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
}
_BLANKS = {f"{_TEXT}tab": " ", f"{_TEXT}line-break": "<br/>"}
_UNREAD = frozenset(
    {
        f"{_TEXT}tracked-changes",  # deleted text
        f"{_TEXT}table-of-content",
        f"{_TEXT}sequence-decls",
        f"{{{_OFFICE}office:1.0}}annotation",
    }
)


def convert_odt(content: bytes) -> Converted:
    """Return an OpenDocument text as Markdown, headings by their outline level."""
    with (
        readable_as("OpenDocument", "open it in LibreOffice and save it again"),
        zipfile.ZipFile(io.BytesIO(content)) as archive,
    ):
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise ConversionError("encrypted; save it without a password")
        body = xml_root(archive.read("content.xml")).find(f".//{{{_OFFICE}office:1.0}}text")
        has_meta = "meta.xml" in archive.namelist()
        title = xml_root(archive.read("meta.xml")).findtext(_TITLE, "") if has_meta else ""
        if body is None:
            raise ValueError("content.xml holds no text")
    text = html_to_markdown(f"<body>{_inner(body)}</body>", whole=True).text
    return with_text(useful_title(title), text)


def _inner(element: Any) -> str:
    """Return the content of an element as HTML."""
    pieces = [escape(element.text or "", quote=False)]
    for child in element:
        pieces += [_html(child), escape(child.tail or "", quote=False)]
    return "".join(pieces)


def _html(element: Any) -> str:
    tag = element.tag
    if not isinstance(tag, str) or tag in _UNREAD:  # not a string: a comment or an entity
        return ""
    if tag in _BLANKS:
        return _BLANKS[tag]
    if tag == f"{_TEXT}s":
        return " "
    inner = _inner(element)
    if tag == f"{_TEXT}h":
        level = element.get(f"{_TEXT}outline-level", "1")
        level = min(int(level), 6) if level.isdigit() else 1
        return f"<h{level}>{inner}</h{level}>"
    if tag == f"{_TEXT}note":
        bodies = element.iterfind(f"{_TEXT}note-body")
        note = " ".join("".join(text for body in bodies for text in body.itertext()).split())
        return f" ({escape(note, quote=False)})"
    name = _HTML.get(tag)
    return f"<{name}>{inner}</{name}>" if name else inner
