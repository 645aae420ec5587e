"""Text of LaTeX files."""

import re
from collections.abc import Callable
from itertools import count
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    Converted,
    Report,
    counted,
    decoded_text,
    raised,
    readable_as,
    single_blank_lines,
    useful_title,
    with_text,
)

_LEVELS = {
    "part": 2,
    "chapter": 2,
    "section": 3,
    "subsection": 4,
    "subsubsection": 5,
    "paragraph": 6,
    "subparagraph": 6,
}
_BODY = re.compile(
    r"(?<!\\)\\begin\s*\{document\}(.*?)(?:(?<!\\)\\end\s*\{document\}|\Z)", re.DOTALL
)
_KEYS = ("cite", "citep", "citet", "autocite", "parencite", "textcite", "ref", "eqref", "pageref")
_MORE_KEYS = ("autoref", "cref", "Cref", "nameref")
_UNREAD = (
    *("label", "input", "include", "bibliography", "bibliographystyle", "addbibresource"),
    *("maketitle", "tableofcontents", "today", "date", "thanks", "vspace", "hspace"),
)
_PLAIN = """
texttt mbox hbox text textrm textsf textnormal uline underline hl ul fbox gls Gls glspl ac acl acs
acp ce centerline num lowercase uppercase path nolinkurl emph textbf textit
"""
_SHOWN = {
    # macro: its arguments as pylatexenc names them ("[" optional, "{" required), and its text
    **dict.fromkeys(
        _PLAIN.split(),
        ("{", "%s"),
    ),
    **dict.fromkeys(("textcolor", "colorbox", "scalebox", "href", "rotatebox"), ("{{", "%(2)s")),
    **dict.fromkeys(("nicefrac", "sfrac"), ("{{", " %(1)s/%(2)s")),
    "hyperref": ("[{", "%(2)s"),
    "parbox": ("[[[{{", "%(5)s"),
    "raisebox": ("{[[{", "%(4)s"),
    **dict.fromkeys(("makebox", "framebox"), ("[[{", "%(3)s")),
    **dict.fromkeys(("multicolumn", "multirow", "resizebox"), ("{{{", "%(3)s")),
    "caption": ("*[{", "\n%(3)s\n"),
    "enquote": ("*{", "“%(2)s”"),
    "footnote": ("[{", " (%(2)s)"),
    "footnotetext": ("[{", " (%(2)s)"),
    "footnotemark": ("[", ""),
    **dict.fromkeys(("sout", "st", "xout", "cancel"), ("{", "\ue002%s\ue003")),
    **dict.fromkeys(("phantom", "hphantom", "vphantom"), ("{", "")),
    "textsuperscript": ("{", "\ue000%s\ue001"),
    "textsubscript": ("{", "%s"),
    "ang": ("[{", "%(2)s°"),
    **{"pounds": ("", "£"), "S": ("", "§"), "P": ("", "¶"), "euro": ("", "€")},
    **{"TeX": ("", "TeX"), "LaTeX": ("", "LaTeX"), "checkmark": ("", "✓")},
    **{"textdegree": ("", "°"), "percent": ("", "%")},
}  # fmt: skip
_UNITS = {
    "SI": "[{{",
    "qty": "[{{",
    "si": "[{",
    "unit": "[{",
    "SIrange": "[{{{",
    "qtyrange": "[{{{",
}
_RAISED = re.compile("\ue000([^\ue000\ue001]*)\ue001")
_STRUCK = re.compile("(\\w?)\ue002([^\ue003]*)(?=\ue003)")
_ITEM = re.compile(r"\n- ")
_UNIT = re.compile(r"\\([A-Za-z]+)")
_UNIT_SIGNS = {"percent": "%", "per": " per", "squared": "^2", "cubed": "^3", "degreeCelsius": "°C"}
_PREFIX = re.compile(r"\b(kilo|mega|giga|milli|micro|nano|centi|deci|hecto) (?=\w)")
_HIDDEN = re.compile(
    r"(?<!\\)\\iffalse\b(.*?)(?<!\\)\\fi\b|(?<!\\)\\begin\{comment\}(.*?)\\end\{comment\}",
    re.DOTALL,
)
_DEFINITION = re.compile(
    r"\\(?:(?:re|provide)?newcommand\*?\s*\{?|def)\\([A-Za-z]+)\}?\s*(?:\[(\d)\])?\s*(?=\{)"
)
_WITHOUT_ARGUMENT = ("maketitle", "tableofcontents", "today")


def convert_latex(content: bytes, _: Report) -> Converted:
    r"""Return a LaTeX file as Markdown: sections as headings, mathematics as it was written.

    Macros that the file defines are expanded, files that it inputs are not read.
    """
    source = decoded_text(content)
    hidden = [match[1] or match[2] for match in _HIDDEN.finditer(source)]
    source = _expanded(_HIDDEN.sub("", source))
    titles: list[str] = []
    decoder = _decoder()(latex_context=_texts(titles), math_mode="verbatim")
    body = _BODY.search(source)
    with readable_as("LaTeX", "correct it"):
        if body:
            _text(decoder, source[: body.start()])  # for the title alone
        text = _text(decoder, body[1] if body else source)
    while match := _RAISED.search(text):
        before = text[: match.start()]
        shown = raised(before[-60:], match[1])
        if re.match(r"/\d", text[match.end() :]):  # a fraction
            shown = f" {match[1]}" if before[-1:].isdigit() else match[1]
        text = before + shown + text[match.end() :]
    text = _STRUCK.sub(
        lambda struck: f"{struck[1]} "[: 2 * bool(struck[1])] + f"~~{struck[2]}~~", text
    )
    text = re.sub(r"~~\ue003(?=\w)", "~~ ", text).replace("\ue003", "").replace("\ue004", "-")
    text = "\n".join(line.strip() for line in text.replace("\xa0", " ").split("\n"))
    title = useful_title(titles[0]) if titles else ""
    heading = f"# {title}\n\n" if title else ""
    text = single_blank_lines(text)
    text = with_text(title, heading + text if text else "").text
    return Converted(title, text, left_out=counted(("hidden part", hidden)))


def _decoder() -> Any:
    """Return the converter of the library; a macro that it cannot read becomes its arguments."""
    from pylatexenc.latex2text import LatexNodes2Text

    class Decoder(LatexNodes2Text):
        def macro_node_to_text(self, node: Any) -> str:
            try:
                return str(super().macro_node_to_text(node))
            except (IndexError, AttributeError, TypeError, ValueError):
                arguments = node.nodeargd.argnlist if node.nodeargd else []
                return str(self.nodelist_to_text([a for a in arguments if a is not None]))

    return Decoder


def _expanded(source: str) -> str:
    """Return a source with the macros that it defines written out, and without the definitions."""
    macros: dict[str, tuple[int, str]] = {}
    while match := _DEFINITION.search(source):
        end = _group_end(source, match.end())
        macros[match[1]] = int(match[2] or 0), source[match.end() + 1 : end - 1]
        source = source[: match.start()] + source[end:]
    for _ in range(4 if macros else 0):
        names = "|".join(sorted(macros, key=len, reverse=True))
        pieces, at = [], 0
        for match in re.finditer(rf"\\({names})(?![A-Za-z])[ \t]*(?:\{{\}})?", source):
            if match.start() < at:
                continue
            n_arguments, text = macros[match[1]]
            pieces.append(source[at : match.start()])
            at = match.end()
            for number in range(1, n_arguments + 1):
                end = _group_end(source, at) if source[at : at + 1] == "{" else at
                text = text.replace(f"#{number}", source[at + 1 : end - 1])
                at = end
            blank = " " if match[0][-1:].isspace() and source[at : at + 1].isalnum() else ""
            pieces.append(text + blank)
        source = "".join([*pieces, source[at:]])[: 4 * len(source) + 10_000]
    return source


def _group_end(source: str, start: int) -> int:
    """Return the position after a group in braces that begins at `start`."""
    depth = 0
    for match in re.compile(r"\\.|[{}]", re.DOTALL).finditer(source, start):
        depth += (match[0] == "{") - (match[0] == "}")
        if not depth and match[0] == "}":
            return match.end()
    return len(source)


def _text(decoder: Any, source: str) -> str:
    from pylatexenc.latexwalker import LatexWalker, get_default_latex_context_db
    from pylatexenc.macrospec import std_macro

    known = get_default_latex_context_db()
    starred = [std_macro(name, "*[[{") for name in (*_KEYS[:6], "citealp", "citeauthor")]
    named = [std_macro(name, "*{") for name in (*_KEYS[6:], *_MORE_KEYS)]
    other = [std_macro(name, "{") for name in _UNREAD if name not in _WITHOUT_ARGUMENT]
    other += [std_macro(name, "*[{") for name in _LEVELS]
    arguments = {name: specification for name, (specification, _) in _SHOWN.items()} | _UNITS
    other += [std_macro(name, specification) for name, specification in arguments.items()]
    known.add_context_category("gsum", macros=[*starred, *named, *other], prepend=True)
    walker = LatexWalker(source, latex_context=known, tolerant_parsing=True)
    return decoder.nodelist_to_text(walker.get_latex_nodes()[0])


def _texts(titles: list[str]) -> Any:
    """Return the texts of macros; a title is added to `titles`.

    The library passes its converter to functions with a parameter `l2tobj`.
    """
    from pylatexenc.latex2text import (
        EnvironmentTextSpec,
        MacroTextSpec,
        get_default_latex_context_db,
    )

    def keep_title(node: Any, l2tobj: Any) -> str:
        titles.append(" ".join(l2tobj.node_arg_to_text(node, 0).split()))
        return ""

    def key(node: Any, l2tobj: Any) -> str:
        arguments = [argument for argument in node.nodeargd.argnlist if argument is not None]
        return f"[{l2tobj.nodelist_to_text(arguments[-1:])}]" if arguments else ""

    def item(node: Any, l2tobj: Any) -> str:
        label = node.nodeoptarg
        return f"\n- {l2tobj.nodelist_to_text([label])} " if label else "\n- "

    def quantity(node: Any, l2tobj: Any) -> str:
        *numbers, unit = node.nodeargd.argnlist[1:]
        words = _UNIT.sub(
            lambda name: f" {_UNIT_SIGNS.get(name[1], name[1])}", unit.latex_verbatim()
        )
        shown = _PREFIX.sub(r"\1", " ".join(words.strip("{}").split())).replace(" ^", "^")
        return " ".join([" to ".join(l2tobj.nodelist_to_text([n]) for n in numbers), shown]).strip()

    def numbered(node: Any, l2tobj: Any) -> str:
        numbers = count(1)
        items = l2tobj.nodelist_to_text(node.nodelist)
        return _ITEM.sub(lambda _: f"\n{next(numbers)}. ", items)

    def listed(node: Any, l2tobj: Any) -> str:  # an outer list does not number its items
        return _ITEM.sub("\n\ue004 ", l2tobj.nodelist_to_text(node.nodelist))

    def verbatim(node: Any) -> str:
        return f"\n{node.nodeargd.verbatim_text}\n"

    texts = {
        **{name: text for name, (_, text) in _SHOWN.items()},
        **dict.fromkeys(_UNITS, quantity),
        "verb": lambda node: node.nodeargd.verbatim_text,
        **{name: _heading(level) for name, level in _LEVELS.items()},
        **dict.fromkeys(_UNREAD, ""),
        **dict.fromkeys((*_KEYS, *_MORE_KEYS), key),
        "title": keep_title,
        "includegraphics": "",
        "item": item,
    }
    known = get_default_latex_context_db()
    known.add_context_category(
        "gsum",
        prepend=True,
        macros=[MacroTextSpec(name, simplify_repl=text) for name, text in texts.items()],
        environments=[
            EnvironmentTextSpec("abstract", simplify_repl="\n%s\n"),
            EnvironmentTextSpec("verbatim", simplify_repl=verbatim),
            EnvironmentTextSpec("enumerate", simplify_repl=numbered),
            *[EnvironmentTextSpec(n, simplify_repl=listed) for n in ("itemize", "description")],
        ],
    )
    return known


def _heading(level: int) -> Callable[[Any, Any], str]:
    def heading(node: Any, l2tobj: Any) -> str:
        title = " ".join(l2tobj.node_arg_to_text(node, 2).split())
        return f"\n\n{'#' * level} {title}\n\n"

    return heading
