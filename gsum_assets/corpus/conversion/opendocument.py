"""Text of OpenDocument texts."""

import io
import posixpath
import zipfile
from html import escape
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    accepted,
    readable_as,
    remark,
    useful_title,
)
from gsum_assets.corpus.conversion.html import drawn, from_body, xml_root
from gsum_assets.corpus.conversion.marks import LOWERED, RAISED, STRUCK, in_marks, left_out

_TITLE = ".//{http://purl.org/dc/elements/1.1/}title"
_ODF = "urn:oasis:names:tc:opendocument:xmlns:"
_TEXT, _TABLE, _STYLE = f"{{{_ODF}text:1.0}}", f"{{{_ODF}table:1.0}}", f"{{{_ODF}style:1.0}}"
_DRAW, _OFFICE = f"{{{_ODF}drawing:1.0}}", f"{{{_ODF}office:1.0}}"
_MATH = "{http://www.w3.org/1998/Math/MathML}math"
_TAGS = {
    f"{_TEXT}p": "p",
    f"{_TEXT}list-item": "li",
    f"{_TEXT}ruby-text": "rt",
    f"{_TABLE}table": "table",
    f"{_TABLE}table-row": "tr",
    f"{_TABLE}table-cell": "td",
}
_BLANKS = {f"{_TEXT}s": " ", f"{_TEXT}tab": " ", f"{_TEXT}line-break": "<br/>"}
_UNREAD = frozenset(
    {
        f"{_TEXT}table-of-content",
        f"{_TEXT}sequence-decls",
        f"{_TABLE}covered-table-cell",  # by a cell that spans columns or rows
        f"{_OFFICE}annotation-end",
    }
)
_HIDDEN = (f"{_TEXT}hidden-text", f"{_TEXT}hidden-paragraph")


def convert_odt(content: bytes, _: Report) -> Converted:
    """Return an OpenDocument text as Markdown, headings by their outline level."""
    with (
        readable_as("OpenDocument", "open it in LibreOffice and save it again"),
        zipfile.ZipFile(io.BytesIO(content)) as archive,
    ):
        if b"encryption-data" in archive.read("META-INF/manifest.xml"):
            raise ConversionError("encrypted; save it without a password")
        has_meta = "meta.xml" in archive.namelist()
        title = xml_root(archive.read("meta.xml")).findtext(_TITLE, "") if has_meta else ""
        return _Text(archive).converted(useful_title(title))


class _Text:
    """The parts of an OpenDocument text, and what was left out."""

    def __init__(self, archive: zipfile.ZipFile) -> None:
        self._archive = archive
        self._names = frozenset(archive.namelist())
        self._root = xml_root(archive.read("content.xml"))
        self._styles: dict[str, Any] = {}
        self._numbered: set[str] = set()
        self._n_comments = 0
        common = xml_root(archive.read("styles.xml")) if "styles.xml" in self._names else None
        for root in (self._root, common) if common is not None else (self._root,):
            for style in root.iter(f"{_STYLE}style"):
                self._styles.setdefault(style.get(f"{_STYLE}name"), style)
            for style in root.iter(f"{_TEXT}list-style"):
                if style.find(f"{_TEXT}list-level-style-number") is not None:
                    self._numbered.add(style.get(f"{_STYLE}name"))
        edges = common.iter(f"{_STYLE}header", f"{_STYLE}footer") if common is not None else ()
        self._edges = "".join(left_out("running line", _words(edge)) for edge in edges)

    def converted(self, title: str) -> Converted:
        body = self._root.find(f".//{_OFFICE}text")
        if body is None:
            raise ValueError("content.xml holds no text")
        regions = [r.tag for r in self._root.iter(f"{_TEXT}insertion", f"{_TEXT}deletion")]
        html = self._inner(body) + self._edges
        counts = [regions.count(f"{_TEXT}{kind}") for kind in ("deletion", "insertion")]
        return from_body(html, title, accepted(counts[0], counts[1], 0, self._n_comments))

    def _form(self, style: str | None, depth: int = 9) -> dict[str, str]:
        """Return the properties of a style's text, and of the styles that it is based on."""
        entry = self._styles.get(style or "")
        if entry is None or not depth:
            return {}
        own = entry.find(f"{_STYLE}text-properties")
        based_on = self._form(entry.get(f"{_STYLE}parent-style-name"), depth - 1)
        return based_on if own is None else {**based_on, **own.attrib}

    def _inner(self, element: Any) -> str:
        """Return the content of an element as HTML."""
        pieces = [escape(element.text or "", quote=False)]
        for child in element:
            pieces += [self._html(child), escape(child.tail or "", quote=False)]
        return "".join(pieces)

    def _html(self, element: Any) -> str:
        tag = element.tag
        if not isinstance(tag, str) or tag in _UNREAD:  # not a string: a comment or an entity
            return ""
        if tag in _BLANKS:
            return _BLANKS[tag]
        style = self._form(element.get(f"{_TEXT}style-name"))
        is_hidden = tag in _HIDDEN or element.get(f"{_TABLE}visibility") == "collapse"
        if is_hidden or "none" in (style.get(f"{_TEXT}display"), element.get(f"{_TEXT}display")):
            return left_out("hidden part", _words(element))
        if tag == f"{_TEXT}tracked-changes":
            paragraphs = element.iter(f"{_TEXT}p", f"{_TEXT}h")
            return "".join(left_out("deleted part", _words(one)) for one in paragraphs)
        if tag == f"{_OFFICE}annotation":
            return self._comment(element)
        inner = self._inner(element)
        is_struck = style.get(f"{_STYLE}text-line-through-style", "none") != "none"
        place = style.get(f"{_STYLE}text-position", "0").split(" ")[0]
        is_raised = place == "super" or place.rstrip("%0.").isdigit()
        is_lowered = place == "sub" or place.startswith("-")
        inner = in_marks(inner, RAISED * is_raised + LOWERED * is_lowered, STRUCK * is_struck)
        if tag == f"{_TEXT}h":
            level = element.get(f"{_TEXT}outline-level", "1")
            level = min(int(level), 6) if level.isdigit() else 1
            return f"<h{level}>{inner}</h{level}>"
        if tag == f"{_TEXT}note":
            bodies = element.iterfind(f"{_TEXT}note-body")
            note = " ".join("".join(text for body in bodies for text in body.itertext()).split())
            return f" ({escape(note, quote=False)})"
        if tag == f"{_TEXT}list":
            return self._list(element, inner)
        if tag == f"{_DRAW}frame":
            described, rest = [], ""
            for child in element:
                if str(child.tag).endswith(("}title", "}desc")):
                    described.append(child.text or "")
                else:
                    rest += self._html(child)
            alt = " ".join(" ".join(described).split())
            return (f'<img alt="{escape(alt)}"/> ' if alt else "") + rest
        if tag == f"{_DRAW}object":
            return self._object(element)
        name = _TAGS.get(tag)
        if name == "table" and inner.count("<tr>") > 1:  # the first row names the columns
            head, end, rows = inner.partition("</tr>")
            inner = head.replace("<td ", "<th ").replace("</td>", "</th>") + end + rows
        if name == "td":
            columns, lines = (
                escape(element.get(f"{_TABLE}number-{of}-spanned", "1"))
                for of in ("columns", "rows")
            )
            return f'<td colspan="{columns}" rowspan="{lines}">{inner}</td>'
        return f"<{name}>{inner}</{name}>" if name else inner

    def _list(self, element: Any, inner: str) -> str:
        outer, name = element, ""
        while outer is not None and not (name := outer.get(f"{_TEXT}style-name")):
            outer = next(outer.iterancestors(f"{_TEXT}list"), None)
        if outer is None or name not in self._numbered:
            return f"<ul>{inner}</ul>"
        before = [e for e in self._root.iter(f"{_TEXT}list") if e.get(f"{_TEXT}style-name") == name]
        n_before = 0
        if element.get(f"{_TEXT}continue-numbering") == "true" and element in before:
            for other in reversed(before[: before.index(element)]):
                n_before += len(other.findall(f"{_TEXT}list-item"))
                if other.get(f"{_TEXT}continue-numbering") != "true":
                    break
        item = element.find(f"{_TEXT}list-item")
        start = item.get(f"{_TEXT}start-value", "") if item is not None else ""
        return f'<ol start="{start or n_before + 1}">{inner}</ol>'

    def _comment(self, element: Any) -> str:
        self._n_comments += 1
        creator = next((c.text or "" for c in element if str(c.tag).endswith("}creator")), "")
        said = " ".join("".join(p.itertext()) for p in element.iter(f"{_TEXT}p"))
        return escape(f" {remark(creator, ' '.join(said.split()))}", quote=False)

    def _object(self, element: Any) -> str:
        """Return a formula as MathML, of a chart its titles."""
        link = element.get("{http://www.w3.org/1999/xlink}href", "")
        name = posixpath.normpath(posixpath.join(link, "content.xml"))
        root = element.find(_MATH)
        if root is None and name in self._names:
            root = xml_root(self._archive.read(name))
        if root is None:
            return ""
        math = root if root.tag == _MATH else root.find(f".//{_MATH}")
        if math is not None:
            return _plain_tags(math)
        return f" {escape(drawn(root), quote=False)} "


def _words(element: Any) -> str:
    return " ".join("".join(element.itertext()).split())


def _plain_tags(element: Any) -> str:
    """Return an element without the prefixes and attributes of its tags."""
    name = element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""
    if name in ("", "annotation"):  # a formula in StarMath
        return ""
    inner = escape(element.text or "", quote=False) + "".join(
        _plain_tags(child) + escape(child.tail or "", quote=False) for child in element
    )
    return f"<{name}>{inner}</{name}>"
