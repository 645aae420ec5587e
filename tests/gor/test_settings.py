"""The table `[gor]` of `corpus.toml`, and the forms of the methods."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

from gsum_assets.gor.family import token_embedder
from gsum_assets.gor.methods import FORMS, Training, training_of
from gsum_assets.gor.settings import GorSettings, TrainingSettings
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder


def test_documentation_shows_the_defaults():
    text = (Path(__file__).parents[2] / "docs" / "graph-of-records.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    values = tomllib.loads(shown)
    assert checked_section(GorSettings, "gor", values["gor"]) == GorSettings()
    assert training_of("gor", TrainingSettings()) == Training()


def test_published_forms_have_dropout_and_alpha_of_the_corpus():
    settings = TrainingSettings(dropout=0.1, alpha=0.4, seed=3)
    published, paper = (training_of(name, settings) for name in ("gor-published", "gor-paper"))
    assert (published.encoder.direction, published.loss.pairs) == ("to_response", "mean")
    assert (published.encoder.attention_dropout, published.encoder.cosine) == (0.1, True)
    assert (paper.encoder.direction, paper.loss.pairs) == ("both", "sum")
    assert (paper.encoder.attention_dropout, paper.encoder.cosine) == (None, False)
    for form in (published, paper):
        assert (form.encoder.dropout, form.loss.alpha, form.seed) == (0.1, 0.4, 3)
        assert (form.encoder.residual, form.encoder.unit_length) == (False, False)


def test_ablations_change_one_part_of_the_loss():
    for form in ("gor", "gor-published"):
        for part, changed in (("cl", "contrastive"), ("rank", "ranking"), ("in-batch", "in_batch")):
            loss = replace(FORMS[form].loss, **{changed: False})
            assert FORMS[f"{form}-no-{part}"] == replace(FORMS[form], loss=loss)


def test_bertscore_of_the_target_is_by_the_model_of_the_settings():
    chosen = {"gor.ranking": {"model": "microsoft/deberta-xlarge-mnli", "layer": 40}}
    embedder = token_embedder(SimpleNamespace(settings=chosen.get))
    assert embedder == LocalTokenEmbedder("microsoft/deberta-xlarge-mnli", 40)
