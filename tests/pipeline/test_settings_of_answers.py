"""Settings of answers: number of passages, splits that are answered, methods that are kept."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.corpus.settings_file import keep_methods, write_k
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.step import SETTINGS, Inputs
from gsum_resources.store.lazy import Lazy

pytestmark = pytest.mark.usefixtures("only_tables")


def test_a_number_is_written(tmp_path: Path) -> None:
    assert write_k(tmp_path, 4) == "[retrieval] k = 4"
    assert (tmp_path / "corpus.toml").read_text() == "[retrieval]\nk = 4\n"


@pytest.mark.parametrize("value", ["0", "a", "1,3", "-2"])
def test_non_numbers_are_refused(value: str) -> None:
    done = CliRunner().invoke(main, ["run", "boats", "--k", value])
    assert done.exit_code == 2
    assert "'--k'" in done.output


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


def test_writing_keeps_comments_and_refuses_a_broken_file(tmp_path: Path) -> None:
    file = tmp_path / "corpus.toml"
    assert keep_methods(tmp_path, ["bm25", "gor", "bm25"]) == f'methods = ["bm25", "gor"] in {file}'
    file.write_text('# mine\ntitle = "Boats"  # of wood\n\n[retrieval]\nk = 3\n')
    keep_methods(tmp_path, ["gor"])
    text = file.read_text()
    assert text.startswith('# mine\ntitle = "Boats"  # of wood\n')
    assert text.index('methods = ["gor"]') < text.index("[retrieval]\nk = 3\n")
    file.write_text("colour = 'red'")
    with pytest.raises(CorpusError, match="unknown key"):
        keep_methods(tmp_path, ["gor"])
    assert file.read_text() == "colour = 'red'"
