"""Suggestions for unknown names in error messages: the nearest known names, or some of all."""

import difflib
from collections.abc import Collection

_N_NEAR = 3
_N_SHOWN = 8


def did_you_mean(word: str, known: Collection[str]) -> str:
    """Return the end of a message about an unknown name: "; did you mean 'dense'?".

    Parameters `word`: the unknown name; `known`: valid names, in the order in which they are to be
    shown.

    Returns
    -------
    str
        At most three names that begin with `word` or resemble it, the nearest first; without any,
        the first known names and their number: "; known: a, b, c … (47 in all)"; "" without names.
    """
    folded = word.casefold()
    by_folded = {name.casefold(): name for name in known}
    continued = [name for name in by_folded if folded and name.startswith(folded)]
    near = {*continued, *difflib.get_close_matches(folded, by_folded, _N_NEAR)}
    ratio = {name: difflib.SequenceMatcher(None, folded, name).ratio() for name in near}
    if near:
        nearest = sorted(near, key=lambda name: (-ratio[name], name))[:_N_NEAR]
        *front, last = [f"'{by_folded[name]}'" for name in nearest]
        return f"; did you mean {' or '.join([', '.join(front), last] if front else [last])}?"
    if not known:
        return ""
    shown = ", ".join(list(known)[:_N_SHOWN])
    return f"; known: {shown}" + (f" … ({len(known)} in all)" if len(known) > _N_SHOWN else "")
