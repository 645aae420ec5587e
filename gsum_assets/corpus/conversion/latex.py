"""Text of LaTeX files."""

import re
from collections.abc import Callable
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    Converted,
    Report,
    decoded_text,
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
_WITHOUT_ARGUMENT = ("maketitle", "tableofcontents", "today")


def convert_latex(content: bytes, _: Report) -> Converted:
    r"""Return a LaTeX file as Markdown: sections as headings, mathematics as it was written.

    Macros that the file defines are not expanded, and files that it inputs are not read.
    """
    from pylatexenc.latex2text import LatexNodes2Text

    source = decoded_text(content)
    titles: list[str] = []
    decoder = LatexNodes2Text(latex_context=_texts(titles), math_mode="verbatim")
    body = _BODY.search(source)
    with readable_as("LaTeX", "correct it"):
        if body:
            _text(decoder, source[: body.start()])  # for the title alone
        text = _text(decoder, body[1] if body else source)
    text = "\n".join(line.strip() for line in text.replace("\xa0", " ").split("\n"))
    title = useful_title(titles[0]) if titles else ""
    heading = f"# {title}\n\n" if title else ""
    text = single_blank_lines(text)
    return with_text(title, heading + text if text else "")


def _text(decoder: Any, source: str) -> str:
    from pylatexenc.latexwalker import LatexWalker, get_default_latex_context_db
    from pylatexenc.macrospec import std_macro

    known = get_default_latex_context_db()
    starred = [std_macro(name, "*[[{") for name in (*_KEYS[:6], "citealp", "citeauthor")]
    named = [std_macro(name, "*{") for name in (*_KEYS[6:], *_MORE_KEYS)]
    other = [std_macro(name, "{") for name in _UNREAD if name not in _WITHOUT_ARGUMENT]
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

    texts = {
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
        environments=[EnvironmentTextSpec("abstract", simplify_repl="\n%s\n")],
    )
    return known


def _heading(level: int) -> Callable[[Any, Any], str]:
    def heading(node: Any, l2tobj: Any) -> str:
        title = " ".join(l2tobj.node_arg_to_text(node, 2).split())
        return f"\n\n{'#' * level} {title}\n\n"

    return heading
