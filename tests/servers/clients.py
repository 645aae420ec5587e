"""Clients of the servers of tests, with short pauses, closed in the end."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from gsum_resources.endpoint import Endpoint
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from gsum_resources.settings.schema import LlmSettings


def settings_for(base_url: str, kind: type = LlmSettings, **fields: Any) -> Any:
    """Return settings of the model "m" at a server that wants no key."""
    given = {"backend": "openai_compatible", "model": "m", "api_key_env": "", "base_url": base_url}
    return kind.model_validate(given | fields)


@contextmanager
def client_of(settings: Any, kind: type = OpenAICompatibleModel, pause_s: float = 0.02) -> Iterator:
    """Yield a client of a server, of a language model by default."""
    endpoint = Endpoint(settings, backoff_s=pause_s)
    try:
        yield kind(settings, endpoint)
    finally:
        endpoint.close()
