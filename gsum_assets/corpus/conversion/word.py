"""Text of Word files, with what their form says: numbers of lists, changes, comments, notes."""

import io
import posixpath
import re
import zipfile
from collections import Counter
from html import escape
from typing import Any

from gsum_assets.corpus.conversion.formats import Converted, accepted, remark, useful_title
from gsum_assets.corpus.conversion.html import drawn, from_body, xml_root
from gsum_assets.corpus.conversion.marks import LOWERED, RAISED, STRUCK, in_marks, left_out

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_REL = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"
_STRICT, _OPEN = (
    re.compile(rb"http://purl\.oclc\.org/ooxml/(\w+)/"),
    rb"http://schemas.openxmlformats.org/\1/2006/",
)
_PROPERTIES = "pPr rPr tblPr tblGrid trPr tcPr sectPr sdtPr sdtEndPr rubyPr ctrlPr"
_CODES = "instrText delInstrText fldData proofErr bookmarkStart bookmarkEnd delText annotationRef"
_UNREAD = frozenset([*_PROPERTIES.split(), *_CODES.split(), "Fallback"])
_HEADING = re.compile(r"heading (\d)|title", re.IGNORECASE)
_SYMBOLS = {"FC": "✓", "FB": "✗", "E0": "→"}  # of the fonts Wingdings
_SYMBOLS |= dict.fromkeys(("FE", "FD", "53", "54"), "[x]")
_SYMBOLS |= dict.fromkeys(("A8", "6F", "A3"), "[ ]")
_MATH = {"f": "mfrac", "sSup": "msup", "sSub": "msub", "sSubSup": "msubsup", "rad": "msqrt"}
_ROMAN = {1000: "m", 900: "cm", 500: "d", 400: "cd", 100: "c", 90: "xc", 50: "l", 40: "xl"}
_ROMAN |= {10: "x", 9: "ix", 5: "v", 4: "iv", 1: "i"}
_READ = ("vanish", "strike", "dstrike", "vertAlign")
_OFF = ("0", "false", "off", "none")


class WordFile:
    """The parts of a Word file, and what was left out of its text or accepted in it."""

    def __init__(self, content: bytes) -> None:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = [name for name in archive.namelist() if name.endswith((".xml", ".rels"))]
            parts = {n: archive.read(n) for n in names if n.startswith("word/")}
        self._parts = {name: _STRICT.sub(_OPEN, part) for name, part in parts.items()}
        self._changes: Counter[str] = Counter()
        self._boxes: list[str] = []
        self._title = ""  # that of the style of this name
        self._footnotes = self._by_id("word/footnotes.xml", "footnote")
        endnotes = self._by_id("word/endnotes.xml", "endnote")
        self._footnotes |= {f"e{key}": note for key, note in endnotes.items()}
        self._comments = self._by_id("word/comments.xml", "comment")
        self._styles = self._by_id("word/styles.xml", "style", f"{_W}styleId")
        self._forms: dict[str, dict[str, str]] = {}  # of runs, by style
        for style in self._styles:
            forms = [_form(entry.find(f"{_W}rPr")) for entry in reversed(self._chain(style))]
            self._forms[style] = {name: form[name] for form in forms for name in form}
        self._numbers = _Numbers(self._root("word/numbering.xml"))
        relations = self._root("word/_rels/document.xml.rels")
        self._targets = (
            {r.get("Id"): r.get("Target") for r in relations} if relations is not None else {}
        )

    def converted(self, title: str) -> Converted:
        """Return the document as Markdown; headings are those of its styles."""
        root = self._root("word/document.xml")
        body = root.find(f"{_W}body") if root is not None else None
        if body is None:
            raise ValueError("word/document.xml has no body")
        edges = [n for n in sorted(self._parts) if re.fullmatch(r"word/(header|footer)\d*\.xml", n)]
        texts = (" ".join(self._root(name).itertext(f"{_W}t")) for name in edges)
        html = self._blocks(body) + "".join(left_out("running line", text) for text in texts)
        changes = (self._changes[kind] for kind in ("deletion", "insertion", "move", "comment"))
        return from_body(html, useful_title(self._title) or title, accepted(*changes))

    def _root(self, name: str) -> Any:
        return xml_root(self._parts[name]) if name in self._parts else None

    def _by_id(self, part: str, tag: str, key: str = f"{_W}id") -> dict[str, Any]:
        root = self._root(part)
        return {} if root is None else {e.get(key): e for e in root.iterfind(f"{_W}{tag}")}

    def _blocks(self, element: Any) -> str:
        """Return paragraphs and tables as HTML, lines of one list together."""
        pieces: list[str] = []
        for child in element:
            name = _name(child)
            if name == "p":
                pieces.append(self._paragraph(child))
            elif name == "tbl":
                pieces.append(self._table(child))
            elif name in ("del", "moveFrom"):
                pieces.append(self._deleted(child))
            elif name not in _UNREAD:
                pieces.append(self._blocks(child))
        html = "".join(pieces)
        return html.replace("</ul><ul>", "").replace("</div><div>", "<br/>")

    def _paragraph(self, paragraph: Any) -> str:
        properties = paragraph.find(f"{_W}pPr")
        outside, self._boxes = self._boxes, []
        inner = self._inline(paragraph)
        boxes, self._boxes = "".join(self._boxes), outside
        chain = self._chain(_value(properties, "pStyle"))
        of_chain = [properties, *(entry.find(f"{_W}pPr") for entry in chain)]
        names = [_value(entry, "name") for entry in chain]
        level = self._outline(of_chain, names)
        number = self._number(of_chain)
        if level and inner.strip():
            if "title" in map(str.lower, names):
                self._title = self._title or " ".join("".join(paragraph.itertext(f"{_W}t")).split())
            return f"<h{level}>{number and number + ' '}{inner}</h{level}>{boxes}"
        if number == "-":
            return f"<ul><li>{inner}</li></ul>{boxes}"
        tag = "div" if number else "p"
        return f"<{tag}>{number and number + ' '}{inner}</{tag}>{boxes}"

    def _chain(self, style: str) -> list[Any]:
        """Return a style and those that it is based on."""
        entries: list[Any] = []
        while len(entries) < 9 and (entry := self._styles.get(style)) is not None:
            entries.append(entry)
            style = _value(entry, "basedOn")
        return entries

    def _outline(self, properties: list[Any], names: list[str]) -> int:
        for of_style, name in zip(properties, ["", *names], strict=True):
            level = _value(of_style, "outlineLvl")
            if heading := _HEADING.fullmatch(name):
                return min(int(heading[1] or 1), 6)
            if level:
                return min(int(level) + 1, 6) if level.isdigit() and int(level) < 9 else 0
        return 0

    def _number(self, properties: list[Any]) -> str:
        """Return what Word shows before a paragraph of a list: its number, or "-"."""
        for of_style in properties:
            numbering = of_style.find(f"{_W}numPr") if of_style is not None else None
            if numbering is not None:
                depth = _value(numbering, "ilvl") or "0"
                return self._numbers.next(_value(numbering, "numId"), depth)
        return ""

    def _table(self, table: Any) -> str:
        rows: list[list[dict[str, Any]]] = []
        above: dict[int, dict[str, Any]] = {}  # cells by their first column
        behind = ""
        for row in table.iter(f"{_W}tr"):
            if next(row.iterancestors(f"{_W}tbl")) is not table:
                continue
            properties = row.find(f"{_W}trPr")
            if _is_on(properties, "del"):
                behind += self._deleted(row)
                continue
            if _is_on(properties, "hidden"):
                behind += left_out("hidden row", _words(row))
                continue
            rows.append([])
            column = 0
            for cell in row.iterfind(f".//{_W}tc"):
                if next(cell.iterancestors(f"{_W}tr")) is not row:
                    continue
                form = cell.find(f"{_W}tcPr")
                width = int(_value(form, "gridSpan") or 1)
                goes_on = form is not None and form.find(f"{_W}vMerge") is not None
                if goes_on and column in above and _value(form, "vMerge") != "restart":
                    above[column]["rowspan"] += 1
                else:
                    above[column] = {"colspan": width, "rowspan": 1, "html": self._blocks(cell)}
                    rows[-1].append(above[column])
                column += width
        names = ["th" if len(rows) > 1 else "td", *["td"] * len(rows)]
        cell = '<{0} colspan="{colspan}" rowspan="{rowspan}">{html}</{0}>'.format
        lines = ("".join(cell(n, **c) for c in row) for n, row in zip(names, rows, strict=False))
        return f"<table>{''.join(f'<tr>{line}</tr>' for line in lines)}</table>{behind}"

    def _inline(self, element: Any) -> str:
        return "".join(self._html(child) for child in element)

    def _html(self, element: Any) -> str:
        name = _name(element)
        if name in _UNREAD:
            return ""
        if name in ("del", "moveFrom"):
            return self._deleted(element)
        if name in ("ins", "moveTo"):
            self._changes["insertion" if name == "ins" else "move"] += 1
            return self._inline(element)
        if name == "r":
            return self._run(element)
        if name == "t":
            return escape(element.text or "", quote=False)
        if name in ("tab", "br", "cr"):
            return "<br/>" if name != "tab" and element.get(f"{_W}type") != "page" else " "
        if name == "noBreakHyphen":
            return "-"
        if name == "sym":
            return _SYMBOLS.get((element.get(f"{_W}char") or "")[-2:].upper(), "")
        if name == "checkBox":
            state = element.find(f"{_W}checked")
            state = element.find(f"{_W}default") if state is None else state
            return "[ ] " if state is None or state.get(f"{_W}val") in _OFF else "[x] "
        if name == "ffData":
            return "".join(map(self._html, element.iterfind(f"{_W}checkBox")))
        if name in ("footnoteReference", "endnoteReference"):
            note = self._footnotes.get(("e" if name[0] == "e" else "") + element.get(f"{_W}id", ""))
            return "" if note is None else f" ({self._line_of(note)})"
        if name == "commentReference":
            return self._comment(element.get(f"{_W}id", ""))
        if name == "txbxContent":
            html = self._blocks(element)
            self._boxes.append(html)
            return ""
        if name == "docPr":
            alt = element.get("descr") or ""
            return f' <img alt="{escape(alt)}"/> ' if alt.strip() else ""
        if name in ("chart", "relIds"):  # of a diagram
            return self._drawn(element.get(f"{_REL}{'id' if name == 'chart' else 'dm'}", ""))
        if name == "ruby":  # what is above comes first in the file
            above, base = (element.find(f"{_W}{part}") for part in ("rt", "rubyBase"))
            parts = ["" if part is None else self._inline(part) for part in (base, above)]
            return f"{parts[0]} ({parts[1]})"
        if name == "oMath":
            return f"<math>{_math(element)}</math>"
        return self._inline(element)

    def _run(self, run: Any) -> str:
        form = self._form_of(run)
        if form.get("vanish"):
            return left_out("hidden part", _words(run))
        inner = self._inline(run)
        if run.find(f"{_W}t") is None:
            return inner
        place = {"superscript": RAISED, "subscript": LOWERED}.get(form.get("vertAlign", ""), "")
        is_struck = form.get("strike") or form.get("dstrike")
        return in_marks(inner, place, STRUCK if is_struck else "")

    def _form_of(self, run: Any) -> dict[str, str]:
        """Return the properties of a run, of its paragraph's style, its own style, and its own."""
        own = run.find(f"{_W}rPr")
        paragraph = next(run.iterancestors(f"{_W}p"), None)
        properties = paragraph.find(f"{_W}pPr") if paragraph is not None else None
        of_styles = self._forms.get(_value(properties, "pStyle"), {})
        return of_styles | self._forms.get(_value(own, "rStyle"), {}) | _form(own)

    def _deleted(self, element: Any) -> str:
        self._changes["deletion" if _name(element) != "moveFrom" else "move"] += 1
        return left_out("deleted part", _words(element))

    def _line_of(self, element: Any) -> str:
        return " ".join(
            re.sub(r"</?(p|div|h\d|[uo]l|li|t\w+)\b[^<>]*>", " ", self._blocks(element)).split()
        )

    def _comment(self, key: str) -> str:
        comment = self._comments.get(key)
        if comment is None:
            return ""
        self._changes["comment"] += 1
        author = escape(comment.get(f"{_W}author") or "", quote=False)
        return f" {remark(author, self._line_of(comment))}"

    def _drawn(self, key: str) -> str:
        target = self._targets.get(key) or ""
        root = self._root(posixpath.normpath(posixpath.join("word", target)))
        return "" if root is None else f" {escape(drawn(root), quote=False)} "


class _Numbers:
    """The numbers of lists, which go on over the paragraphs of a document."""

    def __init__(self, root: Any) -> None:
        self._counts: dict[str, list[int]] = {}
        self._levels: dict[str, dict[str, Any]] = {}
        self._list: dict[str, str] = {}
        self._starts: dict[tuple[str, str], int] = {}
        if root is None:
            return
        for number in root.iterfind(f"{_W}num"):
            key, abstract = number.get(f"{_W}numId"), _value(number, "abstractNumId")
            levels = f"{_W}abstractNum[@{_W}abstractNumId='{abstract}']/{_W}lvl"
            self._levels[key] = {e.get(f"{_W}ilvl"): e for e in root.iterfind(levels)}
            overrides = number.findall(f"{_W}lvlOverride")
            self._list[key] = key if overrides else abstract
            for override in overrides:
                if start := _value(override, "startOverride"):
                    self._starts[key, override.get(f"{_W}ilvl")] = int(start)

    def next(self, key: str, depth: str) -> str:
        """Return the number of the next paragraph of a list at a depth from "0", or ""."""
        levels = self._levels.get(key, {})
        level = levels.get(depth)
        if level is None or not depth.isdigit():
            return ""
        kind = _value(level, "numFmt")
        if kind == "bullet":
            return "-"
        counts = self._counts.setdefault(self._list[key], [])
        at = int(depth)
        while len(counts) <= at:
            start = self._starts.get((key, str(len(counts)))) or _value(
                levels.get(str(len(counts))), "start"
            )
            counts.append(int(start or 1) - 1)
        counts[at] += 1
        del counts[at + 1 :]
        formats = [_value(levels.get(str(i)), "numFmt") for i in range(at + 1)]
        shown = [max(count, 1) if i < at else count for i, count in enumerate(counts)]
        text = _value(level, "lvlText")
        for i, (count, kind) in enumerate(zip(shown, formats, strict=True), start=1):
            text = text.replace(f"%{i}", _numeral(count, kind))
        return text


def _numeral(number: int, kind: str) -> str:
    if kind.endswith("Letter") and number > 0:
        letter = chr(97 + (number - 1) % 26) * ((number - 1) // 26 + 1)
        return letter if kind.startswith("lower") else letter.upper()
    if kind.endswith("Roman") and 0 < number < 4000:
        text = ""
        for value, sign in _ROMAN.items():
            text, number = text + sign * (number // value), number % value
        return text if kind.startswith("lower") else text.upper()
    return "" if kind == "none" else str(number)


def _name(element: Any) -> str:
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else "proofErr"


def _value(element: Any, name: str) -> str:
    """Return the attribute `val` of a child, "" without one."""
    child = element.find(f"{_W}{name}") if element is not None else None
    return (child.get(f"{_W}val") or "") if child is not None else ""


def _is_on(properties: Any, name: str) -> bool:
    child = properties.find(f"{_W}{name}") if properties is not None else None
    return child is not None and child.get(f"{_W}val") not in _OFF


def _form(properties: Any) -> dict[str, str]:
    """Return what of the form of runs is read, "" for what is off."""
    if properties is None:
        return {}
    values = {_name(child): child.get(f"{_W}val", "on") for child in properties}
    return {name: "" if value in _OFF else value for name, value in values.items() if name in _READ}


def _words(element: Any) -> str:
    return "".join(element.itertext(f"{_W}delText", f"{_W}t"))


def _math(element: Any) -> str:
    """Return a formula of Word as MathML."""
    name = _name(element)
    if name == "t":
        return f"<mi>{escape(element.text or '', quote=False)}</mi>"
    if name in _UNREAD or name.endswith("Pr"):
        return ""
    children = [_math(child) for child in element if _name(child) != "deg"]
    tag = _MATH.get(name) or ("mrow" if name in ("num", "den", "e", "sub", "sup") else "")
    return f"<{tag}>{''.join(children)}</{tag}>" if tag else "".join(children)
