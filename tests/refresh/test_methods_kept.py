"""The methods that a corpus keeps up to date are written into its settings."""

from pathlib import Path

import pytest

from gsum_assets.corpus.settings_file import keep_methods
from gsum_assets.pipeline.corpus_settings import CorpusError


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
