"""Marks of what the form of a text says: raised, struck, hidden and ticked parts, formulas."""

import re
from contextlib import suppress
from typing import Any

from gsum_assets.corpus.conversion.formats import counted, raised

_SHEET_HIDES = re.compile(r"([^{}@;]+)\{[^{}]*?display\s*:\s*none[^{}]*\}")
_AT_RULE = re.compile(r"@[^{};]+\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|mso-hide\s*:\s*all", re.I
)
_STRUCK = re.compile(r"line-through", re.I)
_RAISED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.I)
_NOTE = re.compile(r"noteref|footnote|endnote|reference|fnref", re.I)
_BLOCKS = ["p", "li", "td", "th", "div", "h1", "h2", "h3", "h4", "h5", "h6", "dd", "dt", "body"]
_BOXES = {"☐": "[ ]", "☑": "[x]", "☒": "[x]", "🗹": "[x]", "🗷": "[x]"}
_FIELDS = ("text", "number", "date", "email", "tel", "url", "search", "month", "time")


def ticked(text: str) -> str:
    """Return a text with the state of boxes in letters: `[x]` and `[ ]`."""
    for box, state in _BOXES.items():
        text = text.replace(box, state)
    return text


def marked(soup: Any) -> str:
    """Mark raised, struck and ticked parts of a page, and remove deleted and hidden ones.

    Formulas become one line, pictures their descriptions. Returns what was removed, in words.
    """
    from bs4 import Comment, Tag

    of_name: dict[str, list[Any]] = {}
    hidden, struck, placed = [], [], []
    for node in list(soup.descendants):  # once, as each search takes as long
        if isinstance(node, Tag):
            of_name.setdefault(node.name, []).append(node)
            style = str(node.attrs.get("style", ""))
            if "hidden" in node.attrs or (style and _HIDDEN.search(style)):
                hidden.append(node)
            if style and _STRUCK.search(style):
                struck.append(node)
            if style and _RAISED.search(style):
                placed.append(node)
        elif isinstance(node, Comment):
            node.extract()

    def named(*names: str) -> list[Any]:
        tags = (tag for name in names for tag in of_name.get(name, ()))
        return [tag for tag in tags if not tag.decomposed]

    sheet = _AT_RULE.sub("", " ".join(tag.get_text() for tag in named("style")))
    for rule in _SHEET_HIDES.finditer(sheet):
        with suppress(Exception):  # a selector that is not known, or not valid
            hidden += soup.select(rule[1].strip())
    for name in ("script", "style", "template", "svg", "head", "rp", "annotation-xml"):
        for tag in named(name):
            tag.decompose()
    removed = {"deleted part": _removed(named("del")), "hidden part": _removed(hidden)}
    for tag in named("math"):
        tex = tag.find("annotation")
        tag.replace_with(f" ${tex.get_text().strip()}$ " if tex else f" {_linear(tag)} ")
    for tag in named("rt"):
        tag.replace_with(f" ({tag.get_text().strip()})")
    for tag in named("s", "strike") + [tag for tag in struck if not tag.decomposed]:
        if tag.get_text().strip():
            tag.insert(0, " ~~" if _before(tag)[-1:].isalnum() else "~~")
            after = tag.next_sibling
            tag.append("~~ " if isinstance(after, str) and after[:1].isalnum() else "~~")
    raised_tags = [tag for tag in placed if not tag.decomposed and tag.name not in ("sup", "sub")]
    in_order = {id(tag) for tag in raised_tags + named("sup", "sub")}
    if in_order:
        for tag in [node for node in soup.descendants if id(node) in in_order]:
            _mark_raised(tag)
    for tag in named("input", "select", "img"):
        _mark_field(tag)
    return counted(*removed.items())


def _removed(tags: list[Any]) -> list[str]:
    """Remove tags and return their texts, those with words."""
    texts = []
    for tag in tags:
        if not tag.decomposed:
            text = tag.get_text(" ", strip=True)
            texts += [text] if text else []
            tag.decompose()
    return texts


def _before(tag: Any) -> str:
    """Return the text before a tag in its block."""
    block = tag.find_parent(_BLOCKS)
    before = tag.find_previous(string=True)
    while before is not None and not before:
        before = before.find_previous(string=True)
    if before is None or before.find_parent(_BLOCKS) is not block:
        return ""
    return str(before)[-60:]


def _mark_raised(tag: Any) -> None:
    text = " ".join(tag.get_text().split())
    style = _RAISED.search(tag.get("style", ""))
    is_raised = tag.name == "sup" or (tag.name != "sub" and style and style[1].lower() == "super")
    before = _before(tag)
    if not is_raised:
        is_below = re.search(r"\d[/⁄]$", before) or not before[-1:].isdigit()
        tag.replace_with(text if is_below else f"_{text}")
        return
    slash: Any = tag.next_sibling
    below: Any = (
        None if slash is None or str(slash).strip() not in ("/", "⁄") else slash.next_sibling
    )
    if slash is not None and below is not None and below.name == "sub":
        slash.replace_with("/")
        tag.replace_with(f" {text}" if before[-1:].isdigit() else text)
        return
    names = " ".join([*tag.get("class", []), tag.get("role", ""), tag.get("epub:type", "")])
    link = tag.find("a") or tag.find_parent("a")
    is_note = bool(_NOTE.search(names) or (link and "#" in (link.get("href") or "")))
    tag.replace_with(raised(before, text, is_note))


def _mark_field(tag: Any) -> None:
    """Replace a field of a form by its value, a picture by its description."""
    kind = tag.get("type", "text").lower()
    if tag.name == "select":
        chosen = [o.get_text(" ", strip=True) for o in tag.find_all("option", selected=True)]
        tag.replace_with(", ".join(chosen))
    elif tag.name == "img":
        alt = "" if tag.find_parent("a") else " ".join(tag.get("alt", "").split())  # a logo
        blank = " " if _before(tag).strip() else ""
        tag.replace_with(f"{blank}[picture: {alt}]{blank}" if alt else "")
    elif tag.find_parent("pre"):  # of the page's own controls
        tag.decompose()
    elif kind in ("checkbox", "radio"):
        blank = "" if str(tag.next_sibling or "")[:1].isspace() else " "
        tag.replace_with(("[x]" if tag.get("checked") is not None else "[ ]") + blank)
    elif kind in _FIELDS and tag.get("value"):
        tag.replace_with(tag["value"])


def _linear(node: Any) -> str:
    """Return a formula in MathML on one line."""
    if isinstance(node, str):
        return node.strip()
    parts = [
        _linear(child) for child in node.children if not isinstance(child, str) or child.strip()
    ]
    name = node.name.rpartition(":")[2]
    first, second, third = [*parts, "", "", ""][:3]
    if name == "mfrac":
        return f" {_grouped(first)}/{_grouped(second)}"
    if name in ("msup", "mover"):
        return f"{first}^{_grouped(second)}"
    if name in ("msub", "munder"):
        return f"{first}_{_grouped(second)}"
    if name in ("msubsup", "munderover"):
        return f"{first}_{_grouped(second)}^{_grouped(third)}"
    if name in ("msqrt", "mroot"):
        degree = f"[{second}]" if name == "mroot" else ""
        return f"√{degree}({first if degree else ''.join(parts)})"
    if name == "mo":
        return f" {first} " if first in "=<>≤≥≈≠+−-±→·×" else first
    return "".join(parts).replace("  ", " ")


def _grouped(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"\w*|[\d.,]+", text) else f"({text})"
