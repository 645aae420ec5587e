"""Reports on all communities, bottom-up (paper, 2.5).

A prompt depends only on the elements that it shows, sorted by name, so that unrelated changes do
not invalidate a memoized report. Importance, by degree, only decides which elements are left out if
not all fit.
"""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import pyarrow as pa

from gsum_assets.evaluation.budget import MOST_MARKED, CountTokens, cut_to_tokens, structured_room
from gsum_assets.evaluation.token_usage import NO_USAGE, spent
from gsum_assets.graphrag.citations import Citations
from gsum_assets.graphrag.elements import Element, Elements, fitting, total
from gsum_assets.graphrag.given_communities import GivenReport
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.schemas import Finding, Report
from gsum_assets.graphrag.settings import ReportSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.llm.replies import usable
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import LanguageModel, Reply, Request
from gsum_resources.text.sentences import as_turn, flat_text
from gsum_resources.text.speech import names_speaker, without_names
from gsum_resources.text.vocabulary import n_words

_READ_PER_WRITTEN = 4  # words that a long report is written from, for each of its own
_MOST_SUPPORTING = 5  # entities of a given finding that names none


@dataclass(frozen=True)
class _Prompt:
    """The prompt of a community's report."""

    community: dict
    shown: Sequence[Element]
    n_elements: int
    n_substituted: int
    size: int


@dataclass(frozen=True)
class _Written:
    """Rows of a community's report, and the entities of the community."""

    report: dict
    findings: Sequence[dict]
    members: frozenset[str]


class Reporter:
    """Writer of the reports of a corpus."""

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
        self._quotes = getattr(model, "only_quotes", False)  # it has no words for a title
        self._settings = settings
        self._count_tokens = count_tokens
        self._prompts = prompts
        is_short = self._quotes or isinstance(count_tokens, Window)  # a short context
        self._upper_words = settings.max_words if is_short else settings.upper_words
        self._bare = Request(
            task="synopsis",
            instructions=self._instructions(settings.max_words),
            max_words=settings.max_words,
            schema=Report,
        )
        self._room = structured_room(self._bare, MOST_MARKED, settings.prompt_tokens, count_tokens)

    def write(
        self, communities: pa.Table, given: Mapping[str, GivenReport] = MappingProxyType({})
    ) -> Result:
        """Return the reports of communities with `is_reported`, written from the deepest level up.

        The report of a single entity is its description, without a request. Where a reply is lost,
        those on the parts of the community stand for the report, or its main entities; requests of
        other reports do not change by that.

        Parameters
        ----------
        given : reports that are not requested, by community_id.
        """
        levels: dict[int, list[dict]] = defaultdict(list)
        reported = communities.filter(communities["is_reported"])
        for row in reported.sort_by("number").to_pylist():
            levels[row["level"]].append(row)
        written: dict[str, _Written] = {}
        failures: list[str] = []
        lost: list[tuple[_Prompt, Reply, str]] = []
        for level in sorted(levels, reverse=True):
            for row in levels[level]:
                if row["community_id"] in given:
                    written[row["community_id"]] = self._given(row, given[row["community_id"]])
            missing = [row for row in levels[level] if row["community_id"] not in written]
            prompts = [self._prompt(row, written) for row in missing if row["size"] > 1]
            replies = self._model.complete([self._request(prompt) for prompt in prompts])
            for prompt, reply in zip(prompts, replies, strict=True):
                report, problem = usable(reply, Report)
                if report is not None:
                    tables = self._report(prompt, reply, report, problem)
                    written[prompt.community["community_id"]] = tables
                else:
                    lost.append((prompt, reply, problem))
                if problem:
                    what = f"community {prompt.community['number']}"
                    has = "no report" if report is None else "an incomplete report"
                    failures.append(f"{what} has {has}: {problem}")
            for row in missing:
                if row["size"] == 1:
                    written[row["community_id"]] = self._single(row)
        for prompt, reply, problem in lost:
            parts = [written[i] for i in prompt.community["child_ids"] if i in written]
            written[prompt.community["community_id"]] = self._lost(prompt, reply, problem, parts)
        return self._tables(communities, written, failures)

    def _instructions(self, max_words: int) -> str:
        most = self._settings.max_findings
        return self._prompts.text("report", max_words=max_words, max_findings=most)

    def _request(self, prompt: _Prompt) -> Request:
        """Return the request of a report; those on divided communities may be longer."""
        passages = tuple(element.text for element in prompt.shown)
        words = self._settings.max_words
        if prompt.community["child_ids"]:
            share = sum(map(n_words, passages)) // _READ_PER_WRITTEN // 100 * 100
            words = max(words, min(share, self._upper_words))
        instructions = self._instructions(words)
        return replace(self._bare, instructions=instructions, passages=passages, max_words=words)

    def _prompt(self, community: dict, written: Mapping[str, _Written]) -> _Prompt:
        """Return a prompt of all elements or, if too long, with reports of children for theirs."""
        elements = self._elements.of(community)
        children = [written[i] for i in community["child_ids"] if i in written]
        ordered, substituted = elements, []
        if total(elements, self._room) > self._room.tokens and children:
            ordered, substituted = self._substituted(elements, children)
        shown = fitting(ordered, self._room) or [self._cut(ordered[0])]
        return _Prompt(
            community,
            sorted(shown, key=lambda element: element.text),
            len(elements),
            min(len(substituted), len(shown)),  # they come first
            self._room.own + total(shown, self._room),
        )

    def _cut(self, element: Element) -> Element:
        """Return an element cut to the length of a prompt."""
        room = self._room.tokens - self._room.mark
        text = cut_to_tokens(element.text, room, self._count_tokens)
        return replace(element, text=text, size=self._count_tokens([text])[0])

    def _substituted(
        self, elements: Sequence[Element], children: Sequence[_Written]
    ) -> tuple[list[Element], list[Element]]:
        """Return elements with those of the largest children replaced by reports until all fit.

        A report that is longer than its elements does not replace them.
        """
        child_of = {e: index for index, child in enumerate(children) for e in child.members}
        of_child: list[list[Element]] = [[] for _ in children]
        for element in elements:
            within = {child_of.get(e) for e in element.entity_ids}
            if len(within) == 1 and (child := within.pop()) is not None:
                of_child[child].append(element)
        sizes = [total(of_one, self._room) for of_one in of_child]
        order = sorted(
            range(len(children)), key=lambda i: (-sizes[i], children[i].report["community_id"])
        )
        excess = total(elements, self._room) - self._room.tokens
        reports: list[Element] = []
        replaced: set[int] = set()
        for index in order:
            report = self._as_element(children[index])
            saved = sizes[index] - total([report], self._room)
            if saved > 0:
                reports.append(report)
                replaced |= {id(element) for element in of_child[index]}
                excess -= saved
            if excess <= 0:
                break
        return [
            *reports,
            *(element for element in elements if id(element) not in replaced),
        ], reports

    def _report(self, prompt: _Prompt, reply: Reply, report: Report, problem: str) -> _Written:
        supported, n_unsupported = [], 0
        for finding in report.findings[: self._settings.max_findings]:
            cited = self._citations.cited(finding, prompt.shown)
            n_unsupported += not cited
            if cited:
                supported.append(
                    (flat_text(finding.summary), flat_text(finding.explanation), cited)
                )
        row = {
            "title": prompt.community["title"] if self._quotes else _one_line(report.title),
            "summary": flat_text(report.summary),
            "rating": float(report.rating),
            "rating_explanation": _one_line(report.rating_explanation),
            "n_unsupported": n_unsupported,
            "n_elements": prompt.n_elements,
            "n_read": len(prompt.shown),
            "n_substituted": prompt.n_substituted,
            "prompt_tokens": prompt.size,
            "problems": [problem] if problem else [],
        }
        return self._written(prompt.community, row | dict(spent(reply)), supported)

    def _lost(
        self, prompt: _Prompt, reply: Reply, problem: str, parts: Sequence[_Written]
    ) -> _Written:
        """Return what stands for a report: summaries of its parts, or descriptions of entities."""
        community, supported = prompt.community, []
        for part in sorted(parts, key=lambda part: -len(part.members)):
            cited = self._as_element(part)
            if cited.chunk_ids:
                supported.append((part.report["title"], part.report["summary"], [cited]))
        if not supported:
            for entity_id in community["entity_ids"]:
                entity = self._elements.entities[entity_id]
                name, _, description = entity.text.partition("\n")
                supported.append((name, description, [entity]))
        row = {
            "title": community["title"],
            "summary": "",
            "rating": max((part.report["rating"] for part in parts), default=0.0),
            "rating_explanation": "The report was lost; its parts or entities stand for it.",
            "n_unsupported": 0,
            "n_elements": prompt.n_elements,
            "n_read": len(prompt.shown),
            "n_substituted": prompt.n_substituted,
            "prompt_tokens": prompt.size,
            "problems": [problem],
        }
        most = self._settings.max_findings
        return self._written(community, row | dict(spent(reply)), supported[:most])

    def _given(self, community: dict, given: GivenReport) -> _Written:
        """Return a report of another origin, whose findings name entities.

        A finding that names none of the community's is supported by the most connected ones.
        """
        shown = [self._elements.entities[i] for i in community["entity_ids"]]
        supported = []
        for finding in given.findings:
            numbers = self._citations.numbers(finding.entities, community["entity_ids"])
            said = Finding(
                summary=finding.summary, explanation=finding.explanation, references=numbers
            )
            cited = self._citations.cited(said, shown) or shown[:_MOST_SUPPORTING]
            texts = flat_text(finding.summary), flat_text(finding.explanation)
            supported.append((*texts, cited))
        row = {
            "title": _one_line(given.title),
            "summary": flat_text(given.summary) or _one_line(given.title),
            "rating": given.rating,
            "rating_explanation": _one_line(given.rating_explanation),
            "n_unsupported": 0,
            "n_elements": len(self._elements.of(community)),
            "n_read": 0,
            "n_substituted": 0,
            "prompt_tokens": 0,
            "problems": [],
        }
        return self._written(community, row | dict(NO_USAGE), supported)

    def _single(self, community: dict) -> _Written:
        """Return the report on one entity: its description and claims."""
        (entity_id,) = community["entity_ids"]
        entity = self._elements.entities[entity_id]
        claims = self._elements.claims.get(entity_id, ())
        text = "\n".join(element.text for element in (entity, *claims))
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
        return self._written(community, row | dict(NO_USAGE), [(entity.text, text, [entity])])

    def _written(
        self, community: dict, row: dict, supported: Sequence[tuple[str, str, Sequence[Element]]]
    ) -> _Written:
        identity = {name: community[name] for name in ("community_id", "level")}
        findings = [
            {
                **identity,
                "position": index,
                "summary": summary,
                "explanation": explanation,
                **self._citations.support(cited),
            }
            for index, (summary, explanation, cited) in enumerate(supported)
        ]
        text = report_text(row["title"], row["summary"], findings)
        report = {**identity, **row, "text": text, "n_findings": len(findings)}
        return _Written(report, findings, frozenset(community["entity_ids"]))

    def _as_element(self, written: _Written) -> Element:
        """Return a report as an element of the parent community."""
        text = written.report["text"]
        return Element(
            text,
            self._count_tokens([text])[0],
            sorted({e for finding in written.findings for e in finding["entity_ids"]}),
            sorted({c for finding in written.findings for c in finding["chunk_ids"]}),
        )

    def _tables(
        self, communities: pa.Table, written: Mapping[str, _Written], failures: Sequence[str]
    ) -> Result:
        ids = communities.sort_by("number")["community_id"].to_pylist()
        every = [written[i] for i in ids if i in written]
        reports = [report.report for report in every]
        findings = [row for report in every for row in report.findings]
        tables = pa.Table.from_pylist(findings, TABLES["graphrag.findings"].schema)
        return Result(
            pa.Table.from_pylist(reports, TABLES["graphrag.community_reports"].schema),
            failures,
            {"findings": tables},
        )


def report_text(title: str, summary: str, findings: Sequence[Mapping]) -> str:
    """Return title, summary and findings as text, without repetitions.

    The title is marked as a heading, since "Lin and Boat: harbour dues" is else read as a speaker.
    """
    shown = without_names(summary)
    lines = [f"# {title}", summary]
    for finding in findings:
        for text in (finding["summary"], finding["explanation"]):
            if text and without_names(text) not in shown:
                is_head = text == finding["summary"]
                follows_turn = names_speaker(lines[-1]) and not is_head
                lines.append(
                    f"- {_as_heading(text)}"
                    if is_head
                    else f"  {as_turn(text) if follows_turn else text}"
                )
                shown = f"{shown} {without_names(text)}"
    return "\n".join(lines)


def _as_heading(text: str) -> str:
    """Return a line that ends with punctuation, by default a colon."""
    return text if re.search(r"[.!?…:][\"'”’)\]]*$", text) else f"{text}:"


def _one_line(text: str) -> str:
    return " ".join(text.split())
