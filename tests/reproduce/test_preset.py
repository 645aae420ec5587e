"""Presets: every shipped one is valid, and mistakes in a changed one are named."""

from pathlib import Path

import pytest

from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section
from gsum_assets.registry.families import SETTINGS_TABLES
from gsum_assets.reproduce import preset as presets
from gsum_resources.settings.schema import Settings

BASE = """
title = "T"
paper = "P"
benchmark = "qmsum"
headline = "bm25"
[[tables]]
name = "table 1"
metrics = ["rouge1", "rouge2"]
[tables.rows]
"BM25" = ["bm25", 32.1, 6.1]
"Ours" = ["dense"]
"Long" = ["", 33.5, ""]
"""


@pytest.mark.parametrize("name", presets.names())
def test_shipped_preset_names_methods_and_settings_that_exist(name: str) -> None:
    preset = presets.load(name)
    for table, values in preset.corpus.items():
        if table in SETTINGS_TABLES:
            checked_section(SETTINGS_TABLES[table], table, values)
    Settings.model_validate(preset.home)
    judged = set(preset.corpus.get("judges", {}).get("methods", ()))
    assert judged <= {method.partition("@")[0] for method in preset.methods}
    assert preset.departures


def test_published_figures_may_be_missing(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text(BASE)
    preset = presets.load("gor-qmsum", file)
    (table,) = preset.tables
    assert [list(table.published(row)) for row in table.rows] == [
        [32.1, 6.1],
        [None, None],
        [33.5, None],
    ]
    assert preset.methods == ["bm25", "dense"]


def test_a_changed_preset_needs_only_what_it_changes(tmp_path: Path) -> None:
    file = tmp_path / "own.toml"
    file.write_text('base = "gor-qmsum"\n[sample]\nn = { train = 3 }\n')
    preset = presets.load("gor-qmsum", file)
    assert preset.sample.n == {"train": 3, "test": 30}
    assert preset.tables == presets.load("gor-qmsum").tables
    assert preset.corpus["gor"]["simulation"] == {"n_queries": 30, "k": 6}  # of the base's base


@pytest.mark.parametrize(
    ("old", "new", "fragment"),
    [
        ('"qmsum"', '"qmsun"', "no benchmark 'qmsun'; did you mean 'qmsum'?"),
        ('= ["bm25",', '= ["bm52",', "unknown method 'bm52'; did you mean 'bm25'?"),
        ('["dense"]', '["dense@dpr"]', "'dense@dpr': no embedder 'dpr'"),
        ("32.1, ", "", "row 'BM25' of table 1 has 1 figures; give a method and 2 figures"),
        ('title = "T"', "titel = 1", "'title'"),
        ('headline = "bm25"', 'headline = "tfidf"', "'tfidf' is the method of no row"),
        ('paper = "P"', 'paper = "P"\n[corpus.chunkin]\nk = 1', "unknown key 'chunkin'"),
        ('paper = "P"', "paper = P", "correct the file"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, old: str, new: str, fragment: str) -> None:
    file = tmp_path / "own.toml"
    text = BASE.replace(old, new)
    if "[corpus" in new:  # a table goes behind the keys
        text = BASE + new.partition("\n")[2]
    file.write_text(text)
    with pytest.raises(CorpusError, match=r"own\.toml|unknown method") as error:
        presets.load("gor-qmsum", file)
    assert fragment in str(error.value)
