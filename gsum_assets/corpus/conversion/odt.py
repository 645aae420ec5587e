"""Text of OpenDocument texts."""

import io
import zipfile
from html import escape
from typing import Any

from gsum_assets.corpus.conversion.formats import ConversionError, Converted
from gsum_assets.corpus.conversion.html import html_to_markdown
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
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            if b"encryption-data" in archive.read("META-INF/manifest.xml"):
                raise ConversionError("encrypted; save it without a password")
            body = _xml(archive.read("content.xml")).find(f".//{{{_OFFICE}office:1.0}}text")
            has_meta = "meta.xml" in archive.namelist()
            meta = _xml(archive.read("meta.xml")) if has_meta else None
        if body is None:
            raise ValueError("content.xml holds no text")
    except (zipfile.BadZipFile, KeyError, EOFError, OSError, ValueError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:120]
        raise ConversionError(
            f"not readable as OpenDocument ({reason}); open it in LibreOffice and save it again"
        ) from error
    converted = html_to_markdown(f"<body>{_inner(body)}</body>", whole=True)
    if not converted.text.strip():
        raise ConversionError("the document has no text; fill it or remove it")
    return Converted(
        useful_title("" if meta is None else meta.findtext(_TITLE, "")), converted.text
    )


def _xml(content: bytes) -> Any:
    from lxml import etree  # pyright: ignore[reportAttributeAccessIssue] - it is native

    parser = etree.XMLParser(resolve_entities=False, no_network=True, recover=True)
    root = etree.fromstring(content, parser)
    if root is None:
        raise ValueError("a file in it is not XML")
    return root


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
