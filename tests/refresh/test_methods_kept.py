"""The methods that a corpus keeps up to date are written into its settings."""

from pathlib import Path

import pytest
import sqlalchemy as sa

from gsum_assets.corpus.settings_file import keep_methods
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.refresh.methods import move_requests
from gsum_assets.registry.families import METHODS
from gsum_resources.state.database import REQUESTS, state_of
from tests.conftest import CORPUS, House


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


def request(house: House, *methods: str) -> None:
    """Note methods as an earlier version of gsum did."""
    with state_of(house.store).writing() as connection:
        rows = [{"corpus": CORPUS, "method": method} for method in methods]
        connection.execute(sa.insert(REQUESTS), rows)


def test_requests_of_an_earlier_version_become_settings_once(house: House) -> None:
    assert move_requests(house.workspace, CORPUS) == ""
    request(house, "tfidf", "bm25", "no-method-any-more")
    assert move_requests(house.workspace, CORPUS).startswith('methods = ["bm25", "tfidf"] in ')
    assert METHODS.wanted(house.home.corpora, CORPUS) == ["bm25", "tfidf"]
    keep_methods(house.folder, ["bm25"])
    assert move_requests(house.workspace, CORPUS) == ""
    assert METHODS.wanted(house.home.corpora, CORPUS) == ["bm25"]


def test_requested_methods_that_are_the_defaults_change_nothing(house: House) -> None:
    request(house, *METHODS.wanted(house.home.corpora, CORPUS))
    assert move_requests(house.workspace, CORPUS) == ""
    assert not (house.folder / "corpus.toml").exists()
