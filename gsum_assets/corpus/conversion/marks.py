"""Marks of what the form of a text says: raised, struck, hidden and ticked parts, formulas.

Converters put marks around runs of characters, or write HTML, which `marked` marks.
"""

import re
from collections import defaultdict
from contextlib import suppress
from html import escape
from typing import Any

RAISED, LOWERED, STRUCK, NOTE, END = "\ufdd0\ufdd1\ufdd2\ufdd3\ufdd4"  # no characters of texts
_NONE = f"[^{RAISED}-{END}]*"
_RUN = re.compile(f"([{RAISED}-{NOTE}])({_NONE}){END}")
_DIVIDED = re.compile(rf"([{RAISED}-{STRUCK}]){_NONE}(?:{END}\1{_NONE})+{END}")
_FRACTION = re.compile(rf"(\d?) ?{RAISED}(\d+){END} ?[/⁄] ?(?:{LOWERED}(\d+){END}|(\d+))")
_BOXES = {"☐": "[ ]", "☑": "[x]", "☒": "[x]", "🗹": "[x]", "🗷": "[x]"}
_UNMARKED = re.compile(r"st|nd|rd|th|er|ère|re|e|ème|o|a|os|as|TM|SM|\W|[*†‡§]+", re.IGNORECASE)
_NUMBERS = re.compile(r"\d{1,3}([,–-] ?\d{1,3})*")
_LAST_NUMBER = re.compile(r"(?<![^\s(×·*])[\d.,]*\d$")
_LAST_WORD = re.compile(r"(?<![^\W_])[^\W\d_]+$")
_RULE = re.compile(r"([^{}@;]+)\{([^{}]*)\}")
_AT_RULE = re.compile(r"@[^{};]+\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}")
_HIDDEN = re.compile(
    r"display\s*:\s*none|visibility\s*:\s*(hidden|collapse)|mso-hide\s*:\s*all", re.I
)
_STRUCK = re.compile(r"line-through", re.I)
_PLACED = re.compile(r"vertical-align\s*:\s*(super|sub)\b", re.I)
_CALL = re.compile(r"noteref|footnote|endnote|reference|fnref", re.I)
_BLOCKS = ["p", "li", "td", "th", "div", "h1", "h2", "h3", "h4", "h5", "h6", "dd", "dt"]
_FORMULAS = {"mfrac": " {1}/{2}", "msup": "{0}^{2}", "mover": "{0}^{2}", "msub": "{0}_{2}"}
_FORMULAS |= {"munder": "{0}_{2}", "msubsup": "{0}_{2}^{3}", "munderover": "{0}_{2}^{3}"}
_FIELDS = ("text", "number", "date", "email", "tel", "url", "search", "month", "time")


def shown(text: str) -> str:
    """Return a text with its marks in letters: `10^6`, `3 1/4`, `word [3]`, `~~struck~~`, `[x]`."""
    for box, state in _BOXES.items():
        text = text.replace(box, state)
    if END not in text:
        return text
    text = _FRACTION.sub(lambda m: f"{m[1]}{m[1] and ' '}{m[2]}/{m[3] or m[4]}", text)
    while len(pieces := _RUN.split(text)) > 1:  # from inner to outer runs
        text = pieces[0]
        for mark, run, after in zip(pieces[1::3], pieces[2::3], pieces[3::3], strict=True):
            text += _in_letters(text[-60:], mark, run, after) + after
    return text


def in_marks(text: str, *marks: str) -> str:
    """Return a run of characters with marks around it, without those that are ""."""
    for mark in filter(None, marks if text.strip() else ()):
        text = f"{mark}{text}{END}"
    return text


def whole_runs(text: str) -> str:
    """Return a text in which runs of one form that follow each other are one, as of a word."""
    return _DIVIDED.sub(lambda runs: runs[0].replace(END + runs[1], ""), text)


def _in_letters(before: str, mark: str, run: str, after: str) -> str:
    if mark == LOWERED:
        return f"_{run}" if before[-1:].isdigit() else run
    if mark != STRUCK:
        return raised(before, run, mark == NOTE)
    bare = run.strip()
    start, end = run[: run.index(bare)], run[run.index(bare) + len(bare) :]
    start = (start or " ") if before[-1:].isalnum() else start * bool(before[-1:].strip())
    end = end or " " * after[:1].isalnum()
    return f"{start}~~{bare}~~{end}" if bare else run


def raised(before: str, run: str, is_note: bool = False) -> str:
    """Return a superscript as it is read behind a text: `^6` of a power, ` [3]` of a note.

    Ordinals and single signs stay as they are: 19th, word*.
    """
    run = run.strip()
    if not run or _UNMARKED.fullmatch(run):
        return run
    if not before.strip() or before[-1] in "([/ \n":
        return f"[{run}] " if run[0].isdigit() else run
    if is_note and not run.startswith("["):
        return f" [{run}]"
    if not _NUMBERS.fullmatch(run):
        return f"^{run}" if len(run) < 4 else f" {run}"
    number, word = _LAST_NUMBER.search(before), _LAST_WORD.search(before)
    is_power = (number and len(number[0]) < 3) or (word and len(word[0]) < 3)
    return f"^{run}" if is_power else f" [{run}]"


def left_out(kind: str, text: str) -> str:
    """Return a part of a file in HTML that is counted as of a kind, and not read."""
    return f'<out kind="{kind}">{escape(text, quote=False)}</out>'


def marked(soup: Any) -> dict[str, list[str]]:
    """Mark raised, struck and ticked parts of a page, and remove deleted and hidden ones.

    Formulas become one line, pictures their descriptions. Returns what was removed, by kind. An
    element `out` is removed as of the kind that it names.
    """
    from bs4 import Comment, Tag

    of_name = defaultdict[str, list[Any]](list)
    of_form = defaultdict[str, list[Any]](list)
    body = soup.body or soup  # itself it is not hidden: scripts show it
    for node in list(body.descendants):  # once, as each search takes as long
        if isinstance(node, Tag):
            of_name[node.name].append(node)
            style = str(node.attrs.get("style", ""))
            if "pagebreak" in f"{node.attrs.get('epub:type')} {node.attrs.get('role')}":
                of_form["page"].append(node)
            if "hidden" in node.attrs:
                of_form["hidden"].append(node)
            for form in _forms(style) if style else ():
                of_form[form].append(node)
        elif isinstance(node, Comment):
            node.extract()

    def named(*names: str) -> list[Any]:
        tags = (tag for name in names for tag in of_name[name])
        return [tag for tag in tags if not tag.decomposed]

    sheet = _AT_RULE.sub("", " ".join(tag.get_text() for tag in soup.find_all("style")))
    for selector, style in _RULE.findall(sheet):
        for form in _forms(style):
            with suppress(Exception):  # a selector that is not known, or not valid
                of_form[form] += body.select(selector.strip())
    for name in ("script", "style", "template", "svg", "rp", "annotation-xml"):
        for tag in named(name):
            tag.decompose()
    removed = {
        "deleted part": removed_from(named("del")),
        "hidden part": removed_from(of_form["hidden"]),
        "number of a printed page": removed_from(of_form["page"]),
    }
    for tag in named("out"):
        removed.setdefault(tag["kind"], []).extend(removed_from([tag]))
    for tag in named("math"):
        tex = tag.find("annotation")
        tag.replace_with(f" ${tex.get_text().strip()}$ " if tex else f" {_linear(tag)} ")
    for tag in named("rt"):
        tag.replace_with(f" ({tag.get_text().strip()})")
    for mark, tags in (
        (STRUCK, named("s", "strike") + of_form["struck"]),
        (RAISED, named("sup") + of_form["super"]),
        (LOWERED, named("sub") + of_form["sub"]),
    ):
        for tag in {id(tag): tag for tag in tags}.values():
            if not tag.decomposed:
                _mark(tag, mark)
    for tag in named("input", "select", "img"):
        _mark_field(tag)
    if any(removed.values()):
        soup.smooth()  # blanks before and behind a part are one
    return removed


def _forms(style: str) -> list[str]:
    """Return what a style says: that a part is hidden, struck, raised or lowered."""
    forms = ["hidden"] if _HIDDEN.search(style) else []
    forms += ["struck"] if _STRUCK.search(style) else []
    place = _PLACED.search(style)
    return [*forms, place[1].lower()] if place else forms


def removed_from(tags: list[Any]) -> list[str]:
    """Remove tags and return their texts, those with words."""
    texts = []
    for tag in tags:
        if not tag.decomposed:
            text = tag.get_text(" ", strip=True)
            texts += [text] if text else []
            tag.decompose()
    return texts


def _mark(tag: Any, mark: str) -> None:
    """Put marks around the text of a tag, or of the paragraphs and cells in it."""
    link = tag.find("a") or tag.find_parent("a")
    names = " ".join([*tag.get("class", []), tag.get("role", ""), tag.get("epub:type", "")])
    if mark == RAISED and (_CALL.search(names) or (link and "#" in (link.get("href") or ""))):
        mark = NOTE
    leaves = [block for block in tag.find_all(_BLOCKS) if not block.find(_BLOCKS)]
    for leaf in leaves or [tag]:
        if leaf.get_text().strip():
            leaf.insert(0, mark)
            leaf.append(END)


def _mark_field(tag: Any) -> None:
    """Replace a field of a form by its value, a picture by its description."""
    kind = tag.get("type", "text").lower()
    if tag.name == "select":
        chosen = [o.get_text(" ", strip=True) for o in tag.find_all("option", selected=True)]
        tag.replace_with(", ".join(chosen))
    elif tag.name == "img":
        alt = "" if tag.find_parent("a") else " ".join(tag.get("alt", "").split())  # a logo
        sides = (str(tag.previous_sibling or "")[-1:], str(tag.next_sibling or "")[:1])
        before, after = (" " * side.isalnum() for side in sides)
        tag.replace_with(f"{before}[picture: {alt}]{after}" if alt else "")
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
    if form := _FORMULAS.get(name):
        return form.format(first, *map(_grouped, (first, second, third)))
    if name in ("msqrt", "mroot"):
        degree = f"[{second}]" if name == "mroot" else ""
        return f"√{degree}({first if degree else ''.join(parts)})"
    if name == "mo":
        return f" {first} " if first in "=<>≤≥≈≠+−-±→·×" else first
    return "".join(parts).replace("  ", " ")


def _grouped(text: str) -> str:
    text = text.strip()
    return text if re.fullmatch(r"\w*|[\d.,]+", text) else f"({text})"
