"""The key is sent to the server and shown nowhere."""

from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources.endpoint.key import HIDDEN, Key, read_key
from gsum_resources.settings.schema import LlmSettings, SettingsError

CASES = yaml.safe_load((Path(__file__).parent / "cases.yaml").read_text("utf-8"))

VALUE = "sk-proj-Zq81MarkedKeyWxyz"
KEY = Key("MY_KEY", VALUE)


def settings(variable: str) -> LlmSettings:
    return LlmSettings(backend="openai_compatible", model="m", api_key_env=variable)


def test_key_is_read_from_the_configured_variable() -> None:
    key = read_key(settings("MY_KEY"), "llm", {"MY_KEY": f" {VALUE}\n", "OPENAI_API_KEY": "other"})
    assert key.reveal() == VALUE
    assert read_key(settings(""), "llm", {}).reveal() == ""


@pytest.mark.parametrize(("url", "needs_key"), CASES["servers that need a key"])
def test_local_server_needs_no_key(url: str, needs_key: bool) -> None:
    unset = LlmSettings(backend="openai_compatible", model="m", base_url=url)
    assert read_key(unset, "llm", {"OPENAI_API_KEY": VALUE}).reveal() == VALUE
    named = unset.model_copy(update={"api_key_env": "MY_KEY"})
    for settings_, environment in ((unset, {}), (unset, {"OPENAI_API_KEY": ""}), (named, {})):
        if needs_key or settings_ is named:
            with pytest.raises(SettingsError, match="is not set"):
                read_key(settings_, "llm", environment)
        else:
            assert read_key(settings_, "llm", environment).reveal() == ""


@pytest.mark.parametrize("value", CASES["invalid keys"])
def test_invalid_key_raises_without_showing_it(value: str) -> None:
    with pytest.raises(SettingsError, match="environment variable MY_KEY") as error:
        read_key(settings("MY_KEY"), "embedding", {"MY_KEY": value})
    assert not value.strip() or value not in str(error.value)


@pytest.mark.parametrize("echo", CASES["fragments of a key"])
def test_words_with_a_key_fragment_are_masked_in_errors(echo: str) -> None:
    masked = KEY.hide_in_error(f"Incorrect key provided: {echo} Find yours in the console.")
    assert masked.startswith("Incorrect key provided: ")
    assert HIDDEN in masked
    assert masked.endswith(" Find yours in the console.")
    assert "Wxyz" not in masked
    assert "Marked" not in masked


@given(st.text(), st.text())
def test_no_six_key_characters_remain(before: str, after: str) -> None:
    masked = KEY.hide_in_error(before + VALUE + after)
    assert not any(VALUE[i : i + 6] in masked for i in range(len(VALUE) - 5))


def test_ordinary_errors_are_unchanged() -> None:
    text = "Rate limit reached for gpt-x (limit 3, used 3) ... try again in 20s. ****"
    assert KEY.hide_in_error(text) == text
    assert Key("", "").hide_in_error(text) == text


def test_reply_is_masked_only_at_the_key() -> None:
    assert KEY.hide_in_reply(f"The key is {VALUE}, sk-proj.") == f"The key is {HIDDEN}, sk-proj."
    assert Key("K", "ollama").hide_in_reply("ollama runs models") == "ollama runs models"
