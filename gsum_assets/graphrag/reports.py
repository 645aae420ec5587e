"""A report on every community, from the bottom up (paper, 2.5).

A prompt depends on what it shows and on nothing else, and shows it in an order of names: so what
does not concern a community leaves its report in the memo. What matters most is decided by degrees,
but only as to what is left out when not all fits.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from gsum_assets.corpus.prompts import Prompts
from gsum_assets.evaluation.budget import MOST_MARKED, CountTokens, cut_to_tokens, structured_room
from gsum_assets.evaluation.question_contexts import NO_USAGE, spent
from gsum_assets.graphrag.citations import Citations
from gsum_assets.graphrag.elements import Element, Elements, fitting, total
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.schemas import Report
from gsum_assets.graphrag.settings import ReportSettings
from gsum_assets.result import Result
from gsum_assets.tables import TABLES
from gsum_resources.llm.salvage import usable
from gsum_resources.protocols import LanguageModel, Reply, Request


@dataclass(frozen=True)
class _Prompt:
    """What a community's report is written from."""

    community: dict
    shown: Sequence[Element]
    n_elements: int
    n_substituted: int
    size: int


@dataclass(frozen=True)
class _Written:
    """Rows of a community's report, and the report as an element of the community above."""

    report: dict
    findings: Sequence[dict]
    element: Element
    members: frozenset[str]


class Reporter:
    """Writes the reports of a corpus.

    Parameters
    ----------
    elements : of the corpus.
    citations : what findings may cite.
    """

    def __init__(
        self,
        elements: Elements,
        citations: Citations,
        model: LanguageModel,
        settings: ReportSettings,
        count_tokens: CountTokens,
        prompts: Prompts = PROMPTS,
    ) -> None:
        self._elements = elements
        self._citations = citations
        self._model = model
        self._settings = settings
        self._count_tokens = count_tokens
        self._bare = Request(
            task="synopsis",
            instructions=prompts.text(
                "report", max_words=settings.max_words, max_findings=settings.max_findings
            ),
            max_words=settings.max_words,
            schema=Report,
        )
        self._room = structured_room(self._bare, MOST_MARKED, settings.prompt_tokens, count_tokens)

    def write(self, communities: pa.Table) -> Result:
        """Reports of all communities, the deepest level first.

        A community of one entity is told by the entity's description; no model is asked.

        Parameters
        ----------
        communities : rows of `graphrag.communities`.
        """
        levels: dict[int, list[dict]] = defaultdict(list)
        for row in communities.sort_by("number").to_pylist():
            levels[row["level"]].append(row)
        written: dict[str, _Written] = {}
        failures: list[str] = []
        for level in sorted(levels, reverse=True):
            prompts = [self._prompt(row, written) for row in levels[level] if row["size"] > 1]
            requests = [
                replace(self._bare, passages=tuple(e.text for e in p.shown)) for p in prompts
            ]
            replies = self._model.complete(requests)
            for prompt, reply in zip(prompts, replies, strict=True):
                report, problem = usable(reply, Report)
                if report is not None:
                    made = self._report(prompt, reply, report, problem)
                    written[prompt.community["community_id"]] = made
                if problem:
                    what = f"community {prompt.community['number']} ({prompt.community['title']})"
                    has = "no report" if report is None else "a report of which a part is missing"
                    failures.append(f"{what} has {has}: {problem}")
            for row in levels[level]:
                if row["size"] == 1:
                    written[row["community_id"]] = self._single(row)
        return self._tables(communities, written, failures)

    def _prompt(self, community: dict, written: Mapping[str, _Written]) -> _Prompt:
        """All elements where they fit; else reports of parts for their elements, largest first."""
        elements = self._elements.of(community)
        parts = [written[i] for i in community["child_ids"] if i in written]
        ordered, substituted = elements, []
        if total(elements, self._room) > self._room.tokens and parts:
            ordered, substituted = self._substituted(elements, parts)
        shown = fitting(ordered, self._room) or [self._cut(ordered[0])]
        return _Prompt(
            community,
            _by_name(shown),
            len(elements),
            min(len(substituted), len(shown)),  # they come first
            self._room.own + total(shown, self._room),
        )

    def _cut(self, element: Element) -> Element:
        """The beginning of what is too long for a prompt of its own."""
        room = self._room.tokens - self._room.mark
        text = cut_to_tokens(element.text, room, self._count_tokens)
        return replace(element, text=text, size=self._count_tokens([text])[0])

    def _substituted(
        self, elements: Sequence[Element], parts: Sequence[_Written]
    ) -> tuple[list[Element], list[Element]]:
        """Elements with those of the largest parts replaced by their reports, until all fits.

        A report that is longer than what it tells of replaces nothing.
        """
        of_part = [
            [element for element in elements if part.members.issuperset(element.entity_ids)]
            for part in parts
        ]
        order = sorted(
            range(len(parts)),
            key=lambda i: (-total(of_part[i], self._room), parts[i].report["community_id"]),
        )
        reports: list[Element] = []
        gone: set[int] = set()
        for place in order:
            if total([parts[place].element], self._room) >= total(of_part[place], self._room):
                continue
            reports.append(parts[place].element)
            gone |= {id(element) for element in of_part[place]}
            left = [element for element in elements if id(element) not in gone]
            if total([*reports, *left], self._room) <= self._room.tokens:
                break
        return [*reports, *(element for element in elements if id(element) not in gone)], reports

    def _report(self, prompt: _Prompt, reply: Reply, report: Report, problem: str) -> _Written:
        found, n_unsupported = [], 0
        for finding in report.findings[: self._settings.max_findings]:
            cited = self._citations.cited(finding, prompt.shown)
            n_unsupported += not cited
            if cited:
                found.append((_one_line(finding.summary), _one_line(finding.explanation), cited))
        row = {
            "title": _one_line(report.title),
            "summary": _one_line(report.summary),
            "rating": float(report.rating),
            "rating_explanation": _one_line(report.rating_explanation),
            "n_unsupported": n_unsupported,
            "n_elements": prompt.n_elements,
            "n_read": len(prompt.shown),
            "n_substituted": prompt.n_substituted,
            "prompt_tokens": prompt.size,
            "problems": [problem] if problem else [],
        }
        return self._written(prompt.community, row | dict(spent(reply)), found)

    def _single(self, community: dict) -> _Written:
        """The report on one entity: what is said of it, without asking a model."""
        (entity_id,) = community["entity_ids"]
        entity = self._elements.entities[entity_id]
        claims = self._elements.claims.get(entity_id, ())
        said = " ".join(element.text for element in (entity, *claims))
        row = {
            "title": community["title"],
            "summary": entity.text,
            "rating": 0.0,
            "rating_explanation": "Nothing is known to be related to it.",
            "n_unsupported": 0,
            "n_elements": 1 + len(claims),
            "n_read": 0,
            "n_substituted": 0,
            "prompt_tokens": 0,
            "problems": [],
        }
        return self._written(community, row | dict(NO_USAGE), [(entity.text, said, [entity])])

    def _written(
        self,
        community: dict,
        row: dict,
        found: Sequence[tuple[str, str, Sequence[Element]]],
    ) -> _Written:
        own = {name: community[name] for name in ("community_id", "level")}
        findings = [
            {
                **own,
                "position": place,
                "summary": summary,
                "explanation": explanation,
                **self._citations.support(cited),
            }
            for place, (summary, explanation, cited) in enumerate(found)
        ]
        text = report_text(row["title"], row["summary"], findings)
        report = {**own, **row, "text": text, "n_findings": len(findings)}
        element = Element(
            text,
            self._count_tokens([text])[0],
            sorted({e for finding in findings for e in finding["entity_ids"]}),
            sorted({c for finding in findings for c in finding["chunk_ids"]}),
        )
        return _Written(report, findings, element, frozenset(community["entity_ids"]))

    def _tables(
        self, communities: pa.Table, written: Mapping[str, _Written], failures: Sequence[str]
    ) -> Result:
        ids = communities.sort_by("number")["community_id"].to_pylist()
        every = [written[i] for i in ids if i in written]
        reports = [one.report for one in every]
        findings = [row for one in every for row in one.findings]
        made = pa.Table.from_pylist(findings, TABLES["graphrag.findings"].schema)
        return Result(
            pa.Table.from_pylist(reports, TABLES["graphrag.community_reports"].schema),
            failures,
            {"findings": made},
        )


def report_text(title: str, summary: str, findings: Sequence[Mapping]) -> str:
    """Title, summary and what the findings say beyond it."""
    said = summary
    lines = [_as_heading(title), summary]
    for finding in findings:
        for text in (finding["summary"], finding["explanation"]):
            if text and text not in said:
                is_head = text == finding["summary"]
                lines.append(f"- {_as_heading(text)}" if is_head else f"  {text}")
                said = f"{said} {text}"
    return "\n".join(lines)


def _by_name(elements: Sequence[Element]) -> list[Element]:
    return sorted(elements, key=lambda element: element.text)


def _as_heading(text: str) -> str:
    """A line that no reader joins with the next: where no mark ends it, a colon does."""
    return text if re.search(r"[.!?…:][\"'”’)\]]*$", text) else f"{text}:"


def _one_line(text: str) -> str:
    return " ".join(text.split())
