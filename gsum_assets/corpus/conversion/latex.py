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
    readable_as,
    single_blank_lines,
    useful_title,
    with_text,
)
from gsum_assets.corpus.conversion.marks import END, RAISED, STRUCK, shown

_BODY = re.compile(
    r"(?<!\\)\\begin\s*\{document\}(.*?)(?:(?<!\\)\\end\s*\{document\}|\Z)", re.DOTALL
)
_OUTER_ITEM = "\ufddf"  # before an item of a list that one with numbers contains
_ITEM = re.compile(r"\n- ")
_FRONT = ("title", "author", "date", "thanks")  # above the text, in this order
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


def convert_latex(content: bytes, _: Report) -> Converted:
    r"""Return a LaTeX file as Markdown: sections as headings, mathematics as it was written.

    Macros that the file defines are expanded, files that it inputs are not read.
    """
    source = decoded_text(content)
    hidden = [match[1] or match[2] for match in _HIDDEN.finditer(source)]
    source = _expanded(_HIDDEN.sub("", source))
    decoder = _decoder()
    body = _BODY.search(source)
    with readable_as("LaTeX", "correct it"):
        if body:
            _text(decoder, source[: body.start()])  # for title, author and date alone
        text = _text(decoder, body[1] if body else source)
    text = shown(text).replace(_OUTER_ITEM, "-").replace("\xa0", " ")
    text = "\n".join(line.strip() for line in text.split("\n"))
    title = useful_title(shown("".join(decoder.front["title"][:1])))
    front = [
        f"# {title}" if title else "",
        *(shown("; ".join(decoder.front[n])).replace(" ;", ";") for n in _FRONT[1:]),
    ]
    heading = "".join(f"{block}\n\n" for block in front if block)
    return with_text(title, single_blank_lines(heading + text), counted(("hidden part", hidden)))


def _decoder() -> Any:
    """Return the converter of the library; a macro that it cannot read becomes its arguments."""
    from pylatexenc.latex2text import (
        EnvironmentTextSpec,
        LatexNodes2Text,
        MacroTextSpec,
        get_default_latex_context_db,
    )

    class Decoder(LatexNodes2Text):
        def macro_node_to_text(self, node: Any) -> str:
            try:
                return str(super().macro_node_to_text(node))
            except (IndexError, AttributeError, TypeError, ValueError):
                return str(self.nodelist_to_text(_arguments(node)))

    known = get_default_latex_context_db()
    macros = [MacroTextSpec(name, simplify_repl=text) for name, (_, text) in _MACROS.items()]
    environments = [EnvironmentTextSpec(n, simplify_repl=t) for n, t in _ENVIRONMENTS.items()]
    known.add_context_category("gsum", macros=macros, environments=environments, prepend=True)
    decoder: Any = Decoder(latex_context=known, math_mode="verbatim")
    decoder.front = {name: [] for name in _FRONT}
    return decoder


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
    macros = [std_macro(name, of_it) for name, (of_it, _) in _MACROS.items() if of_it is not None]
    known.add_context_category("gsum", macros=macros, prepend=True)
    walker = LatexWalker(source, latex_context=known, tolerant_parsing=True)
    return decoder.nodelist_to_text(walker.get_latex_nodes()[0])


# The library passes its converter to functions with a parameter `l2tobj`.


def _arguments(node: Any) -> list[Any]:
    return [a for a in node.nodeargd.argnlist if a is not None] if node.nodeargd else []


def _front(name: str) -> Callable[[Any, Any], str]:
    def keep(node: Any, l2tobj: Any) -> str:
        text = " ".join(l2tobj.nodelist_to_text(_arguments(node)[-1:]).split())
        l2tobj.front[name] += [text] if text else []
        return ""

    return keep


def _key(node: Any, l2tobj: Any) -> str:
    arguments = _arguments(node)
    return f"[{l2tobj.nodelist_to_text(arguments[-1:])}]" if arguments else ""


def _item(node: Any, l2tobj: Any) -> str:
    label = node.nodeoptarg
    return f"\n- {l2tobj.nodelist_to_text([label])} " if label else "\n- "


def _quantity(node: Any, l2tobj: Any) -> str:
    *numbers, unit = node.nodeargd.argnlist[1:]
    words = _UNIT.sub(lambda name: f" {_UNIT_SIGNS.get(name[1], name[1])}", unit.latex_verbatim())
    shown = _PREFIX.sub(r"\1", " ".join(words.strip("{}").split())).replace(" ^", "^")
    return " ".join([" to ".join(l2tobj.nodelist_to_text([n]) for n in numbers), shown]).strip()


def _numbered(node: Any, l2tobj: Any) -> str:
    numbers = count(1)
    return _ITEM.sub(lambda _: f"\n{next(numbers)}. ", l2tobj.nodelist_to_text(node.nodelist))


def _listed(node: Any, l2tobj: Any) -> str:  # an outer list does not number its items
    return _ITEM.sub(f"\n{_OUTER_ITEM} ", l2tobj.nodelist_to_text(node.nodelist))


def _heading(level: int) -> Callable[[Any, Any], str]:
    def heading(node: Any, l2tobj: Any) -> str:
        title = " ".join(l2tobj.node_arg_to_text(node, 2).split())
        return f"\n\n{'#' * level} {title}\n\n"

    return heading


def _alike(names: str, arguments: str, text: Any) -> dict[str, tuple[str | None, Any]]:
    return dict.fromkeys(names.split(), (arguments, text))


_MACROS: dict[str, tuple[str | None, Any]] = {
    **_alike("part chapter", "*[{", _heading(2)),
    **_alike("section", "*[{", _heading(3)),
    **_alike("subsection", "*[{", _heading(4)),
    **_alike("subsubsection", "*[{", _heading(5)),
    **_alike("paragraph subparagraph", "*[{", _heading(6)),
    **_alike("cite citep citet autocite parencite textcite citealp citeauthor", "*[[{", _key),
    **_alike("ref eqref pageref autoref cref Cref nameref", "*{", _key),
    **_alike("label input include bibliography bibliographystyle addbibresource", "{", ""),
    **_alike("vspace hspace phantom hphantom vphantom", "{", ""),
    **_alike("texttt mbox hbox text textrm textsf textnormal uline underline hl ul", "{", "%s"),
    **_alike("fbox gls Gls glspl ac acl acs acp ce centerline num lowercase", "{", "%s"),
    **_alike("uppercase path nolinkurl emph textbf textit textsubscript", "{", "%s"),
    **_alike("textcolor colorbox scalebox href rotatebox", "{{", "%(2)s"),
    **_alike("nicefrac sfrac", "{{", " %(1)s/%(2)s"),
    **_alike("makebox framebox", "[[{", "%(3)s"),
    **_alike("multicolumn multirow resizebox", "{{{", "%(3)s"),
    **_alike("footnote footnotetext", "[{", " (%(2)s)"),
    **_alike("sout st xout cancel", "{", f"{STRUCK}%s{END}"),
    **_alike("SI qty", "[{{", _quantity),
    **_alike("si unit", "[{", _quantity),
    **_alike("SIrange qtyrange", "[{{{", _quantity),
    **{
        **{name: ("[{", _front(name)) for name in _FRONT},
        "and": ("", "; "),
        "item": (None, _item),
        "includegraphics": (None, ""),
    },
    "verb": (None, lambda node: node.nodeargd.verbatim_text),
    **{"hyperref": ("[{", "%(2)s"), "parbox": ("[[[{{", "%(5)s"), "raisebox": ("{[[{", "%(4)s")},
    **{"caption": ("*[{", "\n%(3)s\n"), "enquote": ("*{", "“%(2)s”"), "footnotemark": ("[", "")},
    **{"textsuperscript": ("{", f"{RAISED}%s{END}"), "ang": ("[{", "%(2)s°")},
    **{"maketitle": (None, ""), "tableofcontents": (None, ""), "today": (None, "")},
    **{"pounds": ("", "£"), "S": ("", "§"), "P": ("", "¶"), "euro": ("", "€")},
    **{"TeX": ("", "TeX"), "LaTeX": ("", "LaTeX"), "checkmark": ("", "✓")},
    **{"textdegree": ("", "°"), "percent": ("", "%")},
}
"""Arguments of each macro as pylatexenc names them ("[" optional, "{" required; None: as known to
it), and its text."""
_ENVIRONMENTS = {
    "abstract": "\n%s\n",
    "verbatim": lambda node: f"\n{node.nodeargd.verbatim_text}\n",
    "enumerate": _numbered,
    "itemize": _listed,
    "description": _listed,
}
