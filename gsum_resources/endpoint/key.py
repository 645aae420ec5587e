"""The key of a server: read from the environment, sent to the server only, never shown."""

import ipaddress
import os
import re
from collections.abc import Mapping
from urllib.parse import urlsplit

from gsum_resources.settings.schema import EndpointSettings, SettingsError

HIDDEN = "[key]"
_RUN = 6  # consecutive characters of the key that identify a word as a fragment of it
_SECRET_FROM = 12  # shorter "keys" are words such as `ollama`, which a reply may contain
_WORD = re.compile(r"[^\s\"'`,;:()<>{}\[\]]+")
_PRIVATE_NAMES = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_MASKED = re.compile(r"\*{3,}|\.{3,}|…|•{3,}|x{6,}", re.IGNORECASE)


class Key:
    """A key and the name of its variable; neither `repr` nor `str` shows the value.

    >>> Key("OPENAI_API_KEY", "sk-abcdef")
    Key(OPENAI_API_KEY)
    """

    def __init__(self, variable: str, value: str) -> None:
        self.variable = variable
        self._value = value
        self._runs = {value[i : i + _RUN] for i in range(len(value) - _RUN + 1)}

    def __repr__(self) -> str:
        return f"Key({self.variable})"

    def reveal(self) -> str:
        """Return the value, for the client only."""
        return self._value

    def hide_in_reply(self, text: str) -> str:
        """Return `text` without the key, in case a server repeats it in a reply."""
        if len(self._value) >= _SECRET_FROM and self._value in text:
            return text.replace(self._value, HIDDEN)
        return text

    def hide_in_error(self, text: str) -> str:
        """Return `text` without the key and words that show a fragment, such as `sk-ab***wxyz`."""
        if not self._value:
            return text
        text = text.replace(self._value, HIDDEN)
        return _WORD.sub(lambda word: HIDDEN if self._reveals(word.group()) else word.group(), text)

    def _reveals(self, word: str) -> bool:
        if any(word[i : i + _RUN] in self._runs for i in range(len(word) - _RUN + 1)):
            return True
        start, end = self._value[:3], self._value[-3:]
        return bool(_MASKED.search(word)) and (start in word or end in word)


def is_keyless(settings: EndpointSettings, environment: Mapping[str, str] = os.environ) -> bool:
    """Return whether no key is sent: the server is in a private network, and none is configured."""
    variable = settings.api_key_env
    is_default = variable == type(settings).model_fields["api_key_env"].default
    if not is_default or environment.get(variable, "").strip():
        return False
    host = (urlsplit(settings.base_url).hostname or "").rstrip(".")
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host != "" and ("." not in host or host.endswith(_PRIVATE_NAMES))
    return address.is_private or address.is_loopback or address.is_link_local


def read_key(
    settings: EndpointSettings, table: str, environment: Mapping[str, str] = os.environ
) -> Key:
    """Return the key that settings name, empty if none is needed; or raise `SettingsError`."""
    variable = settings.api_key_env
    if not variable or is_keyless(settings, environment):
        return Key("", "")
    value = environment.get(variable, "").strip()
    if not value:
        raise SettingsError(
            f"environment variable {variable} is not set, and {settings.base_url} needs a key; put "
            f"the key there, or let api_key_env in [{table}] of gsum.toml name the variable that "
            "holds it ('' if the server requires none)"
        )
    if not (value.isascii() and value.isprintable()) or " " in value:
        raise SettingsError(
            f"environment variable {variable} holds blanks or characters that no key contains; "
            "put only the key there"
        )
    return Key(variable, value)
