"""The method of a question that names none."""

from collections.abc import Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from gsum_assets.answering import methods
from gsum_assets.retrieval.answerability import PACKAGED


def chosen(
    monkeypatch: pytest.MonkeyPatch,
    ready: Mapping[str, Sequence[str]],
    in_document: bool = False,
    embedder: str = PACKAGED,
) -> str:
    monkeypatch.setattr(methods, "is_ready", lambda _, corpus, name: name in ready[corpus])
    models = SimpleNamespace(identity=lambda name: f"local/{embedder}")
    workspace: Any = SimpleNamespace(models=models)
    return methods.chosen_method(workspace, list(ready), in_document)


ALL = ("bm25", "hybrid", "evidence", "passage_walk")


@pytest.mark.parametrize(
    ("ready", "in_document", "embedder", "expected"),
    [
        ({"a": ALL}, False, PACKAGED, "passage_walk"),
        ({"a": ALL}, True, PACKAGED, "evidence"),
        ({"a": ALL}, True, "another", "passage_walk"),
        ({"a": ("evidence", "hybrid")}, False, PACKAGED, "evidence"),
        ({"a": ("bm25", "hybrid")}, True, PACKAGED, "hybrid"),
        ({"a": ("bm25", "gor")}, False, PACKAGED, "bm25"),
        ({"a": ()}, False, PACKAGED, "hybrid"),
        ({"a": ALL, "b": ("hybrid",)}, False, PACKAGED, "hybrid"),
        ({"a": ALL, "b": ("bm25",)}, True, PACKAGED, "bm25"),
    ],
)
def test_the_first_preferred_method_of_all_corpora_is_chosen(
    monkeypatch: pytest.MonkeyPatch,
    ready: Mapping[str, Sequence[str]],
    in_document: bool,
    embedder: str,
    expected: str,
) -> None:
    assert chosen(monkeypatch, ready, in_document, embedder) == expected
