"""Judges that decide by a rule, as replies of the scripted server, and a client for them."""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from tests.servers.clients import client_of, settings_for
from tests.servers.replies import wanted_schema
from tests.servers.scripted import ScriptedServer, scripted_server

_TEXT = re.compile(r"^\[\d+\]\n<(\w+)-([0-9a-f]{8})>\n(.*?)\n</\1-\2>$", re.DOTALL | re.MULTILINE)
WINNERS = ("neither", "answer 1", "answer 2")
Winner = Callable[[Sequence[str]], int]  # position of the better of the texts shown; 0: neither


def texts_of(body: dict) -> list[str]:
    """Return the texts between the tags of a request."""
    return [text for _, _, text in _TEXT.findall(body["messages"][1]["content"])]


def mark_in(body: dict) -> str:
    return _TEXT.findall(body["messages"][1]["content"])[0][1]


def verdict(body: dict, winner: int = 0, rating: int = 3, said: str = "yes", mark: str = "") -> str:
    """A valid verdict of the requested form."""
    fields = (wanted_schema(body) or {})["properties"]
    given = {"mark": mark or mark_in(body), "reason": "so", "rating": rating, "verdict": said}
    preference = {"reason": "so", "winner": WINNERS[winner]}
    return json.dumps({name: given.get(name, preference) for name in fields})


def judge(winner: Winner) -> Callable[[dict], str]:
    """Prefers by a rule over the texts."""
    return lambda body: verdict(body, winner(texts_of(body)))


def always_first(texts: Sequence[str]) -> int:
    return 1


def never(texts: Sequence[str]) -> int:
    return 0


def better_answer(texts: Sequence[str]) -> int:
    """The answer that holds 'good'; neither where both or none does."""
    first, second = ("good" in text for text in texts)
    return 0 if first == second else 1 if first else 2


@contextmanager
def judging(
    tmp_path: Path, says: Callable[[dict], str] | None = None, max_repairs: int = 2, **script: Any
) -> Iterator[tuple[OpenAICompatibleModel, ScriptedServer]]:
    """A judge behind a real socket."""
    with scripted_server(tmp_path / "requests.jsonl", says, **script) as server:
        fields = {"model": "judge", "max_repairs": max_repairs, "max_retries": 1}
        with client_of(settings_for(server.base_url, **fields)) as model:
            yield model, server
