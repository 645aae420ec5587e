"""One answer at a time: what the judge reads, and what its ratings count."""

from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.evaluation.judges.judgements import judge_answers, of_methods
from gsum_assets.evaluation.judges.ratings import SCHEMA, rating_scores
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.arrow import pc
from tests.evaluation.judges import toys
from tests.evaluation.judges.scripted_judges import judging, texts_of, verdict

ANSWERS = {"gor": {"q1": "an answer"}}
PASSAGES = {"gor": {"q1": ["first passage", "second passage"]}}


def judged(model: LanguageModel, references: list[str], **settings) -> Result:
    chosen = JudgesSettings(methods=["gor"], **settings)
    questions = toys.queries("q1", references=references)
    return judge_answers(questions, toys.summaries(ANSWERS), toys.contexts(PASSAGES), model, chosen)


def criterion_of(body: dict) -> str:
    """Return the rating that the instructions request."""
    instructions = body["messages"][0]["content"]
    if "from 1 to 5" in instructions:
        return "consistency" if "consistent" in instructions else "relevance"
    return "lr2" if "partly" in instructions else "lr1"


def by_criterion(found: Result) -> dict[str, tuple]:
    return {
        row["criterion"]: (row["judge"], row["verdict"], row["value"])
        for row in found.rows.to_pylist()
    }


def test_ratings_read_and_count_the_prompt(tmp_path: Path) -> None:
    shown: dict[str, list[str]] = {}

    def noting(body: dict) -> str:
        shown[criterion_of(body)] = texts_of(body)
        return verdict(body, rating=4, said="no")

    with judging(tmp_path, noting) as (model, _):
        found = judged(model, ["ref 1", "ref 2"])
    assert shown == {
        "consistency": ["an answer", "first passage", "second passage"],
        "relevance": ["an answer", "ref 1", "ref 2"],
        "lr1": ["an answer", "ref 1", "ref 2"],
        "lr2": ["an answer", "ref 1", "ref 2"],
    }
    assert by_criterion(found) == {
        "consistency": ("g_eval", "4", 4.0),
        "relevance": ("g_eval", "4", 4.0),
        "lr1": ("llm_rater", "no", 0.0),
        "lr2": ("llm_rater", "no", 0.0),
    }
    assert found.rows.schema == TABLES["judgements"].schema
    assert found.rows["opponent"].null_count == found.rows["first"].null_count == 4
    assert found.failures == []


def test_without_references_and_passages(tmp_path: Path) -> None:
    with judging(tmp_path, verdict) as (model, _):
        found = judge_answers(
            toys.queries("q1"),
            toys.summaries(ANSWERS),
            toys.contexts({}),
            model,
            JudgesSettings(methods=["gor"]),
        )
    assert by_criterion(found) == {"relevance": ("g_eval", "3", 3.0)}
    assert found.failures == [
        "method 'gor' has no contexts of 1 of 1 answers (first: 'q1'): their consistency is not "
        "judged"
    ]


@pytest.mark.parametrize(
    ("strict", "permissive", "lr1", "lr2"),
    [
        ("no", "no", 0, 0),
        ("no", "partly", 0, 1),
        ("no", "yes", 0, 1),
        ("yes", "partly", 1, 1),
        ("yes", "no", 1, 1),
    ],
)
def test_strictly_correct_is_correct(
    strict: str, permissive: str, lr1: float, lr2: float, tmp_path: Path
) -> None:
    said = {"lr1": strict, "lr2": permissive}
    with judging(tmp_path, lambda body: verdict(body, said=said.get(criterion_of(body), ""))) as (
        model,
        _,
    ):
        found = judged(model, ["ref"])
    values = by_criterion(found)
    assert (values["lr1"][2], values["lr2"][2]) == (lr1, lr2)
    assert values["lr2"][1] == ("yes" if (strict, permissive) == ("yes", "no") else permissive)


def test_unparsed_permissive_verdict_stays_unparsed(tmp_path: Path) -> None:
    def says(body: dict) -> str:
        return "?" if criterion_of(body) == "lr2" else verdict(body)

    with judging(tmp_path, says, 0) as (model, _):
        found = judged(model, ["ref"])
    assert by_criterion(found)["lr2"] == ("llm_rater", "unparsed", None)
    (problem,) = found.failures
    assert problem.startswith("llm_rater: 1 of 2 replies hold no verdict; first: judge: ")


def test_passages_over_budget_are_reported(tmp_path: Path) -> None:
    prompts: dict[str, tuple[str, list[str]]] = {}

    def noting(body: dict) -> str:
        prompts[criterion_of(body)] = body["messages"][0]["content"], texts_of(body)
        return verdict(body)

    long = {"gor": {"q1": ["x" * 80, "y" * 80, "z" * 80]}}
    with judging(tmp_path, noting) as (model, _):
        found = judge_answers(
            toys.queries("q1"),
            toys.summaries(ANSWERS),
            toys.contexts(long),
            model,
            JudgesSettings(methods=["gor"], max_passage_characters=100),
        )
    instructions, texts = prompts["consistency"]
    assert texts[1:] == ["x" * 80, "y" * 20]
    assert "3 passages, 2 are left out here or cut short" in instructions.replace("\n", " ")
    shares = {row["criterion"]: row["share_shown"] for row in found.rows.to_pylist()}
    assert shares == {"consistency": pytest.approx(100 / 240), "relevance": None}
    assert found.failures == [
        "consistency: of 1 of 1 answers the judge was shown 42% of the passages on average; raise "
        "[judges] max_passage_characters, which is 100"
    ]


def test_judge_reads_the_contexts_of_the_answer(tmp_path: Path) -> None:
    # refinement shortened the best passage, dropped the second and left the third
    given = toys.contexts({"gae": {"q1": ["as found"]}, "bm25": {"q1": ["found"]}})
    refined = toys.contexts({"gae": {"q1": ["shortened", "", "third"]}})
    i = refined.schema.get_field_index("document_id")  # is never null here
    owner = pa.field("document_id", pa.string(), nullable=False)
    refined = refined.set_column(i, owner, refined["document_id"])
    refined = refined.append_column("fate", pa.array(["edited", "dropped", "edited"]))
    tables = refined.take([2, 1, 0]), given.filter(pc.equal(given["method"], "bm25"))
    read = of_methods(tables, "contexts", ["gae", "bm25"])
    shown: list[list[str]] = []

    def noting(body: dict) -> str:
        shown.append(texts_of(body))
        return verdict(body)

    answers = {"gae": {"q1": "one"}, "bm25": {"q1": "two"}}
    chosen = JudgesSettings(methods=["gae", "bm25"], pairwise=False)
    with judging(tmp_path, noting) as (model, _):
        judge_answers(toys.queries("q1"), toys.summaries(answers), read, model, chosen)
    assert sorted(shown) == [["one"], ["one", "shortened", "third"], ["two"], ["two", "found"]]


def test_only_first_sample_of_named_methods_is_judged(tmp_path: Path) -> None:
    questions = toys.queries("q1")
    written = [toys.summaries({"gor": {"q1": "one"}, "bm25": {"q1": "no"}})]
    written += [toys.summaries({"gor": {"q1": "two"}}, sample=1)]
    given = [toys.contexts({"gor": {"q1": ["p"]}}), toys.contexts({"gor": {"q1": ["r"]}}, sample=1)]
    shown: list[list[str]] = []

    def noting(body: dict) -> str:
        shown.append(texts_of(body))
        return verdict(body)

    with judging(tmp_path, noting) as (model, _):
        chosen = JudgesSettings(methods=["gor"])
        tables = pa.concat_tables(written), pa.concat_tables(given)
        judge_answers(questions, *tables, model, chosen)
    assert sorted(shown) == [["one"], ["one", "p"]]


def test_scores_average_repeats_without_unparsed(tmp_path: Path) -> None:
    ratings = iter([2, 5, 9])  # the last is none

    def says(body: dict) -> str:
        return verdict(body, rating=next(ratings) if criterion_of(body) == "relevance" else 1)

    with judging(tmp_path, says, 0) as (model, _):
        found = judged(model, ["ref"], repeats=3, temperature=1.0)
    scores = rating_scores(found.rows)
    assert scores.schema == SCHEMA
    assert scores.to_pylist() == [
        {"method": "gor", "query_id": "q1", "metric": metric, "value": value}
        for metric, value in (
            ("g_eval_consistency", 1.0),
            ("g_eval_relevance", 3.5),
            ("lr1", 1.0),
            ("lr2", 1.0),
        )
    ]


def test_pairs_have_no_rating() -> None:
    assert rating_scores(toys.pairwise(("q", "a", "win"))).num_rows == 0
    assert rating_scores(TABLES["judgements"].empty()).schema == SCHEMA
