"""Global answers: every prompt keeps its length, and what does not help is not read."""

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa
import pytest

from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.passages import KEY_POINT
from gsum_assets.graphrag.contexts import AnswerPrompt
from gsum_assets.graphrag.map_reduce import partial_answers, passages_behind, reduced_contexts
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import Request
from tests.gae.toy_contexts import queries
from tests.gor.toy_documents import Scripted
from tests.graphrag.harbour import Rows, table_of_rows
from tests.graphrag.toys import prompt_length

MAX_WORDS = 120
LENGTH = 690  # word pieces, of which passages have half
SMALL = AnswerPrompt(LENGTH, MAX_WORDS)
ONE = queries({"q": "Who lit the lamp?"})
WORDS = ["boat", "lamp", "harbour", "orchard", "letter", "mirror", "signal", "clerk"]


@dataclass
class Run:
    """Rows of a run and its requests to the model: the maps, then the final questions."""

    contexts: pa.Table
    partial: pa.Table
    points: pa.Table
    failures: list[str]
    reduced: pa.Table
    maps: Scripted
    finals: Scripted
    unanswered: list[str]

    @property
    def fates(self) -> list[tuple[float, str]]:
        return [(row["score"], row["fate"]) for row in self.reduced.to_pylist()]

    @property
    def behind(self) -> pa.Table:
        return passages_behind(self.contexts, self.partial, self.points, self.reduced)


def helping(score: int, *points: str, cited: Sequence[int] = (1,)) -> str:
    """A reply with points of one score."""
    stated = points or ("It was Lin.",)
    rows = [{"description": text, "score": score, "references": [*cited]} for text in stated]
    return json.dumps({"points": rows})


def run(
    contexts: pa.Table,
    say: Callable[[Request], str | None],
    prompt: AnswerPrompt = SMALL,
    questions: pa.Table = ONE,
) -> Run:
    maps, finals = Scripted(say), Scripted(lambda request: "It was Lin, they say.")
    mapped = partial_answers(contexts, questions, maps, prompt)
    points = mapped.beside["key_points"]
    reduced = reduced_contexts(contexts, mapped.rows, points, questions, prompt)
    also = queries({"always": "?"})  # so that a run of unanswered questions is no error
    shown = pa.concat_tables(
        [reduced.select(TABLES["contexts"].schema.names), passages(1, "always")]
    )
    asked = pa.concat_tables([questions, also])
    answers = answer_questions(asked, shown, finals, MAX_WORDS, retrieved=contexts)
    finals.calls = [[r for r in call if r.question != "?"] for call in finals.calls]
    failures, unanswered = list(mapped.failures), list(answers.failures)
    return Run(contexts, mapped.rows, points, failures, reduced, maps, finals, unanswered)


def sentence(i: int, words: int = 20) -> str:
    return f"Report {i}: {' '.join(random.Random(i).choices(WORDS, k=words))}."


def passages(n: int, query_id: str = "q", words: int = 20) -> pa.Table:
    """Reports on n communities as a question's contexts."""
    rows: Rows = [
        {"query_id": query_id, "rank": i + 1, "node_id": f"k{i}", "node_kind": "report"}
        | {"text": sentence(i, words)}
        for i in range(n)
    ]
    return table_of_rows(TABLES["contexts"], rows)


def in_order(*scores: int, answer: str = "Answer") -> Callable[[Request], str]:
    """Of each map in turn."""
    left = iter(scores)

    def say(_: Request) -> str:
        value = next(left)
        return helping(value, f"{answer} worth {value}.")

    return say


def n_packs(contexts: pa.Table) -> int:
    return run(contexts, lambda request: helping(1)).partial.num_rows


@pytest.mark.parametrize("prompt_tokens", [LENGTH, 8000])
def test_every_prompt_over_2000_reports_keeps_its_length(prompt_tokens: int) -> None:
    questions = pa.concat_tables([ONE, queries({"r": "And in d3?"}, document_id="d3")])
    contexts = pa.concat_tables([passages(2000, words=40), passages(200, "r", words=40)])

    def say(request: Request) -> str:
        value = sum(map(len, request.passages)) % 101
        return helping(value, " ".join(["word"] * (20 + value)))

    done = run(contexts, say, AnswerPrompt(prompt_tokens, MAX_WORDS), questions)
    assert len(done.maps.calls) == 1  # so they are requested concurrently
    lengths = [prompt_length(request) for request in done.maps.requests]
    assert max(lengths) <= prompt_tokens
    stated = done.partial["prompt_tokens"].to_pylist()
    assert all(length <= n_tokens for length, n_tokens in zip(lengths, stated, strict=True))
    asked = [request.question for request in done.finals.requests]
    assert asked == ["Who lit the lamp?", "And in d3?"]
    assert all(r.passages and prompt_length(r) <= prompt_tokens for r in done.finals.requests)
    assert sum(done.partial["n_passages"].to_pylist()) == 2200


def test_points_are_ordered_by_score_without_zeros() -> None:
    contexts = passages(60)
    assert n_packs(contexts) == 8
    done = run(contexts, in_order(0, 30, 100, 0, 30, 7, 0, 55))
    assert done.points["score"].to_pylist() == [0, 30, 100, 0, 30, 7, 0, 55]
    assert done.fates == [(v, "kept") for v in (100, 55, 30, 30, 7)] + [(0, "of no help")] * 3
    assert done.reduced["rank"].to_pylist() == list(range(1, 9))
    (final,) = done.finals.requests
    assert final.passages == tuple(f"Answer worth {value}." for value in (100, 55, 30, 30, 7))
    assert "notes" in final.instructions
    assert set(done.reduced["node_kind"].to_pylist()) == {KEY_POINT}


def test_point_names_the_passages_that_it_cites() -> None:
    def say(request: Request) -> str:
        return helping(50, cited=(len(request.passages), 0, 1, 99, 1))

    done = run(passages(60), say)
    packs = done.partial["node_ids"].to_pylist()
    assert done.points["node_ids"].to_pylist() == [[ids[-1], ids[0]] for ids in packs]
    assert run(passages(60), lambda _: helping(50, cited=())).points["node_ids"][0].as_py() == []


@pytest.mark.parametrize("reply", [helping(90, " \n"), '{"points": []}', helping(0)])
def test_points_that_say_nothing_do_not_help(reply: str) -> None:
    done = run(passages(60), lambda request: reply)
    assert {fate for _, fate in done.fates} == {"of no help"}
    assert (done.finals.requests, done.unanswered) == ([], [])  # "The documents do not say."


def test_surplus_of_the_final_prompt_is_cut_or_dropped() -> None:
    done = run(passages(60), in_order(*range(10, 90, 10), answer="Lin lit it. " * 50))
    assert done.fates[:3] == [(80, "kept"), (70, "kept"), (60, "cut")]
    assert done.fates[3:] == [(value, "over budget") for value in (50, 40, 30, 20, 10)]
    (final,) = done.finals.requests
    assert len(final.passages) == 3
    assert LENGTH - 20 < prompt_length(final) <= LENGTH
    assert final.passages[2].endswith("it.")
    assert done.reduced["text"].to_pylist()[3:] == [""] * 5


def test_failing_pack_costs_only_itself() -> None:
    def say(request: Request) -> str | None:
        return None if sentence(30) in request.passages else helping(50)

    done = run(passages(60), say)
    (pack,) = set(range(8)) - set(done.partial["pack"].to_pylist())
    assert done.failures == [f"question 'q', pack {pack}: no partial answer: the server is tired"]
    assert len(done.finals.requests[0].passages) == 7
    none = run(passages(60), lambda request: None)
    assert (none.partial.num_rows, none.reduced.num_rows, len(none.failures)) == (0, 0, 8)
    assert none.unanswered == ["question 'q' has no context"]


def test_fitting_reports_are_not_mapped() -> None:
    questions = queries({"q": "Who lit the lamp?", "r": "Why?"})
    contexts = pa.concat_tables([passages(60), passages(9, "r")])
    done = run(contexts, lambda request: helping(50), questions=questions)
    assert set(done.partial["query_id"].to_pylist()) == {"q"}
    rows = [row for row in done.reduced.to_pylist() if row["query_id"] == "r"]
    assert [(row["node_id"], row["fate"]) for row in rows] == [(f"k{i}", "kept") for i in range(9)]
    assert done.finals.requests[1].passages == tuple(sentence(i) for i in range(9))


def test_prompt_is_filled_before_anything_is_mapped() -> None:
    most = max(n for n in range(1, 30) if not n_packs(passages(n)))
    fits = run(passages(most), lambda request: helping(50))
    assert LENGTH - 60 < prompt_length(fits.finals.requests[0]) <= LENGTH
    mapped = run(passages(most + 1), lambda request: helping(50))
    assert len(mapped.maps.requests) > 1


def test_passage_longer_than_a_prompt_is_cut_for_its_map() -> None:
    done = run(passages(3, words=900), lambda request: helping(50))
    assert done.partial["n_passages"].to_pylist() == [1, 1, 1]
    assert max(done.partial["prompt_tokens"].to_pylist()) <= LENGTH
    sizes = [prompt_length(request) for request in done.maps.requests]
    assert [LENGTH - 50 < size <= LENGTH for size in sizes] == [True] * 3


def test_question_without_room_is_reported_and_costs_only_itself() -> None:
    options = [" ".join([word] * 60) for word in WORDS]
    long = queries({"long": "Which?"}, form="choice", options=options)
    contexts = pa.concat_tables([passages(60, "long"), passages(60)])
    done = run(contexts, lambda request: helping(50), questions=pa.concat_tables([long, ONE]))
    assert done.failures == [
        "question 'long': question and instructions leave no room for passages; "
        "raise prompt_tokens in corpus.toml, [graphrag.answers]"
    ]
    assert set(done.partial["query_id"].to_pylist()) == {"q"}
    assert [request.question for request in done.finals.requests] == ["Who lit the lamp?"]


def test_one_more_report_leaves_most_maps_unchanged() -> None:
    rows, schema = passages(800).to_pylist(), TABLES["contexts"].schema
    grown = [*rows[:399], rows[0] | {"node_id": "new", "text": "New."}, *rows[399:]]
    grown = [row | {"rank": rank} for rank, row in enumerate(grown, start=1)]
    before, after = (
        set(run(pa.Table.from_pylist(own, schema), lambda request: helping(50)).maps.requests)
        for own in (rows, grown)
    )
    assert len(before) > 50
    assert 1 <= len(after - before) < len(before) / 5


def test_answer_depends_on_the_packs_of_its_partial_answers() -> None:
    found = run(passages(60), in_order(*([0] * 7), 80))
    behind = found.behind["node_id"].to_pylist()
    assert sorted(behind) == sorted(found.partial["node_ids"].to_pylist()[-1])
    assert 0 < len(behind) < 60
    few = passages(2)  # they fit into the final prompt: nothing is mapped
    assert run(few, lambda request: helping(1)).behind.equals(few)
