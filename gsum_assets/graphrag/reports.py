"""Reports on all communities, bottom-up (paper, 2.5).

A prompt depends only on the elements that it shows, sorted by name, so that unrelated changes do
not invalidate a memoized report. Importance decides which elements are left out if not all fit.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import pyarrow as pa

from gsum_assets.corpus.names import name_key
from gsum_assets.evaluation.budget import (
    MOST_MARKED,
    CountTokens,
    cut_to_tokens,
    n_fitting,
    structured_room,
)
from gsum_assets.evaluation.token_usage import NO_USAGE, spent
from gsum_assets.graphrag.elements import Element, Elements
from gsum_assets.graphrag.given_files import GivenReport
from gsum_assets.graphrag.prompts import PROMPTS
from gsum_assets.graphrag.schemas import Finding, Report
from gsum_assets.graphrag.settings import ReportSettings
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result, result_of
from gsum_resources.llm.replies import usable
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import LanguageModel, Reply, Request
from gsum_resources.store.arrow import rows_by
from gsum_resources.text.sentences import as_turn, flat_text
from gsum_resources.text.speech import names_speaker, without_names
from gsum_resources.text.vocabulary import n_words

MAX_FINDINGS = 6  # of a report (ours)
UPPER_WORDS = 1500
"""Length of the longest report of a language model on a divided community (the package: 2000)."""
_READ_PER_WRITTEN = 4  # words that such a report is written from, for each of its own
_MOST_SUPPORTING = 5  # entities of a given finding that names none


class _Prompt(NamedTuple):
    """The prompt of a community's report, and columns of the report."""

    community: dict
    shown: Sequence[Element]
    columns: Mapping[str, int]


class _Written(NamedTuple):
    """Rows of a community's report, and the entities of the community."""

    report: dict
    findings: Sequence[dict]
    members: frozenset[str]


class Reporter:
    """Writer of the reports of a corpus."""

    def __init__(
        self,
        elements: Elements,
        model: LanguageModel,
        settings: ReportSettings,
        count_tokens: CountTokens,
        prompts: Prompts = PROMPTS,
    ) -> None:
        self._elements, self._model, self._prompts = elements, model, prompts
        self._quotes = getattr(model, "only_quotes", False)  # it has no words for a title
        self._max_words = settings.max_words
        self._count_tokens = count_tokens
        is_short = self._quotes or isinstance(count_tokens, Window)  # a short context
        self._upper_words = settings.max_words if is_short else UPPER_WORDS
        longest = settings.prompt_tokens
        self._room = structured_room(self._request(), MOST_MARKED, longest, count_tokens)

    def write(
        self, communities: pa.Table, given: Mapping[str, GivenReport] = MappingProxyType({})
    ) -> Result:
        """Return the reports of communities with `is_reported`, written from the deepest level up.

        Reports in `given`, by community_id, are not requested; that of a single entity is its
        description. Requests do not depend on lost replies of other reports.
        """
        reported = communities.filter(communities["is_reported"]).sort_by("number")
        ids, levels = reported["community_id"].to_pylist(), rows_by(reported, "level")
        written: dict[str, _Written] = {}
        failures: list[str] = []
        lost: list[tuple[_Prompt, Reply, str]] = []
        for level in sorted(levels, reverse=True):
            prompts = []
            for row in levels[level]:
                if report := given.get(row["community_id"]):
                    written[row["community_id"]] = self._given(row, report)
                elif row["size"] > 1:
                    prompts.append(self._prompt(row, written))
                else:
                    written[row["community_id"]] = self._single(row)
            requests = [
                self._request(tuple(e.text for e in shown), bool(community["child_ids"]))
                for community, shown, _ in prompts
            ]
            for prompt, reply in zip(prompts, self._model.complete(requests), strict=True):
                report, problem = usable(reply, Report)
                if report is not None:
                    tables = self._report(prompt, reply, report, problem)
                    written[prompt.community["community_id"]] = tables
                else:
                    lost.append((prompt, reply, problem))
                if problem:
                    has = "no report" if report is None else "an incomplete report"
                    failures.append(f"community {prompt.community['number']} has {has}: {problem}")
        for prompt, reply, problem in lost:
            parts = [written[i] for i in prompt.community["child_ids"] if i in written]
            written[prompt.community["community_id"]] = self._lost(prompt, reply, problem, parts)
        every = [written[community_id] for community_id in ids]
        reports = [report.report for report in every]
        findings = [row for report in every for row in report.findings]
        tables = {"community_reports": reports, "findings": findings}
        return result_of("graphrag", tables, failures)

    def _request(self, passages: tuple[str, ...] = (), is_upper: bool = False) -> Request:
        """Return the request of a report; those on divided communities may be longer."""
        words = self._max_words
        if is_upper:
            share = sum(map(n_words, passages)) // _READ_PER_WRITTEN // 100 * 100
            words = max(words, min(share, self._upper_words))
        instructions = self._prompts.text("report", max_words=words, max_findings=MAX_FINDINGS)
        return Request("synopsis", instructions, passages=passages, max_words=words, schema=Report)

    def _prompt(self, community: dict, written: Mapping[str, _Written]) -> _Prompt:
        """Return a prompt of all elements or, if too long, with reports of children for theirs."""
        elements = self._elements.of(community)
        children = [written[i] for i in community["child_ids"] if i in written]
        reports, others = self._substituted(elements, children)
        ordered = [*reports, *others]
        shown = ordered[: n_fitting([element.size for element in ordered], self._room)]
        if not shown:
            most = self._room.tokens - self._room.mark
            text = cut_to_tokens(ordered[0].text, most, self._count_tokens)
            shown = [replace(ordered[0], text=text, size=self._count_tokens([text])[0])]
        columns = {
            "n_elements": len(elements),
            "n_read": len(shown),
            "n_substituted": min(len(reports), len(shown)),
            "prompt_tokens": self._room.own + self._total(shown),
        }
        return _Prompt(community, sorted(shown, key=lambda element: element.text), columns)

    def _total(self, elements: Sequence[Element]) -> int:
        """Return the length of elements as passages of a prompt, word pieces."""
        return sum(element.size + self._room.mark for element in elements)

    def _substituted(
        self, elements: Sequence[Element], children: Sequence[_Written]
    ) -> tuple[list[Element], list[Element]]:
        """Return reports in place of the elements of the largest children, and other elements.

        A report that is longer than its elements does not replace them.
        """
        child_of = {e: index for index, child in enumerate(children) for e in child.members}
        of_child: list[list[Element]] = [[] for _ in children]
        for element in elements:
            within = {child_of.get(e) for e in element.entity_ids}
            if len(within) == 1 and (child := within.pop()) is not None:
                of_child[child].append(element)
        sizes = list(map(self._total, of_child))
        order = sorted(
            range(len(children)), key=lambda i: (-sizes[i], children[i].report["community_id"])
        )
        excess = self._total(elements) - self._room.tokens
        reports: list[Element] = []
        replaced: set[int] = set()
        for index in order:
            if excess <= 0:
                break
            report = self._as_element(children[index])
            saved = sizes[index] - self._total([report])
            if saved > 0:
                reports.append(report)
                replaced |= {id(element) for element in of_child[index]}
                excess -= saved
        return reports, [element for element in elements if id(element) not in replaced]

    def _report(self, prompt: _Prompt, reply: Reply, report: Report, problem: str) -> _Written:
        stated = report.findings[:MAX_FINDINGS]
        supported = [(f, cited) for f in stated if (cited := self._elements.cited(f, prompt.shown))]
        return self._written(
            prompt.community,
            [(flat_text(f.summary), flat_text(f.explanation), cited) for f, cited in supported],
            title=prompt.community["title"] if self._quotes else _one_line(report.title),
            summary=flat_text(report.summary),
            rating=float(report.rating),
            rating_explanation=_one_line(report.rating_explanation),
            n_unsupported=len(stated) - len(supported),
            problems=[problem] if problem else [],
            **prompt.columns,
            **spent(reply),
        )

    def _lost(
        self, prompt: _Prompt, reply: Reply, problem: str, parts: Sequence[_Written]
    ) -> _Written:
        """Return what stands for a report: summaries of its parts, or descriptions of entities."""
        supported = [
            (part.report["title"], part.report["summary"], [cited])
            for part in sorted(parts, key=lambda part: -len(part.members))
            if (cited := self._as_element(part)).chunk_ids
        ]
        if not supported:
            for entity_id in prompt.community["entity_ids"]:
                entity = self._elements.entities[entity_id]
                name, _, description = entity.text.partition("\n")
                supported.append((name, description, [entity]))
        return self._written(
            prompt.community,
            supported[:MAX_FINDINGS],
            title=prompt.community["title"],
            summary="",
            rating=max((part.report["rating"] for part in parts), default=0.0),
            rating_explanation="The report was lost; its parts or entities stand for it.",
            problems=[problem],
            **prompt.columns,
            **spent(reply),
        )

    def _given(self, community: dict, given: GivenReport) -> _Written:
        """Return a given report; findings that name no entity are about the most connected ones."""
        members = dict.fromkeys(community["entity_ids"])
        shown = [self._elements.entities[i] for i in members]
        supported = []
        for finding in given.findings:
            about = []
            for key in dict.fromkeys(map(name_key, finding.entities)):
                ids = self._elements.ids_of_name.get(key, ())
                about += [i for i in ids if i in members] or ids
            texts = flat_text(finding.summary), flat_text(finding.explanation)
            as_written = Finding(summary=texts[0], explanation=texts[1], references=[])
            cited = [self._elements.entities[i] for i in about]
            cited = cited or self._elements.cited(as_written, shown) or shown[:_MOST_SUPPORTING]
            cited = self._elements.within(finding.passages, cited)
            supported.append((*texts, cited))
        return self._written(
            community,
            supported,
            title=_one_line(given.title),
            summary=flat_text(given.summary) or _one_line(given.title),
            rating=given.rating,
            rating_explanation=_one_line(given.rating_explanation),
            n_elements=len(self._elements.of(community)),
        )

    def _single(self, community: dict) -> _Written:
        """Return the report on one entity: its description and claims."""
        (entity_id,) = community["entity_ids"]
        entity = self._elements.entities[entity_id]
        claims = self._elements.claims.get(entity_id, ())
        text = "\n".join(element.text for element in (entity, *claims))
        return self._written(
            community,
            [(entity.text, text, [entity])],
            title=community["title"],
            summary=entity.text,
            rating=0.0,
            rating_explanation="Nothing is known to be related to it.",
            n_elements=1 + len(claims),
        )

    def _written(
        self,
        community: dict,
        supported: Sequence[tuple[str, str, Sequence[Element]]],
        **columns: Any,
    ) -> _Written:
        """Return the rows of a report from summary, explanation and elements of each finding."""
        identity = {name: community[name] for name in ("community_id", "level")}
        findings = []
        for index, (summary, explanation, cited) in enumerate(supported):
            columns_of = {"position": index, "summary": summary, "explanation": explanation}
            findings.append({**identity, **columns_of, **self._elements.support(cited)})
        unused = dict.fromkeys(("n_unsupported", "n_read", "n_substituted", "prompt_tokens"), 0)
        report = {**identity, **NO_USAGE, **unused, "problems": [], **columns}
        report["text"] = report_text(columns["title"], columns["summary"], findings)
        report["n_findings"] = len(findings)
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


def report_text(title: str, summary: str, findings: Sequence[Mapping]) -> str:
    """Return title, summary and findings as text, without repetitions.

    The title is a heading, as "Lin and Boat: harbour dues" would be read as a speaker.
    """
    shown = without_names(summary)
    lines = [f"# {title}", summary]
    for finding in findings:
        for text in (finding["summary"], finding["explanation"]):
            if not text or without_names(text) in shown:
                continue
            if text == finding["summary"]:
                ends = re.search(r"[.!?…:][\"'”’)\]]*$", text)
                lines.append(f"- {text}" if ends else f"- {text}:")
            else:
                lines.append(f"  {as_turn(text) if names_speaker(lines[-1]) else text}")
            shown = f"{shown} {without_names(text)}"
    return "\n".join(lines)


def _one_line(text: str) -> str:
    return " ".join(text.split())
