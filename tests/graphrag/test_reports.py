"""Report prompts hold all that fits; reports cite their sources and change only with them."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import pyarrow as pa
import pytest

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.graphrag import reports
from gsum_assets.graphrag.communities import communities
from gsum_assets.graphrag.elements import elements_of
from gsum_assets.graphrag.reports import Reporter, report_text
from gsum_assets.graphrag.settings import CommunitySettings, ReportSettings
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Request
from gsum_resources.text.sentences import read_sentences
from tests.gor.toy_documents import Scripted
from tests.graphrag.harbour import table_of_rows
from tests.graphrag.toys import Graph, clique, graph, mapped, prompt_length

WIDE, NARROW = ReportSettings(), ReportSettings(prompt_tokens=1000)
LONG = "The harbour lamp was lit again by the clerk of the orchard. " * 12  # 156 word pieces
Say = Callable[[Request], str | None]


def finding(
    *references: int, summary: str = "An insight.", explanation: str = "At length."
) -> dict:
    return {"summary": summary, "explanation": explanation, "references": list(references)}


def report(*findings: dict, title: str = "A report", summary: str = "In short.") -> str:
    own = {"title": title, "summary": summary, "rating": 7, "rating_explanation": "It matters."}
    return json.dumps(own | {"findings": list(findings) or [finding(1)]})


def says(*findings: dict) -> Say:
    return lambda request: report(*findings)


@dataclass
class Run:
    """Written reports and the requests to the model."""

    written: Result
    model: Scripted
    communities: pa.Table

    @property
    def reports(self) -> dict[str, dict]:
        """Rows by the titles of their communities."""
        titles = mapped(self.communities, "community_id", "title")
        return {titles[row["community_id"]]: row for row in self.written.rows.to_pylist()}

    @property
    def findings(self) -> list[dict]:
        return self.written.beside["findings"].to_pylist()


def run(
    given: Graph,
    say: Say = lambda _: report(),
    settings: ReportSettings = WIDE,
    claims: Sequence[dict] = (),
    found: pa.Table | None = None,
    max_size: int = 5,
    model: Scripted | None = None,
) -> Run:
    """Reports on the communities of a graph, or on those given."""
    names = given.entities.select(["name_key", "entity_id"]).to_pylist()
    elements = elements_of(
        given.entities,
        given.relationships,
        table_of_rows(TABLES["graphrag.claims"], list(claims)),
        table_of_rows(TABLES["graphrag.aliases"], names),
        given.chunks,
        n_word_pieces,
    )
    model = model or Scripted(say)
    if found is None:
        size = CommunitySettings(max_size=max_size)
        found = communities(given.entities, given.relationships, size)
    written = Reporter(elements, model, settings, n_word_pieces).write(found)
    return Run(written, model, found)


def split_into(wholes: Mapping[str, Sequence[str]], given: Graph) -> pa.Table:
    """One whole of level 0, and its parts of level 1, by their names."""
    inside = [
        (r["source_id"], r["target_id"], r["relationship_id"])
        for r in given.relationships.to_pylist()
    ]
    every = [entity for members in wholes.values() for entity in members]
    rows = []
    for number, (name, own) in enumerate([("whole", every), *wholes.items()]):
        rows.append(
            {"community_id": name, "level": min(number, 1), "number": number}
            | {"parent_id": "whole" if number else None}
            | {"child_ids": [] if number else list(wholes), "title": name, "size": len(own)}
            | {"is_reported": True}
            | {"entity_ids": own}
            | {"relationship_ids": [r for a, b, r in inside if a in own and b in own]}
        )
    return table_of_rows(TABLES["graphrag.communities"], rows)


def claim(subject: str, description: str, **fields: str) -> dict:
    own = {"subject_key": subject, "chunk_id": f"c-{subject}", "document_id": "d0"}
    return own | {"description": description, "status": "true"} | fields


def test_leaf_prompt_has_all_its_elements() -> None:
    claims = [
        claim("a", "a owns b.", status="suspected", start_date="1999", end_date="2001"),
        claim("a", "a is old."),
        claim("z", "z is alone."),
    ]
    done = run(graph([("a", "b"), ("b", "c")], alone=["z"]), claims=claims)
    (request,) = done.model.requests
    assert request.passages == (
        "Claim about a, suspected:\na owns b. (1999 to 2001)",
        "Claim about a:\na is old.",
        "a (thing):\nAbout a.",
        "a and b:\na knows b.",
        "b (thing):\nAbout b.",
        "b and c:\nb knows c.",
        "c (thing):\nAbout c.",
    )
    row = done.reports["B, a and c"]
    assert (row["n_elements"], row["n_read"], row["n_substituted"]) == (7, 7, 0)
    assert row["text"] == "# A report\nIn short.\n- An insight.\n  At length."
    assert (row["calls"], row["rating"], row["title"]) == (1, 7.0, "A report")
    assert row["prompt_tokens"] >= prompt_length(request)


def test_a_model_without_words_of_its_own_takes_the_title_of_the_community(monkeypatch) -> None:
    monkeypatch.setattr(reports, "MAX_FINDINGS", 2)
    model = Scripted(
        lambda _: report(*(finding(1, summary=f"{i}.") for i in range(9)), title="22 m")
    )
    model.only_quotes = True  # type: ignore[attr-defined]
    done = run(graph([("a", "b"), ("b", "c"), ("x", "y")], alone=["z"]), model=model)
    # two entities, and one, have no report beside a larger community
    assert [row["title"] for row in done.reports.values()] == ["B, a and c"]
    assert [row["summary"] for row in done.findings] == ["0.", "1."]


def test_single_entity_report_needs_no_request() -> None:
    done = run(graph([], alone=["y", "z"]), claims=[claim("z", "z is alone.")])
    assert done.model.requests == []
    row = done.reports["Z"]
    about = "z (thing):\nAbout z."
    assert row["text"] == f"# Z\n{about}\n  {about}\nClaim about z:\nz is alone."
    assert (row["calls"], row["model"], row["n_findings"], row["n_read"]) == (0, "", 1, 0)
    supported = [(f["entity_ids"], f["chunk_ids"]) for f in done.findings]
    assert supported == [(["y"], ["c-y"]), (["z"], ["c-z"])]


def _large(description: str = LONG) -> tuple[Graph, pa.Table]:
    """A whole of three parts that are too long together: of four, three and two entities."""
    members_of = {"b": ["b0", "b1", "b2", "b3"], "m": ["m0", "m1", "m2"], "s": ["s0", "s1"]}
    edges = [(a, b) for own in members_of.values() for a, b in pairwise(own)]
    edges += [("b0", "m0"), ("m0", "s0")]
    every = [entity for own in members_of.values() for entity in own]
    given = graph(edges, descriptions={name: f"{name} is here. {description}" for name in every})
    return given, split_into(members_of, given)


def _of_part(request: Request) -> str:
    return report(finding(1), title=f"On {min(request.passages)[0]}")


@pytest.mark.parametrize(("prompt_tokens", "replaced"), [(2500, ""), (2000, "b"), (1400, "bm")])
def test_over_budget_the_largest_subcommunities_are_replaced_by_reports(
    prompt_tokens: int, replaced: str
) -> None:
    given, found = _large()
    done = run(given, _of_part, ReportSettings(prompt_tokens=prompt_tokens), found=found)
    shown = done.model.calls[-1][0].passages
    assert {text[5] for text in shown if text.startswith("# On ")} == set(replaced)
    assert {text[0] for text in shown if "(thing)" in text} == set("bms") - set(replaced)
    # relationships between subcommunities are in none of them
    assert "b0 and m0:\nb0 knows m0." in shown
    row = done.reports["whole"]
    assert (row["n_substituted"], row["n_read"]) == (len(replaced), len(shown))
    assert prompt_length(done.model.calls[-1][0]) <= prompt_tokens


def test_subcommunity_without_report_is_shown_by_its_elements() -> None:
    given, found = _large()

    def say(request: Request) -> str | None:
        is_first = len(request.passages) == 7 and request.passages[0].startswith("b0")
        return None if is_first else _of_part(request)

    done = run(given, say, ReportSettings(prompt_tokens=2000), found=found)
    assert done.written.failures == ["community 1 has no report: the server is tired"]
    # its most connected entities stand for the report
    lost = done.reports["b"]
    assert (lost["summary"], lost["problems"]) == ("", ["the server is tired"])
    of_lost = [f for f in done.findings if f["community_id"] == lost["community_id"]]
    assert len(of_lost) == 4
    assert all(len(f["entity_ids"]) == 1 for f in of_lost)
    assert of_lost[0]["summary"] == f"{of_lost[0]['entity_ids'][0]} (thing):"
    shown = done.model.calls[-1][0].passages
    assert {text[5] for text in shown if text.startswith("# On ")} == {"m"}
    assert {text[0] for text in shown if "(thing)" in text} == {"b", "s"}


def test_reports_on_divided_communities_may_be_longer(monkeypatch) -> None:
    given, found = _large(LONG * 4)  # nine entities of 580 words
    longest = {}
    for name, upper in (("default", 1500), ("short", 600)):
        monkeypatch.setattr(reports, "UPPER_WORDS", upper)
        done = run(given, _of_part, found=found)
        whole, *_ = (r for r in done.model.requests if len(r.passages) > 7)
        longest[name] = whole.max_words
        assert f"About\n{whole.max_words} words" in whole.instructions
        parts = [r for r in done.model.requests if r is not whole]
        assert {part.max_words for part in parts} == {400}
    assert longest == {"default": 1300, "short": 600}


def test_reports_on_the_parts_stand_for_a_lost_one() -> None:
    given, found = _large()

    def say(request: Request) -> str | None:
        return _of_part(request) if len(request.passages) <= 7 else None

    done = run(given, say, ReportSettings(prompt_tokens=6000), found=found)
    whole = done.reports["whole"]
    assert (whole["summary"], whole["rating"], whole["n_findings"]) == ("", 7.0, 3)
    shown = [f for f in done.findings if f["community_id"] == whole["community_id"]]
    assert [f["summary"] for f in shown] == ["On b", "On m", "On s"]
    assert {f["explanation"] for f in shown} == {"In short."}
    assert whole["text"].startswith("# whole\n")
    assert "has no report: the server is tired" in done.written.failures[-1]


def test_complete_findings_of_a_truncated_report_are_kept() -> None:
    text = report(finding(1), finding(2))
    cut = text[: text.rindex("references")]
    done = run(graph([("a", "b"), ("b", "c")]), lambda request: cut)
    (row,) = done.written.rows.to_pylist()
    assert (row["title"], row["n_findings"], row["n_unsupported"]) == ("A report", 1, 0)
    assert row["problems"] == ["it was cut off (what can be read is kept)"]
    assert done.written.failures == [f"community 0 has an incomplete report: {row['problems'][0]}"]


def test_report_longer_than_the_elements_is_not_used() -> None:
    given, found = _large()

    def say(request: Request) -> str:
        is_first = len(request.passages) == 7
        return report(title="On b", summary=LONG * 5) if is_first else _of_part(request)

    done = run(given, say, ReportSettings(prompt_tokens=2000), found=found)
    shown = done.model.calls[-1][0].passages
    assert [text.split("\n")[0] for text in shown if text.startswith("# On ")] == ["# On m"]
    assert len([text for text in shown if text.startswith("b")]) == 8
    assert prompt_length(done.model.calls[-1][0]) <= 2000


@pytest.mark.parametrize("length", [1, 5, 30])
def test_no_prompt_is_too_long_or_empty(length: int) -> None:
    given, found = _large(LONG * length)
    claims = [claim(f"b{i}", f"{LONG * length} {n}") for i in range(4) for n in range(3)]
    long_report = report(summary=LONG * length)
    done = run(given, lambda _: long_report, NARROW, claims=claims, found=found)
    assert len(done.model.requests) == 4
    assert all(request.passages for request in done.model.requests)
    assert max(map(prompt_length, done.model.requests)) <= 1000
    for row in done.reports.values():
        assert row["n_read"] < row["n_elements"]
        assert row["prompt_tokens"] <= 1000


def test_most_important_elements_are_shown_first() -> None:
    """The ends of the heaviest edge, and it; in order of their texts."""
    star = [("hub", f"leaf{i}") for i in range(6)] + [("hub", "other"), ("other", "leaf5")]
    names = {end for edge in star for end in edge}
    given = graph(star, descriptions=dict.fromkeys(names, LONG))
    done = run(given, settings=ReportSettings(prompt_tokens=1100), max_size=20)
    shown = [text.split(":")[0] for text in done.model.requests[0].passages]
    assert shown == ["hub (thing)", "hub and leaf5", "leaf5 (thing)"]


def _elsewhere(more: list[tuple[str, str]], **descriptions: str) -> list[Request]:
    edges = [*clique("a", 5), *clique("b", 5), ("a0", "b0"), *clique("x", 4), *more]
    done = run(graph(edges, alone=["z"], descriptions=descriptions), settings=NARROW)
    return done.model.requests


def test_unrelated_change_leaves_the_prompt() -> None:
    before = _elsewhere([])
    after = _elsewhere([("x3", "x4")])
    assert len(before) == 3
    assert len([request for request in before if request not in after]) == 1
    again = _elsewhere([], a1="Something new of a1.")
    assert len([request for request in before if request not in again]) == 1
    grown = _elsewhere([("q0", "q1"), ("q1", "q2")])
    assert [request for request in before if request not in grown] == []
    assert len(grown) == 4


def test_findings_cite_chunks_that_mention_their_entities() -> None:
    edges = [*clique("a", 5), *clique("b", 5), ("a0", "b0")]
    given = graph(edges, documents={name: f"d{i}" for i, name in enumerate(["a0", "b1"], 1)})
    done = run(given, says(finding(1, 4), finding(7), finding(2, 3, 5, 8)))
    texts = {key: set(ids) for key, ids in mapped(given.entities, "entity_id", "chunk_ids").items()}
    of = mapped(given.chunks, "chunk_id", "document_id")
    assert len(done.findings) == 6
    for row in done.findings:
        assert row["entity_ids"]
        assert row["chunk_ids"]
        assert all(texts[entity] & set(row["chunk_ids"]) for entity in row["entity_ids"])
        assert all(any(c in texts[e] for e in row["entity_ids"]) for c in row["chunk_ids"])
        assert row["document_ids"] == sorted({of[c] for c in row["chunk_ids"]})


def test_few_chunks_support_a_finding_and_cover_every_entity() -> None:
    given = graph([("hub", f"leaf{i:02}") for i in range(30)])
    done = run(given, says(finding(*range(1, 62))), max_size=40)
    (row,) = done.findings
    assert len(row["entity_ids"]) == 31
    assert len(row["chunk_ids"]) == 30  # each mentions the hub and a leaf
    one = run(given, says(finding(1)), max_size=40).findings[0]
    assert (one["entity_ids"], len(one["chunk_ids"])) == (["hub"], 10)


def test_finding_without_valid_reference_is_matched_by_names() -> None:
    by_name = finding(0, 99, -3, summary="B is known.", explanation="(a, too.)")
    nothing = finding(44, summary="Abbots differ.", explanation="")
    half = finding(99, 5, summary="b is known.")
    done = run(graph([("a", "b"), ("b", "c")]), says(by_name, nothing, half))
    assert [row["entity_ids"] for row in done.findings] == [["a", "b"], ["c"]]
    assert [row["position"] for row in done.findings] == [0, 1]
    row = done.reports["B, a and c"]
    assert (row["n_findings"], row["n_unsupported"], "Abbots" in row["text"]) == (2, 1, False)


def test_report_without_findings_supports_nothing() -> None:
    """It is shown for its part, but cites no chunk that a finding above could cite."""
    given, found = _large()

    def say(request: Request) -> str:
        if len(request.passages) == 7:
            return report(finding(99, summary="Of nobody.", explanation="Nothing."))
        if any(text.startswith("# A report") for text in request.passages):
            n = 1 + next(i for i, t in enumerate(request.passages) if t.startswith("# A report"))
            return report(finding(n), finding(n, summary="m1 is here."), title="Whole")
        return _of_part(request)

    done = run(given, say, ReportSettings(prompt_tokens=2000), found=found)
    of_whole = [row for row in done.findings if row["community_id"] == "whole"]
    assert [row["entity_ids"] for row in of_whole] == [["m1"]]
    assert all(row["chunk_ids"] for row in done.findings)
    assert done.reports["whole"]["n_unsupported"] == 1


def test_title_of_a_report_is_no_speaker() -> None:
    findings = [{"summary": "It sank.", "explanation": "In winter."}]
    titles = ("Lin and Boat: harbour dues", "Ann: lamps")
    texts = [report_text(title, "The boat is old. It leaks.", findings) for title in titles]
    assert {sentence.speaker for sentence in read_sentences(texts)} == {""}


def test_report_has_no_duplicates() -> None:
    findings = [
        {"summary": "It sank.", "explanation": "It sank. In winter."},
        {"summary": "It is old.", "explanation": "It is old."},
        {"summary": "In winter.", "explanation": ""},
    ]
    text = report_text("Boat", "The boat. It sank.", findings)
    assert text == "# Boat\nThe boat. It sank.\n  It sank. In winter.\n- It is old."
