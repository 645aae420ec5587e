"""Text of mail: single messages and mailboxes."""

import email
import re
from email.message import EmailMessage
from email.policy import default
from typing import cast

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    cut,
    tidied,
    useful_title,
)
from gsum_assets.corpus.conversion.html import decoded, html_to_markdown

_HEADERS = ("From", "To", "Cc", "Date")
_BORDER = re.compile(rb"^From ([^\n]*)\n(?=[!-9;-~]+:)", re.MULTILINE)  # a header follows
_TIME = re.compile(rb"[A-Z][a-z]{2} +\d{1,2} \d{1,2}:\d{2}")  # as in "Mon Mar  3 10:00:00 2025"
_COVERED = 0.8  # share of the words of one alternative in the other that makes it superfluous
_SHORT = 15  # words of a plain alternative that may say only that there is HTML


def convert_message(content: bytes, _: Report) -> Converted:
    """Return a message as Markdown: subject as heading, sender, recipients, date, text."""
    message = cast(EmailMessage, email.message_from_bytes(content, policy=default))
    subject = _header(message, "Subject")
    if not any(_header(message, name) for name in (*_HEADERS, "Subject")):
        raise ConversionError("no mail: it has no header From, To, Date or Subject; save it again")
    attached: list[str] = []
    left_out: list[str] = []
    body = _body(message, attached, left_out)
    if not body.strip() and not subject:
        raise ConversionError("the message has no text; remove it")
    head = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    tail = [f"Attached, not read: {', '.join(attached)}"] if attached else []
    blocks = [f"# {subject or 'No subject'}", "\n".join(head), body.strip(), *tail]
    text = "\n\n".join(block for block in blocks if block)
    return Converted(useful_title(subject), text, left_out="; ".join(left_out))


def convert_mailbox(content: bytes, report: Report) -> Converted:
    """Return all messages of a mailbox, one after the other."""
    normalized = content.replace(b"\r\n", b"\n")
    begins = [border for border in _BORDER.finditer(normalized) if _is_border(normalized, border)]
    starts = [begin.end() for begin in begins]
    ends = [*(begin.start() for begin in begins[1:]), len(normalized)]
    if not begins or begins[0].start():
        raise ConversionError('no mailbox: it does not begin with a line "From …"; export it again')
    texts, left_out = [], []
    for start, end in zip(starts, ends, strict=True):
        message = re.sub(rb"^>(>*From )", rb"\1", normalized[start:end], flags=re.MULTILINE)
        try:
            converted = convert_message(message, report)
        except ConversionError:  # skip empty messages of a mailbox
            continue
        texts.append(converted.text)
        left_out += [f"message {len(texts)}: {converted.left_out}"] * bool(converted.left_out)
    if not texts:
        raise ConversionError("the mailbox has no text; remove it")
    return Converted("", "\n\n".join(texts), left_out=cut(left_out))


def _is_border(content: bytes, border: re.Match[bytes]) -> bool:
    """Return whether a line "From …" begins a message, and is no sentence of one."""
    is_after_blank = content[: border.start()].endswith(b"\n\n") or not border.start()
    return bool(_TIME.search(border[1])) or (is_after_blank and b"@" in border[1])


def _header(message: EmailMessage, name: str) -> str:
    """Return a header on one line; a malformed one counts as missing."""
    try:
        value = str(message.get(name) or "")
    except Exception:  # malformed headers raise many types of error
        return ""
    return " ".join(value.encode("utf-8", "replace").decode().replace("\0", "").split())


def _body(part: EmailMessage, attached: list[str], left_out: list[str]) -> str:
    """Return the text of a message or part; add the names of what is not read to `attached`."""
    kind = part.get_content_type()
    if kind == "message/rfc822" and part.is_multipart():
        forwarded = cast(EmailMessage, part.get_payload(0))
        lines = [f"{n}: {v}" for n in (*_HEADERS, "Subject") if (v := _header(forwarded, n))]
        head = ["Forwarded message", *lines]
        return "\n".join(head) + "\n\n" + _body(forwarded, attached, left_out)
    if part.is_multipart():
        parts = cast(list[EmailMessage], part.get_payload())
        texts = [_body(inner, attached, left_out) for inner in parts]
        if kind == "multipart/alternative":
            texts = _alternatives(texts)
        return "\n\n".join(text.strip("\n") for text in texts if text.strip())
    if not kind.startswith(("text/plain", "text/html", "multipart/")) or part.is_attachment():
        attached.append(part.get_filename() or "a file")
        return ""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if kind == "text/html":
        page = html_to_markdown(decoded(content, charset), whole=True)
        left_out += [page.left_out] if page.left_out else []
        return page.text
    return tidied(decoded(content, charset))


def _alternatives(texts: list[str]) -> list[str]:
    """Return the texts of a message's alternatives, without those that another one contains."""
    chosen: list[str] = []
    for text in texts:  # the plain one is first
        words = _words(text)
        first = _words(chosen[0]) if chosen else set()
        if not words or (first and len(words & first) >= _COVERED * len(words)):
            continue
        says_html = len(first) <= _SHORT and "html" in first
        is_covered = len(words & first) >= _COVERED * len(first)
        chosen = [text] if says_html or is_covered else [*chosen, text]
    return chosen


def _words(text: str) -> set[str]:
    return set(re.findall(r"\w+", text.lower()))
