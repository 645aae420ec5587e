"""Which methods run in which home, with which embedder."""

import tomllib
from pathlib import Path

import pytest

from gsum_assets.pipeline.corpus_settings import CorpusError, load_settings
from gsum_assets.reproduce import preset as presets
from gsum_assets.reproduce.homes import parts_of, write
from gsum_resources.settings.home import Home
from tests.reproduce.official import WRITE

PRESET = presets.load("gor-qmsum")


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Home:
    monkeypatch.delenv("GSUM_EMBEDDING_MODEL", raising=False)
    return Home(tmp_path, str(tmp_path / "warehouse"))


def test_without_embedders_those_of_the_home_embed_and_the_others_are_named(home: Home) -> None:
    parts, notes = parts_of(PRESET, "gor-qmsum", home, {}, ())
    (part,) = parts
    assert part.home.root == home.root / "reproduce" / "gor-qmsum"
    assert part.rows["dense"] == ["dense@sbert"]  # the packaged embedder is SBERT
    assert "rrf" not in part.rows
    assert [note.partition(":")[0] for note in notes] == [
        "dense@contriever",
        "dense@dpr",
        "dense@dragon",
        "rrf@dpr",
        "embedder of all other methods",
    ]


def test_the_paper_s_embedder_embeds_and_each_other_one_has_a_home(home: Home) -> None:
    models = {"contriever": "/c", "dpr": "/d"}
    parts, notes = parts_of(PRESET, "gor-qmsum", home, models, ())
    of = {part.corpus: part for part in parts}
    assert {name: part.embedder for name, part in of.items()} == {
        "gor-qmsum": "/c",
        "gor-qmsum-dpr": "/d",
        "gor-qmsum-sbert": "packaged",
    }
    assert of["gor-qmsum"].rows["dense"] == ["dense@contriever"]
    assert dict(of["gor-qmsum-dpr"].rows) == {"dense": ["dense@dpr"], "rrf": ["rrf@dpr"]}
    assert [note.partition(":")[0] for note in notes] == ["dense@dragon"]


def test_settings_are_those_of_the_home_with_the_preset_over_them(
    home: Home, tmp_path: Path
) -> None:
    home.settings_file.write_text('[llm]\nmax_repairs = 5\n[state]\nurl = "sqlite:///x"\n')
    WRITE["qmsum"](tmp_path / "official")
    parts, _ = parts_of(PRESET, "gor-qmsum", home, {"contriever": "/c"}, ["bm25", "gor-published"])
    report = write(parts, PRESET, tmp_path / "official", home)
    assert (report.n_documents, report.n_queries) == (4, 4)
    (part,) = parts
    assert tomllib.loads(part.home.settings_file.read_text()) == {
        "llm": {"max_repairs": 5},
        "embedding": {"backend": "local", "model": "/c"},
    }
    settings = load_settings(part.home.corpora / part.corpus)
    assert (settings.answer.max_words, settings.answer.splits) == (100, ["test", "dev"])
    assert settings.gor["training"]["alpha"] == 0.9
    assert settings.kind == "meeting"


def test_a_variable_that_would_replace_the_embedder_is_named(
    home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GSUM_EMBEDDING_MODEL", "/other")
    WRITE["qmsum"](tmp_path / "official")
    parts, _ = parts_of(PRESET, "gor-qmsum", home, {"contriever": "/c"}, ["bm25"])
    with pytest.raises(CorpusError, match="is /c, but a variable sets it to /other; unset GSUM_"):
        write(parts, PRESET, tmp_path / "official", home)


def test_nothing_to_run_is_an_error(home: Home, tmp_path: Path) -> None:
    parts, _ = parts_of(PRESET, "gor-qmsum", home, {}, ["dense@dpr"])
    WRITE["qmsum"](tmp_path / "official")
    with pytest.raises(CorpusError, match="no method is left to run"):
        write(parts, PRESET, tmp_path / "official", home)
