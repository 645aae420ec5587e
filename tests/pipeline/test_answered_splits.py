"""`[answer] splits`: question steps see the questions of these splits, index steps all."""

from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pytest

from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_resources.store.lazy import Lazy

QUERIES = pa.table({"query_id": ["a", "b", "c"], "split": ["train", "dev", "test"]})


@dataclass
class Sections:
    splits: list[str]

    def section(self, corpus: str, name: str) -> Any:
        assert (corpus, name) == ("tales", "answer.splits")
        return self.splits


@pytest.mark.parametrize(
    ("splits", "answered"), [([], "abc"), (["test"], "c"), (["train", "dev"], "ab")]
)
def test_only_questions_of_the_named_splits_are_answered(splits: list[str], answered: str) -> None:
    inputs = Inputs({SETTINGS: Sections(splits), "queries": Lazy.of(QUERIES)}, "tales")
    family = Family("toy", ["toy"], question=())
    assert "".join(family.questions(inputs).table("queries")["query_id"].to_pylist()) == answered


def test_of_these_a_method_answers_those_that_it_supports() -> None:
    inputs = Inputs({SETTINGS: Sections(["test", "dev"]), "queries": Lazy.of(QUERIES)}, "tales")
    family = Family("toy", ["toy"], (), supported_questions=lambda _, queries: queries.slice(1))
    assert family.questions(inputs).table("queries")["query_id"].to_pylist() == ["c"]
