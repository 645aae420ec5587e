"""Text of reStructuredText files."""

import re
from collections import defaultdict
from typing import Any

from gsum_assets.corpus.conversion.formats import Converted, Report, decoded_text
from gsum_assets.corpus.conversion.html import from_body
from gsum_assets.corpus.conversion.marks import left_out

_DIRECTIVE = re.compile(
    r"^[ \t]*\.\.[ \t]+(?:\|[^|\n]+\|[ \t]+)?([\w:+.-]+?)::(?:[ \t]|$)", re.MULTILINE
)
_ROLE = re.compile(r":([A-Za-z][\w:+.-]*?):`|`:([A-Za-z][\w:+.-]*?):")
_TARGET = re.compile(r"(.+?)\s*<[^<>]+>$", re.DOTALL)
_UNREAD = frozenset({"toctree", "include", "raw", "index", "contents"})
_ANY_OPTION = defaultdict[str, Any](lambda: str, {"": str})  # not empty, else none is allowed
_SETTINGS = {
    "file_insertion_enabled": False,  # the file may be of anybody
    "raw_enabled": False,
    "_disable_config": True,
    "report_level": 5,
    "halt_level": 5,
    "doctitle_xform": False,
    "initial_header_level": 1,
    "math_output": "LaTeX",
    "embed_stylesheet": False,
    "stylesheet_path": "",
    "syntax_highlight": "none",
    "smart_quotes": False,
    "input_encoding": "unicode",
    "line_length_limit": 1_000_000,
}


def convert_rst(content: bytes, _: Report) -> Converted:
    """Return a reStructuredText file as Markdown; unknown directives are text."""
    from docutils.core import publish_parts

    text = decoded_text(content)
    unread: list[str] = []
    _register_unknown(text, unread)
    parts = publish_parts(text, writer="html5", settings_overrides=_SETTINGS)
    return from_body(
        parts.get("html_body", "") + "".join(left_out("unread part", one) for one in unread)
    )


def _register_unknown(text: str, unread: list[str]) -> None:
    """Register the names of directives and roles in a text that docutils does not know."""
    from docutils.parsers.rst import directives, roles
    from docutils.parsers.rst.languages import en

    kind = _plain_directive(unread)
    for name in {match[1].lower() for match in _DIRECTIVE.finditer(text)}:
        if name not in en.directives or name in _UNREAD:
            directives.register_directive(name, kind)
    for name in {(match[1] or match[2]).lower() for match in _ROLE.finditer(text)}:
        if name not in en.roles:
            roles.register_local_role(name, _role)


def _plain_directive(unread: list[str]) -> type:
    """Return a directive that keeps its argument and content as paragraphs, or in `unread`."""
    from docutils import nodes
    from docutils.parsers.rst import Directive

    class Plain(Directive):
        optional_arguments = 1
        final_argument_whitespace = True
        has_content = True
        option_spec = _ANY_OPTION

        def run(self) -> list[Any]:
            if self.name in _UNREAD:
                unread.append(" ".join([*self.arguments, *self.content]))
                return []
            container = nodes.container()
            if self.arguments:
                inline, _ = self.state.inline_text(self.arguments[0], self.lineno)
                container += nodes.paragraph("", "", *inline)
            self.state.nested_parse(self.content, self.content_offset, container)
            return container.children

    return Plain


def _role(_name: str, _raw: str, text: str, *_: Any) -> tuple[list[Any], list[Any]]:
    """Return the text of a role: "title" of "title <target>"."""
    from docutils import nodes, utils

    plain = utils.unescape(text)
    titled = _TARGET.match(plain)
    return [nodes.Text(titled[1] if titled else plain.lstrip("~!"))], []
