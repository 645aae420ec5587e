"""A list of numbers of passages: curves, with unchanged answers."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner

from gsum_assets.cli.main import main
from gsum_assets.corpus.settings_file import write_k
from gsum_assets.retrieval.settings import RetrievalSettings
from tests.conftest import House
from tests.pipeline.homes import contents, copy_of

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


@pytest.fixture
def house(indexed_by_bm25: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(indexed_by_bm25, tmp_path) as copy:
        yield copy


def test_list_of_k_gives_a_curve_and_leaves_the_answers(house: House) -> None:
    before = contents(house)
    write_k(house.folder, [1, 2, 6])
    assert house.run().errors == []
    scores, curve = house.table("scores").to_pylist(), house.table("curves").to_pylist()
    tokens = {
        row["k"]: row["mean"]
        for row in curve
        if (row["metric"], row["split"]) == ("context_tokens", "all")
    }
    assert sorted(tokens) == [1, 2, 6]
    assert tokens[1] < tokens[2] <= tokens[6]
    main_values = {(r["query_id"], r["metric"]): r["value"] for r in scores if r["k"] is None}
    of_six = {(r["query_id"], r["metric"]): r["value"] for r in scores if r["k"] == 6}
    assert main_values == of_six
    after = contents(house)
    kept = ("contexts", "summaries", "leaderboard", "comparisons")
    assert {name: after[name] for name in kept} == {name: before[name] for name in kept}
    assert house.run().steps == []
    write_k(house.folder, [6])  # no list any more: no curve
    assert house.run().errors == []
    assert house.table("curves").num_rows == 0
    assert contents(house) == before


def test_answers_use_six_passages_or_the_first_number() -> None:
    assert RetrievalSettings().main_k == 6
    assert RetrievalSettings().sweep == []
    assert RetrievalSettings(k=[20, 1, 6, 6]).main_k == 6
    assert RetrievalSettings(k=[20, 1, 6, 6]).sweep == [1, 6, 20]
    assert RetrievalSettings(k=[10, 3]).main_k == 3
    with pytest.raises(ValueError, match="at least 1"):
        RetrievalSettings(k=[])
    with pytest.raises(ValueError, match="at least 1"):
        RetrievalSettings(k=0)


def test_a_number_or_a_list_is_written(tmp_path: Path) -> None:
    assert write_k(tmp_path, [1, 3]) == "[retrieval] k = [1, 3]"
    assert write_k(tmp_path, [4]) == "[retrieval] k = 4"
    assert (tmp_path / "corpus.toml").read_text() == "[retrieval]\nk = 4\n"


@pytest.mark.parametrize("value", ["0", "a", "1,,3", "1,-2"])
def test_non_numbers_are_refused(value: str) -> None:
    done = CliRunner().invoke(main, ["run", "boats", "--k", value])
    assert done.exit_code == 2
    assert "no list of numbers" in done.output
