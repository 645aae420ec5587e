"""The answer in a model's reply, without the reasoning that a server left before it.

The mark that opens reasoning is in the reply or in the server's chat template. An answer may quote
marks of a document: JSON keeps those within it, and in a free text a mark that the prompt holds
counts only at the start of the reply, or on a line of its own.
"""

import re
from collections.abc import Collection

_NAMES = r"(?:think|thinking|thoughts?|reasoning|seed:think)"
_OPENING = re.compile(rf"<{_NAMES}>|\[THINK\]|◁think▷|<\|START_THINKING\|>", re.IGNORECASE)
_CLOSING = re.compile(rf"</{_NAMES}>|\[/THINK\]|◁/think▷|<\|END_THINKING\|>", re.IGNORECASE)
_JSON = re.compile(r"\s*(?:```\w*\s*)?[{\[]")
# OpenAI's Harmony format; the second form is what remains of it without special tokens
_CHANNELS = re.compile(r"\s*(?:<\|start\|>\s*assistant\s*)?<\|channel\|>")
_FINAL = re.compile(r"<\|channel\|>\s*final\b[^\n]*?<\|message\|>")
_HARMONY = {f"<|{name}|>" for name in ("start", "channel", "constrain", "message", "end", "return")}
_CHANNELS_END = re.compile(r"\s*<\|(?:return|end)\|>\s*\Z")
_PLAIN_CHANNELS = re.compile(r"\s*analysis(?=[A-Z])")
_PLAIN_FINAL = "assistantfinal"


def without_reasoning(text: str, prompt: str = "", is_json: bool = False) -> str:
    """Return the answer in a reply; "" if the reply ends within its reasoning.

    Parameters `prompt`: all that was sent, in which the same marks may be quotations; `is_json`:
    whether JSON was requested, which no mark within it interrupts.
    """
    if _CHANNELS.match(text):
        final = _FINAL.search(text)
        return _CHANNELS_END.sub("", text[final.end() :]) if final else ""
    if _PLAIN_CHANNELS.match(text) and _PLAIN_FINAL not in prompt:
        return text.partition(_PLAIN_FINAL)[2]
    is_open = bool(_OPENING.match(text.lstrip()))
    if is_json:
        starts = [0] * (not is_open) + [mark.end() for mark in _CLOSING.finditer(text)]
        answers = (text[start:] for start in starts if _JSON.match(text, start))
        if answer := next(answers, None):
            return answer
    closings = _marks(_CLOSING, text, prompt)
    if not closings and is_open:
        closings = list(_CLOSING.finditer(text))[:1]
    if closings and (answer := text[closings[-1].end() :].lstrip()):
        return answer
    openings = _marks(_OPENING, text, prompt)
    if not closings:
        openings = [m for m in openings if not text[: m.start()].strip() or _stands_alone(m, text)]
    if openings:  # reasoning to the end: the answer is what stands before
        return text[: openings[0].start()].rstrip()
    return "" if closings else text


def closes_reasoning(text: str, prompt: str = "") -> bool:
    """Return whether a reply closes reasoning that it does not open, as the chat template does."""
    return not _OPENING.match(text.lstrip()) and bool(_marks(_CLOSING, text, prompt))


def opens_reasoning(prompt: str) -> str:
    """Return the mark of open reasoning that a prompt ends with, or ""."""
    marks = [match for match in _OPENING.finditer(prompt) if not prompt[match.end() :].strip()]
    return marks[0].group() if marks else ""


def delimits_reasoning(tokens: Collection[str]) -> set[str]:
    """Return those of a reply's special tokens that separate reasoning from the answer."""
    marks = {token for token in tokens if _OPENING.fullmatch(token) or _CLOSING.fullmatch(token)}
    return marks | (_HARMONY & set(tokens) if "<|channel|>" in tokens else set())


def _marks(pattern: re.Pattern[str], text: str, prompt: str) -> list[re.Match[str]]:
    """Return the marks in a reply that are no quotations of the prompt."""
    quoted = {match.group().lower() for match in pattern.finditer(prompt)}
    marks = pattern.finditer(text)
    return [m for m in marks if m.group().lower() not in quoted or _stands_alone(m, text)]


def _stands_alone(mark: re.Match[str], text: str) -> bool:
    """Return whether a mark has a line of its own."""
    before, after = text[: mark.start()].rpartition("\n")[2], text[mark.end() :].partition("\n")[0]
    return not before.strip() and not after.strip()
