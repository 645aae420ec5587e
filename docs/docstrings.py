"""Docstrings whose sections say `name : meaning`, in the form that griffe parses.

NumPy's form has the type behind the colon and the meaning below. The types of this code are in its
annotations, so a line says `name : meaning`; here the meaning moves below the name.
"""

import re

_SECTION = re.compile(
    r"^(?P<title>Parameters|Attributes|Other Parameters)\n-+\n(?P<items>.*?)(?=\n\n\S+.*\n-+\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
_ITEM = re.compile(r"^(?P<names>\*{0,2}\w+(?:, \*{0,2}\w+)*) : (?P<rest>.+)$")
_TYPE = re.compile(r"[\w.|\[\], ]+(?:, optional|, default\b.*)?")
_WRAPPED = 60  # characters from which a line is one that was wrapped


def numpy_form(docstring: str) -> str:
    """Return a docstring with `name : meaning` as name and meaning below it."""
    return _SECTION.sub(_section, docstring)


def _section(found: re.Match[str]) -> str:
    lines = found[0].split("\n")
    out = lines[:2]
    for line, following in zip(lines[2:], [*lines[3:], ""], strict=True):
        item = _ITEM.match(line)
        if item and _is_meaning(item["rest"], following):
            out += [item["names"], f"    {item['rest']}"]
        else:
            out.append(line)
    return "\n".join(out)


def _is_meaning(rest: str, following: str) -> bool:
    if following.startswith(" "):  # an indented line follows: the rest of it, or a type's meaning
        return len(rest) > _WRAPPED or not _TYPE.fullmatch(rest)
    return " " in rest and not rest.endswith("optional")
