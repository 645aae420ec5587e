"""A chat reply that arrives in pieces, as server-sent events."""

import json
from collections.abc import Callable
from typing import Any

OnWords = Callable[[str | None], None]
"""Callback with each piece of a reply as it arrives, from the thread of the connection.

None: an attempt begins, and what arrived of an earlier one is void."""


class Assembly:
    """Puts the events of a streamed chat completion together to the reply that is not streamed.

    Parameters
    ----------
    on_words : called with the pieces of the text.
    """

    def __init__(self, on_words: OnWords) -> None:
        self._on_words = on_words
        self._message: dict[str, str] = {}
        self._whole: dict[str, Any] = {}
        self._finish = ""

    def add(self, line: str) -> None:
        """Read a line of the body.

        Raises
        ------
        ValueError
            If an event is no JSON object.
        """
        name, _, data = line.partition(":")
        if name != "data" or data.strip() in ("", "[DONE]"):
            return
        event = json.loads(data)
        if not isinstance(event, dict):
            raise ValueError("an event is no JSON object")
        self._whole |= {k: event[k] for k in ("model", "usage", "error") if event.get(k)}
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            for key in ("content", "reasoning_content", "reasoning", "refusal"):
                if isinstance(piece := delta.get(key), str):
                    self._message[key] = self._message.get(key, "") + piece
                    if key == "content" and piece:
                        self._on_words(piece)
            self._finish = choice.get("finish_reason") or self._finish

    def body(self) -> str:
        """Return the whole reply as JSON; without choices if the stream ended before it did."""
        choices = [{"index": 0, "message": self._message, "finish_reason": self._finish}]
        return json.dumps(self._whole | ({"choices": choices} if self._finish else {}))
