"""Names of methods: one place looks them up, with one message for unknown ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from gsum_assets.corpus.methods import Methods
from gsum_assets.evaluation.judges.judgements import judging
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_assets.registry.families import FAMILIES, METHODS

CORPUS = "tales"
LETTERS = Methods(
    [
        Family("letters", ["a", "b", "b-halved"], (), studies=["b-halved"], default=["b"]),
        Family("gor", ["gor", "x"], ()),
    ],
    ["x"],
)


class Sections:
    """Sections of a `corpus.toml` that judges some methods."""

    def __init__(self, *judged: str) -> None:
        self._judged = judged

    def section(self, corpus: str, name: str) -> dict:
        return {"methods": list(self._judged)}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / CORPUS).mkdir()
    (tmp_path / CORPUS / "a.txt").write_text("A boat met a lamp.")
    return tmp_path


@pytest.mark.parametrize(
    ("names", "methods"),
    [
        (["letters"], ["a", "b"]),
        (["gor"], ["gor"]),  # the method, not its family
        (["x", "letters"], ["x", "a", "b"]),
        (["all"], ["a", "b", "gor", "x"]),
        (["b-halved"], ["b-halved"]),  # a study's, by name alone
        (["default"], ["x"]),  # without questions
        ([], []),
    ],
)
def test_names_stand_for_methods(root: Path, names: list[str], methods: list[str]) -> None:
    assert LETTERS.wanted(root, CORPUS, names) == methods


def test_default_of_a_corpus_with_questions_or_methods_of_its_own(root: Path) -> None:
    (root / CORPUS / "queries.jsonl").write_text('{"text": "Who?"}')
    assert LETTERS.wanted(root, CORPUS) == LETTERS.default == ["b"]
    (root / CORPUS / "corpus.toml").write_text('methods = ["letters"]')
    assert LETTERS.wanted(root, CORPUS) == ["a", "b"]


def test_every_family_can_be_named(root: Path) -> None:
    for family in FAMILIES:
        own = [family.name] if family.name in family.methods else family.listed
        assert METHODS.wanted(root, CORPUS, [family.name]) == own
        assert all(METHODS.family_of(method) is family for method in family.methods)


def _judge(*methods: str) -> None:
    step = judging(FAMILIES)
    step.make(Inputs({SETTINGS: Sections(*methods)}, CORPUS))


@pytest.mark.parametrize(
    ("look_up", "where"),
    [
        (lambda root: METHODS.wanted(root, CORPUS, ["bm52"]), f"corpus '{CORPUS}': "),
        (lambda root: METHODS.family_of("bm52"), ""),
        (lambda root: _judge("bm25", "bm52"), "[judges] methods: "),
    ],
    ids=["run", "ask", "judges"],
)
def test_unknown_method_has_one_message(
    root: Path, look_up: Callable[[Path], object], where: str
) -> None:
    with pytest.raises(CorpusError) as raised:
        look_up(root)
    assert str(raised.value) == f"{where}unknown method 'bm52'; did you mean 'bm25'?"


def test_suggestions_include_families_where_they_are_allowed(root: Path) -> None:
    with pytest.raises(CorpusError, match="unknown method 'retrieva'; did you mean 'retrieval'"):
        METHODS.wanted(root, CORPUS, ["retrieva"])
    with pytest.raises(CorpusError, match="did you mean 'default'"):
        METHODS.wanted(root, CORPUS, ["defaul"])
    with pytest.raises(CorpusError, match="'retrieval' is a family of methods; choose one of ran"):
        METHODS.family_of("retrieval")
