"""The table `[gor]` of `corpus.toml`."""

import re
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest

from gsum_assets.gor.index import token_embedder
from gsum_assets.gor.methods import training_settings
from gsum_assets.gor.settings import EncoderSettings, GorSettings, LossSettings, TrainingSettings
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_section
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder


def test_partial_settings_table_is_valid():
    assert checked_section(GorSettings, "gor", {}) == GorSettings()
    partial = checked_section(GorSettings, "gor", {"training": {"encoder": {"name": "gcn"}}})
    assert partial.training.encoder.name == "gcn"
    assert partial.training.loss == LossSettings()


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"training": {"encoder": {"name": "gpt"}}}, "'training.encoder.name' has value 'gpt'"),
        ({"training": {"epoch": 3}}, "unknown key 'training.epoch' .*; did you mean 'epochs'"),
        ({"training": {"loss": {"contrastive": False, "ranking": False}}}, "encoder 'none'"),
    ],
)
def test_mistakes_are_reported(values, message):
    with pytest.raises(CorpusError, match=message):
        checked_section(GorSettings, "gor", values)


def test_documentation_shows_the_defaults():
    text = (Path(__file__).parents[2] / "docs" / "graph-of-records.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    values = tomllib.loads(shown)
    assert checked_section(GorSettings, "gor", values["gor"]) == GorSettings()


def test_published_variant_keeps_dropout_and_alpha_of_the_corpus():
    chosen = TrainingSettings(encoder=EncoderSettings(dropout=0.1), loss=LossSettings(alpha=0.4))
    published = training_settings("gor-published", chosen)
    assert (published.encoder.direction, published.loss.pairs) == ("to_response", "mean")
    assert (published.encoder.attention_dropout, published.encoder.cosine) == (0.1, True)
    paper = training_settings("gor-paper", chosen)
    assert (paper.encoder.direction, paper.loss.pairs) == ("both", "sum")
    assert (paper.encoder.attention_dropout, paper.encoder.cosine) == (None, False)
    for settings in (published, paper):
        assert (settings.encoder.dropout, settings.loss.alpha) == (0.1, 0.4)
        assert (settings.encoder.residual, settings.encoder.unit_length) == (False, False)


@pytest.mark.parametrize(
    ("part", "changed"),
    [("no-cl", "contrastive"), ("no-rank", "ranking"), ("no-in-batch", "in_batch")],
)
def test_ablations_of_the_published_form_change_one_part_of_it(part, changed):
    published = training_settings("gor-published", TrainingSettings())
    ablated = training_settings(f"gor-published-{part}", TrainingSettings())
    assert ablated.encoder == published.encoder
    assert ablated.loss == published.loss.model_copy(update={changed: False})


def test_bertscore_of_the_target_is_by_the_model_of_the_settings():
    chosen = {"gor.ranking": {"model": "microsoft/deberta-xlarge-mnli", "layer": 40}}
    embedder = token_embedder(SimpleNamespace(settings=chosen.get))
    assert embedder == LocalTokenEmbedder("microsoft/deberta-xlarge-mnli", 40)
    assert token_embedder(SimpleNamespace(settings=lambda _: {})) == LocalTokenEmbedder()


def test_fingerprint_follows_every_setting():
    other = TrainingSettings(loss=LossSettings(alpha=0.5))
    assert other.fingerprint != TrainingSettings().fingerprint == TrainingSettings().fingerprint
