"""Requests that chat front ends send beside questions: titles, tags, follow-ups of a conversation.

Open WebUI and others ask the model of a chat, in a user's message, to describe it as JSON. The
documents do not answer that; the reply is what follows from the request without a model.
"""

import json
import re

_TASK = re.compile(r"\s*### Task:\s")
_FORMAT = re.compile(r'\{\s*"(?P<key>\w+)":\s*(?P<begins>[\["])')
_HISTORY = re.compile(r"<chat_history>(.*?)</chat_history>", re.DOTALL)
_FIRST = re.compile(r"^\s*USER: (.*?)(?=^\s*ASSISTANT: |\Z)", re.DOTALL | re.MULTILINE)
_LONGEST = 60  # characters of a title


def task_reply(text: str, corpus: str) -> str | None:
    """Return the JSON that a front end requests about a conversation; None: it is a question.

    A title is the first question, tags are the corpus. Of follow-ups, searches and completions
    there are none.
    """
    history, form = _HISTORY.search(text), _FORMAT.search(text)
    if not _TASK.match(text) or not history or not form:
        return None
    if form["begins"] == "[":
        return json.dumps({form["key"]: [corpus] if form["key"] == "tags" else []})
    return json.dumps({form["key"]: _title(history[1]) if form["key"] == "title" else ""})


def _title(history: str) -> str:
    """Return the first question of a conversation, at most so long."""
    first = _FIRST.search(history)
    question = " ".join(first[1].split()) if first else ""
    if len(question) <= _LONGEST:
        return question
    return question[:_LONGEST].rsplit(" ", 1)[0].rstrip(" ,;:") + " …"
