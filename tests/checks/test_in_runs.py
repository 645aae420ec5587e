"""Checks as a step evaluates them in its run: for the corpus of the run, never in its way."""

from collections.abc import Iterator
from pathlib import Path

import dagster as dg
import pytest

from gsum_assets.pipeline.result import Check, CheckInputs, Finding
from gsum_assets.registry import every_table as registry
from gsum_assets.registry.every_table import CHECKS
from tests.checks.indexed import evaluations, failing
from tests.conftest import CORPUS, House, document_in
from tests.models import FirstWords
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of, house_at

pytestmark = pytest.mark.slow

METHODS = ("bm25", "dense")
ASKED_ABOUT = (document_in(0), document_in(3))


def furnish(house: House) -> None:
    """Two documents in different buckets, and a question for each."""
    for document_id in ASKED_ABOUT:
        house.write_document(document_id)
    house.write_queries(
        [
            {"query_id": f"q-{d}", "text": f"Who met {d}?", "document_id": d, "references": ["No"]}
            for d in ASKED_ABOUT
        ]
    )
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("good")) as house:
        furnish(house)
        assert house.run(list(METHODS)).errors == []
        yield house


@pytest.fixture
def house(good: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(good, tmp_path) as copy:
        yield copy


def last_of(house: House) -> dict[str, dg.AssetCheckEvaluation]:
    """The last evaluation of each check."""
    with house.instance() as instance:
        found = evaluations(instance)
    return {f"{e.asset_key.to_user_string()}:{e.check_name}": e for e in found}


def failed(house: House) -> set[str]:
    return {name for name, evaluation in last_of(house).items() if not evaluation.passed}


def test_every_asset_is_checked_in_its_run_and_none_ends_it(good: House) -> None:
    last = last_of(good)
    names = ("every_question_answered", "requests_answered")
    assert {f"retrieval/summaries:{name}" for name in names} <= {*last}
    assert failed(good) == failing(good) == set()
    assert {evaluation.partition for evaluation in last.values()} == {CORPUS}
    description = "bm25: 1 partition; dense: 1 partition"
    assert last["retrieval/summaries:requests_answered"].description == description
    graph = good.pipeline().definitions.resolve_asset_graph()
    assert not any(graph.get(key).blocking for key in graph.asset_check_keys)


def test_rejected_document_is_reported_and_others_are_processed(house: House) -> None:
    (house.folder / "torn.txt").write_bytes(bytes(range(256)) + b" | <b>")
    assert house.run().errors == []
    assert failed(house) == {"rejected_documents:none_rejected"}
    evaluation = last_of(house)["rejected_documents:none_rejected"]
    assert evaluation.severity == dg.AssetCheckSeverity.WARN
    assert "1 rejected document (first: torn.txt: " in (evaluation.description or "")
    assert "| torn.txt | 0 | " in str(evaluation.metadata["first"].value)


def test_failed_request_is_reported_until_it_succeeds(house: House) -> None:
    refused, answered = ASKED_ABOUT
    house.model = FirstWords("picky", refuses=refused)
    house.run()
    assert house.table("leaderboard").num_rows
    assert set(house.table("summaries")["query_id"].to_pylist()) == {f"q-{answered}"}
    assert failed(house) == {
        "retrieval/summaries:requests_answered",
        "retrieval/answer_sources:requests_answered",
        "retrieval/summaries:every_question_answered",
    }
    last = last_of(house)
    requests = last["retrieval/summaries:requests_answered"]
    assert requests.severity == dg.AssetCheckSeverity.WARN
    for method in METHODS:
        expected = f"{method}: 1 request got no valid reply, so that rows are missing"
        assert expected in (requests.description or "")
    questions = last["retrieval/summaries:every_question_answered"]
    length = f"{len(f'Who met {refused}?')} characters"
    assert f"| bm25 | q-{refused} | {length} |" in str(questions.metadata["first"].value)
    house.model = FirstWords("patient")
    assert house.run().errors == []
    assert failed(house) == set()


def break_down(part: CheckInputs) -> Finding:
    raise RuntimeError(f"no luck with {part.corpus}")


def test_broken_check_fails_without_failing_the_run(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    added = {**CHECKS, "chunks": [Check("lucky", "It has luck.", break_down, warns=True)]}
    monkeypatch.setattr(registry, "CHECKS", added)
    house.write_document(ASKED_ABOUT[0], "A lighthouse saw the boat. " * 40)
    assert house.run().errors == []
    assert failed(house) == {"chunks:lucky"}
    lucky = last_of(house)["chunks:lucky"]
    assert lucky.severity == dg.AssetCheckSeverity.ERROR
    text = f"could not be checked: RuntimeError: no luck with {CORPUS}"
    assert lucky.description == text
