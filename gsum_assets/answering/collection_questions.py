"""Questions about a collection itself, which are counted and not searched for.

Their kinds are declared in `collection_questions.toml`.
"""

import re
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from gsum_resources.text.question_kinds import without_politeness

_MOST_WORDS = 5  # of a term, and terms of a question


class CollectionQuestion(NamedTuple):
    """A question about the documents as a collection.

    Attributes
    ----------
    kind : name of a declared kind, such as "mentions".
    terms : words that are counted, in any form unless in quotation marks; none: the kind says what.
    is_any : whether one of the terms suffices.
    """

    kind: str
    terms: Sequence[str] = ()
    is_any: bool = False


def collection_question(question: str) -> CollectionQuestion | None:
    """Return a question as one about the collection; None: it is to be searched for."""
    text = re.sub(r"[\s?.!]+$", "", " ".join(without_politeness(question).split()))
    for kind, form in _forms():
        if match := form.fullmatch(text):
            groups = [name for name, value in match.groupdict().items() if value]
            kind = next((name for name in groups if name != "x"), kind)
            terms, is_any = _terms(match["x"]) if "x" in groups else ((), False)
            if bool(terms) == ("x" in groups):
                return CollectionQuestion(kind, terms, is_any)
    return None


def _terms(text: str) -> tuple[Sequence[str], bool]:
    """Return words to count, and whether one of them suffices; none for a clause."""
    either, both, quotation = map(filled, ("{either}", "{both}", "{quotation}"))
    quoted, rest = re.findall(quotation, text), re.sub(quotation, '"', text)
    is_any = re.search(either, rest) is not None
    terms = [
        re.sub(filled("^{determiners}"), "", piece, flags=re.IGNORECASE)
        for piece in re.split(either if is_any else both, rest)
    ]
    is_clause = re.search(filled("{clause}"), rest, re.IGNORECASE)
    is_long = len(terms) > _MOST_WORDS or any(len(term.split()) > _MOST_WORDS for term in terms)
    is_mixed = is_any and re.search(both, rest)
    are_whole = len(quoted) == terms.count('"') == rest.count('"')  # terms that are quotations
    if is_clause or is_long or is_mixed or not are_whole:
        return (), False
    terms = [f'"{quoted.pop(0)}"' if term == '"' else term for term in terms]
    return (terms if all(re.search(r"[^\W_]", term) for term in terms) else ()), is_any


@cache
def declared() -> Mapping[str, Any]:
    """Return what `collection_questions.toml` declares."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))


@cache
def _forms() -> Sequence[tuple[str, re.Pattern[str]]]:
    """Return the forms of all kinds, in the order in which they are tried."""
    return [
        (name, re.compile(filled(form), re.IGNORECASE))
        for name, kind in declared()["kinds"].items()
        for form in kind.get("forms", ())
    ]


def filled(template: str, **values: str) -> str:
    """Return a template with values and declared parts in place of their names in braces."""
    known = {**declared()["parts"], **values}

    def value(name: re.Match[str]) -> str:
        return filled(known[name[1]], **values) if name[1] in known else name[0]

    return re.sub(r"\{(\w+)\}", value, template)
