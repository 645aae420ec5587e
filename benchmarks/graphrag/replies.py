"""Replies of the instant server to either client: constant except for the passage shown.

For a passage both get the same entities and relationships, each in the form it requests: the
package tuples with delimiters, gsum JSON.
"""

import json
import zlib
from collections import Counter
from functools import cache
from typing import Any

from benchmarks.graphrag.passages import Extraction, extractions, number_of, passages

_DESCRIPTION = (
    "{mark}: it is named in several passages, which tell when it was first spoken of, who had to "
    "do with it, what was decided about it and what came of that in the end."
)
_N_FINDINGS = 5


class Replies:
    """The replies of one server; the second request that shows a passage is its gleaning.

    Parameters
    ----------
    same : reply to every passage as to the first, so that there is little to merge and to
        report.
    """

    def __init__(self, same: bool = False) -> None:
        self._same = same
        self._n_requests: Counter[int] = Counter()
        for number in range(len(passages())):  # computed before the first request
            for nth in range(2):
                _found(number, nth, as_json=True)
                _found(number, nth, as_json=False)

    def text(self, messages: list[dict[str, str]], schema: str) -> str:
        """The content of a chat completion.

        Parameters
        ----------
        schema : name of the JSON schema that is requested, or "".
        """
        prompt = "\n".join(message["content"] for message in messages)
        if schema in ("Report", "CommunityReportResponse"):
            return _report(prompt, cites=schema == "Report")
        number = number_of(prompt)
        # a merge shows descriptions, and those name passages in another way
        if number is None:
            return _DESCRIPTION.format(mark=_mark(prompt))
        nth = self._n_requests[number]
        self._n_requests[number] += 1
        shown = 0 if self._same else number
        return _found(shown, min(nth, 1), as_json=schema == "Extraction")


@cache
def _found(number: int, nth: int, as_json: bool) -> str:
    found = extractions(passages()[number])[nth]
    return _json(found) if as_json else _tuples(found, nth)


def _json(found: Extraction) -> str:
    lists = zip(("entities", "relationships"), found, strict=True)
    return json.dumps({name: [item._asdict() for item in items] for name, items in lists})


def _tuples(found: Extraction, nth: int) -> str:
    """As the package reads them; what a gleaning adds is appended to the reply before."""
    rows: list[tuple[Any, ...]] = [('"entity"', *entity) for entity in found.entities]
    rows += [('"relationship"', *relationship) for relationship in found.relationships]
    records = "\n##\n".join(f"({'<|>'.join(map(str, row))})" for row in rows)
    return f"\n##\n{records}" if nth else records


def _report(prompt: str, cites: bool) -> str:
    mark = _mark(prompt)
    finding: dict[str, Any] = {
        "summary": f"{mark} holds together by what its members did in the same passages.",
        "explanation": _DESCRIPTION.format(mark=mark) + " Others depend on it.",
    }
    if cites:
        finding["references"] = [1]
    report = {
        "title": mark,
        "summary": _DESCRIPTION.format(mark=mark),
        "rating": 5,
        "rating_explanation": "It matters as much as most others.",
        "findings": [finding] * _N_FINDINGS,
    }
    return json.dumps(report)


def _mark(prompt: str) -> str:
    """A name that differs from prompt to prompt, so that no two texts are the same."""
    return f"Group {zlib.crc32(prompt.encode()):08x}"
