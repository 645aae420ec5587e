"""What chat front ends write around a question, and the tasks about a chat that they send.

The forms are those of Open WebUI, LibreChat, Continue, LangChain and LlamaIndex, which people put
in words of their own. What is not surely one of them is a question.
"""

import json
import re
import tomllib
from pathlib import Path
from textwrap import shorten

MOST_CHARACTERS = 20_000
"""Characters of a question."""

_LONGEST = 62  # characters of a title
_FLAGS = re.IGNORECASE | re.MULTILINE
_ASKED = r"<?(?:user |follow[- ]up )?(?:question|query|input|message)[:>]"
_LABEL = re.compile(rf"^[ \t]*{_ASKED}\s*(?=\S)", _FLAGS)
_END = re.compile(r"^[ \t]*<?(?:(?:helpful |final )?answer|standalone question)[:>]\Z", _FLAGS)
_TAGS = re.compile(r"</?(?:user_)?(?:query|question)>")
_USER = re.compile(r"^[ \t]*(?:user|human):[ \t]*", _FLAGS)
_ASSISTANT = re.compile(r"^[ \t]*(?:assistant|ai):", _FLAGS)
_FORM = re.compile(r'\{\s*"(?P<key>\w+)":\s*(?P<begins>[\["])')
_WORDS = tomllib.loads(Path(__file__).with_name("front_ends.toml").read_text("utf-8"))
_KINDS = [f"(?P<{kind}>{'|'.join(words)})" for kind, words in _WORDS["tasks"].items()]
_TASK = re.compile("|".join(_KINDS), re.IGNORECASE)
_TITLE_OF_CHAT = re.compile(rf"{_KINDS[0]}\s+(?:{'|'.join(_WORDS['of_chat'])})", re.IGNORECASE)


def question_in(text: str) -> str:
    """Return the question of a message, without the context that a front end puts around it.

    Of a text that is too long for a question, the last paragraph is the question.
    """
    text = question = text.strip()
    head, _, rest = text.partition("<context>")
    if "</context>" in rest:
        after = rest.rpartition("</context>")[2].strip()
        question = _TAGS.sub("", _labelled(after) or after or _last_paragraph(head)).strip()
    elif _END.search(text):
        question = _labelled(text.partition("\nContext:")[0]) or _labelled(text) or text
    if len(question) > MOST_CHARACTERS:
        question = _last_paragraph(question)[-MOST_CHARACTERS:]
    return question


def _labelled(text: str) -> str:
    """Return what stands behind the last label of a question, such as "Query:"; "" without one."""
    labels = [label.end() for label in _LABEL.finditer(text)]
    return _END.sub("", text[labels[-1] :].strip()).strip() if labels else ""


def _last_paragraph(text: str) -> str:
    return text.strip().rpartition("\n\n")[2].strip()


def task_reply(instructions: str, text: str, corpus: str) -> str | None:
    """Return what a front end requests about a chat, without a model; None: it is a question.

    A title is the first question, tags are the corpus, and a question that is to be rephrased stays
    as it is. Of follow-ups, searches and completions there are none. `instructions`: those of the
    system, which say what is requested where the text is nothing but a chat.
    """
    chat, request = _quoted_chat(text)
    if not chat:
        return _reply_about_message(*text.partition("\n\n")[::2])
    request = request.strip() or instructions
    task, form = _TASK.search(request), _FORM.search(request)
    ends = request.partition("\n")[0], request.rstrip().rpartition("\n")[2]
    is_question = any("?" in line and not _TASK.search(line) for line in ends)
    if is_question or not (task or form):
        return None
    if form:
        key, is_list = form["key"], form["begins"] == "["
        kind = _TASK.fullmatch(key)
        values = {"tags": [corpus]} if is_list else {"title": _title(chat)}
        none = [] if is_list else ""
        return json.dumps({key: values.get(str(kind and kind.lastgroup), none)}, ensure_ascii=False)
    values = {"title": _title(chat), "tags": corpus, "rephrased": _labelled(text)}
    return values.get(str(task and task.lastgroup), "")


def _reply_about_message(request: str, message: str) -> str | None:
    """Return the title of a chat that begins with a message, or the face of who wrote it."""
    if "?" in request or not message:
        return None
    if _TITLE_OF_CHAT.search(request):
        return shorten(message, _LONGEST, placeholder=" …")
    return "🙂" if "emoji" in request and message.startswith("Message: ```") else None


def _quoted_chat(text: str) -> tuple[str, str]:
    """Return the chat that a text quotes, "" if it quotes none, and what is requested about it."""
    before, _, rest = text.partition("<chat_history>")
    chat, end, after = rest.partition("</chat_history>")
    if end:
        return chat, before + after
    first = _USER.search(text)
    if not first or not _ASSISTANT.search(text, first.end()):
        return "", text
    return text[first.start() :], text[: first.start()]


def _title(chat: str) -> str:
    """Return the first question of a chat, shortened."""
    first = _USER.search(chat)
    question = _ASSISTANT.split(chat[first.end() :])[0] if first else ""
    return shorten(question, _LONGEST, placeholder=" …")
