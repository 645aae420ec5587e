"""Every family: index and answer, then follow a change at the cost of the change."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.registry.families import FAMILIES
from tests.checks.indexed import failing
from tests.conftest import CORPUS, House, document_in
from tests.families.small import DOCUMENTS, QUESTION, QUESTIONS, SMALL, home_of
from tests.growing.home import GIVEN
from tests.pipeline.homes import contents, copy_of, emptied_copy_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]

NEW = document_in(6)
Indexed = tuple[str, House]


@pytest.fixture(scope="module", params=[family.name for family in FAMILIES])
def indexed(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Indexed]:
    with home_of(request.param, tmp_path_factory.mktemp(request.param)) as house:
        yield request.param, house


def test_every_method_ranks_reads_and_answers_every_question(indexed: Indexed) -> None:
    family, house = indexed
    methods = SMALL[family].methods
    expected = {(method, query_id) for method in methods for query_id in QUESTIONS}
    for name in ("rankings", "contexts", "summaries"):
        rows = house.table(name).to_pylist()
        assert {(row["method"], row["query_id"]) for row in rows} == expected, name
    assert set(house.table("leaderboard")["method"].to_pylist()) == set(methods)
    failed = {name for name in failing(house) if name.startswith(f"{family}/")}
    assert failed <= SMALL[family].may_fail


def test_question_about_one_document_reads_no_other(indexed: Indexed) -> None:
    _, house = indexed
    rows = [row for row in house.table("contexts").to_pylist() if row["query_id"] == "first"]
    assert {row["document_id"] for row in rows} - {None} == {DOCUMENTS[0]}


@pytest.mark.parametrize("document_id", [None, DOCUMENTS[1]])
def test_asked_question_is_answered_and_explained(
    indexed: Indexed, document_id: str | None
) -> None:
    family, house = indexed
    for method in SMALL[family].methods:
        answer = ask(house.workspace, CORPUS, QUESTION, method, document_id, explain=True)
        assert answer.text
        assert answer.passages or answer.is_refusal
        found = {passage["document_id"] for passage in answer.passages} - {None}
        assert found <= ({document_id} if document_id else set(DOCUMENTS))


def test_change_equals_a_rebuild_and_costs_only_what_is_new(
    indexed: Indexed, tmp_path: Path
) -> None:
    family, original = indexed
    text = SMALL[family].text
    with copy_of(original, tmp_path / "changed") as house:
        models = (house.model, house.embedder, house.scorer)
        house.write_document(NEW, text(7))
        house.write_document(DOCUMENTS[2], f"{text(2)}\n\nWren Tarry wept at Hethering.")
        (house.folder / f"{DOCUMENTS[3]}.txt").unlink()
        n_before = [len(model.sent) for model in models]
        report = house.run()
        assert report.is_complete, report
        n_then = [len(model.sent) for model in models]
        assert house.run().steps == []
        with emptied_copy_of(house, tmp_path / "anew") as anew:
            for name in GIVEN:
                if (given := Path(house.home.warehouse, name)).exists():
                    shutil.copytree(given, Path(anew.home.warehouse, name))
            report = anew.run()
            assert report.is_complete, report
            assert contents(anew) == contents(house)
    for model, before, then in zip(models, n_before, n_then, strict=True):
        first, changed, rebuilt = (
            model.sent[part] for part in (slice(before), slice(before, then), slice(then, None))
        )
        kind = type(model).__name__
        assert not [each for each in changed if each in first], kind
        assert not [each for each in changed if each not in rebuilt], kind
        assert 0 < len(changed) < len(rebuilt) or not rebuilt, kind
