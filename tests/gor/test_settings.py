"""The table `[gor]` of `corpus.toml`."""

import re
import tomllib
from pathlib import Path

import pytest

from gsum_assets.corpus.settings import CorpusError, checked_section
from gsum_assets.gor.settings import GorSettings, LossSettings, TrainingSettings


def test_a_table_may_say_as_little_as_it_likes():
    assert checked_section(GorSettings, "gor", {}) == GorSettings()
    told = checked_section(GorSettings, "gor", {"training": {"encoder": {"name": "gcn"}}})
    assert told.training.encoder.name == "gcn"
    assert told.training.loss == LossSettings()


@pytest.mark.parametrize(
    ("values", "told"),
    [
        ({"training": {"encoder": {"name": "gpt"}}}, "'training.encoder.name' has value 'gpt'"),
        ({"training": {"epoch": 3}}, "unknown key 'training.epoch' .* known keys here: batch_gr"),
        ({"training": {"loss": {"contrastive": False, "ranking": False}}}, "encoder 'none'"),
    ],
)
def test_a_mistake_is_told(values, told):
    with pytest.raises(CorpusError, match=told):
        checked_section(GorSettings, "gor", values)


def test_the_documentation_shows_the_defaults():
    text = (Path(__file__).parents[2] / "docs" / "graph-of-records.md").read_text()
    (shown,) = re.findall(r"```toml\n(.*?)```", text, re.DOTALL)
    values = tomllib.loads(shown)
    assert checked_section(GorSettings, "gor", values["gor"]) == GorSettings()


def test_published_settings():
    published = TrainingSettings.published("squality")
    assert (published.encoder.dropout, published.loss.alpha) == (0.1, 0.4)
    assert not published.encoder.residual
    assert not published.encoder.unit_length
    with pytest.raises(ValueError, match="no published settings for 'tales'"):
        TrainingSettings.published("tales")


def test_the_fingerprint_follows_every_setting():
    other = TrainingSettings(loss=LossSettings(alpha=0.5))
    assert other.fingerprint != TrainingSettings().fingerprint == TrainingSettings().fingerprint
