"""`gsum.toml`: defaults, file, environment; and the message for each mistake."""

import re
import tomllib
from importlib.resources import files
from pathlib import Path

import pytest

from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.schema import Settings, SettingsError, load_settings

SHIPPED = files("gsum_resources").joinpath("gsum.toml").read_text()


def loaded(home: Path, text: str = "", **environment: str) -> Settings:
    (home / "gsum.toml").write_text(text)
    return load_settings(home / "gsum.toml", environment)


def test_shipped_file_shows_every_key_with_its_default(tmp_path: Path) -> None:
    assert loaded(tmp_path, SHIPPED) == Settings()
    shown = re.sub(r"^# (?=\w+ = )", "", SHIPPED, flags=re.MULTILINE)
    assert tomllib.loads(shown) == Settings().model_dump(exclude_none=True)


def test_environment_overrides_the_file(tmp_path: Path) -> None:
    text = '[llm]\nbackend = "openai_compatible"\nmodel = "small"\nmax_retries = 3\n'
    settings = loaded(tmp_path, text, GSUM_LLM_MODEL="large", GSUM_LLM_TIMEOUT_S="2.5")
    assert (settings.llm.model, settings.llm.max_retries) == ("large", 3)
    assert settings.llm.timeout_s == 2.5
    assert loaded(tmp_path, GSUM_SCORER_MU="250").scorer.mu == 250.0
    empty = loaded(tmp_path, text, GSUM_LLM_MODEL="")
    assert empty.llm.model == "small"  # an empty variable counts as unset
    keyed = '[llm]\napi_key_env = "MY_KEY"\n'
    assert loaded(tmp_path, keyed, GSUM_LLM_API_KEY_ENV="").llm.api_key_env == ""  # says: no key


def test_home_without_the_file_has_the_defaults(tmp_path: Path) -> None:
    assert load_settings(tmp_path / "gsum.toml", {"GSUM_HOME": "x", "PATH": "y"}) == Settings()


@pytest.mark.parametrize(
    ("text", "environment", "message"),
    [
        ("[llm", {}, "not valid TOML.*correct that line"),
        ("[llm]\ncolour = 1", {}, r"unknown key 'llm\.colour'; known: backend, .*in all"),
        ("[llm]\nmax_retry = 1", {}, r"unknown key 'llm\.max_retry'; did you mean 'max_retries'"),
        ("[lm]\nmodel = 'x'", {}, "unknown key 'lm'; did you mean 'llm'"),
        ("llm = 3", {"GSUM_LLM_MODEL": "x"}, r"'llm' is not a table; write \[llm\]"),
        ("[llm]\nmax_retries = 'many'", {}, "'llm.max_retries' is 'many'.*correct"),
        ("[llm]\nmax_concurrent = 0", {}, "'llm.max_concurrent' is 0.*greater than or equal to 1"),
        ("[llm]\nbase_url = 'ftp://x'", {}, "'llm.base_url' is 'ftp://x'.*http://"),
        (
            "[llm]\nbackend = 'magic'",
            {},
            "'llm.backend' is 'magic'; known: extractive, openai_comp",
        ),
        ("[llm]\nbackend = 'openai'", {}, "is 'openai'; did you mean 'openai_compatible'"),
        ("[llm]\nmodel = 'gpt'", {}, r"\[llm\]: model is 'gpt', but backend is 'extractive'"),
        ("[llm]\nbackend = 'openai_compatible'", {}, r"\[llm\].*needs a model; set model"),
        ("[scorer]\nmodel = 'gpt'", {}, r"\[scorer\]: model is 'gpt', but backend is 'unigram'"),
        (
            "",
            {"GSUM_SCORER_BACKEND": "transformers_local"},
            r"\[scorer\].*needs a model; set model",
        ),
        ("[scorer]\nmu = 0", {}, "'scorer.mu' is 0.*greater than 0"),
        ("[scorer]\nmu = inf", {}, "'scorer.mu' is inf.*finite"),
        ("", {"GSUM_SCORER_MU": "much"}, "variable GSUM_SCORER_MU is 'much'.*number"),
        ("", {"GSUM_LLM_MODL": "x"}, "GSUM_LLM_MODL is unknown; did you mean 'GSUM_LLM_MODEL'"),
        ("", {"GSUM_HOMME": "x"}, "GSUM_HOMME is unknown; did you mean 'GSUM_HOME'"),
        ("", {"GSUM_LLM_MAX_RETRIES": "2x"}, "variable GSUM_LLM_MAX_RETRIES is '2x'.*integer"),
        ("", {"GSUM_EMBEDDING_PRECISION": "int8"}, "GSUM_EMBEDDING_PRECISION is 'int8'.*float"),
        ("[automation]\ntimezone = 'Mars'", {}, "'automation.timezone' is 'Mars'"),
        ("[automation]\nnightly = 'late'", {}, "'automation.nightly' is 'late'.*cron"),
        ("[dagster]\nui_url = 'javascript:alert(1)'", {}, "'dagster.ui_url'.*begins with http"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, text: str, environment: dict, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        loaded(tmp_path, text, **environment)


LLM = """[llm]
backend = "openai_compatible"
model = "small"
base_url = "http://here/v1"
api_key_env = "MINE"
usd_per_million_tokens_in = 3.0
context_tokens = 4096
"""


@pytest.mark.parametrize(
    ("own", "expected"),
    [  # model, server, key, price, context
        ("max_retries = 1", ("small", "http://here/v1", "MINE", 3.0, 4096)),
        ('model = "large"', ("large", "http://here/v1", "MINE", 0.0, 0)),
        (
            'model = "large"\nbase_url = "http://there/v1"',
            ("large", "http://there/v1", "OPENAI_API_KEY", 0.0, 0),
        ),
        ('backend = "extractive"', ("", "https://api.openai.com/v1", "OPENAI_API_KEY", 0.0, 0)),
    ],
)
def test_task_table_inherits_from_llm(tmp_path: Path, own: str, expected: tuple) -> None:
    found = loaded(tmp_path, f"{LLM}[models.reports]\n{own}\n").models.reports
    assert found is not None
    keys = ("model", "base_url", "api_key_env", "usd_per_million_tokens_in", "context_tokens")
    assert tuple(getattr(found, key) for key in keys) == expected


def test_task_table_can_be_set_by_the_environment(tmp_path: Path) -> None:
    models = loaded(tmp_path, LLM, GSUM_MODELS_REPORTS_MODEL="large").models
    assert models.reports is not None
    assert (models.reports.model, models.reports.api_key_env) == ("large", "MINE")
    assert models.answers is None


def test_judge_may_be_a_model_table(tmp_path: Path) -> None:
    judge = loaded(tmp_path, f'{LLM}[models.judge]\nmodel = "strict"\n').judge
    assert (judge.backend, judge.model, judge.api_key_env) == (
        "openai_compatible",
        "strict",
        "MINE",
    )
    with pytest.raises(SettingsError, match=r"\[judge\] and \[models.judge\] are the same"):
        loaded(tmp_path, f'{LLM}[judge]\nmax_retries = 1\n[models.judge]\nmodel = "strict"\n')


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[models.report]\nmodel = 'x'", r"unknown key 'models\.report'; did you mean 'models"),
        (
            "[models.reports]\nmodl = 'x'",
            r"unknown key 'models\.reports\.modl'; did you mean 'model'",
        ),
        ("[models.reports]\nmodel = 'x'", r"\[models\.reports\]: model is 'x', but backend is"),
        ("[models.reports]\nmax_retries = 'x'", r"'models\.reports\.max_retries' is 'x'.*correct"),
        ("[models.reports]\napi_key = 'sk'", r"\[models\.reports\] api_key: a key is never"),
        ("[models.reports]\nreasoning_effort = 'hi'", "reasoning_effort' is 'hi'; .*'high'|known"),
    ],
)
def test_mistakes_in_a_task_table_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        loaded(tmp_path, text)


@pytest.mark.parametrize("key", ["api_key", "api_key_env"])
def test_key_in_the_file_is_refused_and_not_repeated(tmp_path: Path, key: str) -> None:
    with pytest.raises(SettingsError, match="api_key") as caught:
        loaded(tmp_path, f"[llm]\n{key} = 'sk-marked-Secret'\n")
    assert "marked" not in str(caught.value)
    assert caught.value.__cause__ is None


# The end of a message about an unknown name.

METHODS = ("bm25", "dense", "hybrid", "graphrag-c0", "graphrag-c1", "graphrag-c2", "graphrag-local")


@pytest.mark.parametrize(
    ("word", "known", "end"),
    [
        ("desne", METHODS, "; did you mean 'dense'?"),
        ("bm52", METHODS, "; did you mean 'bm25'?"),
        ("DENSE", METHODS, "; did you mean 'dense'?"),
        ("hyb", METHODS, "; did you mean 'hybrid'?"),
        ("graphrag-c", METHODS, "; did you mean 'graphrag-c0', 'graphrag-c1' or 'graphrag-c2'?"),
        ("xyz", ("a", "b"), "; known: a, b"),
        ("xyz", "abcdefghij", "; known: a, b, c, d, e, f, g, h … (10 in all)"),
        ("", ("a", "b"), "; known: a, b"),
        ("xyz", (), ""),
        ("dens", ("sense", "dense"), "; did you mean 'dense' or 'sense'?"),
    ],
)
def test_nearest_names_or_some_of_all_are_suggested(
    word: str, known: tuple[str, ...], end: str
) -> None:
    assert did_you_mean(word, known) == end
