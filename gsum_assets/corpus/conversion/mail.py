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
    tidied,
    useful_title,
)
from gsum_assets.corpus.conversion.html import decoded, html_to_markdown

_HEADERS = ("From", "To", "Cc", "Date")
_MESSAGE = re.compile(rb"^From [^\n]*\d{4}[^\n]*\n", re.MULTILINE)  # begins a message of a mailbox


def convert_message(content: bytes, _: Report) -> Converted:
    """Return a message as Markdown: subject as heading, sender, recipients, date, text."""
    message = cast(EmailMessage, email.message_from_bytes(content, policy=default))
    subject = _header(message, "Subject")
    if not any(_header(message, name) for name in (*_HEADERS, "Subject")):
        raise ConversionError("no mail: it has no header From, To, Date or Subject; save it again")
    body = _body(message)
    if not body.strip() and not subject:
        raise ConversionError("the message has no text; remove it")
    head = [f"{name}: {value}" for name in _HEADERS if (value := _header(message, name))]
    attached = [part.get_filename() or "a file" for part in message.iter_attachments()]
    tail = [f"Attached, not read: {', '.join(attached)}"] if attached else []
    blocks = [f"# {subject or 'No subject'}", "\n".join(head), body.strip(), *tail]
    return Converted(useful_title(subject), "\n\n".join(block for block in blocks if block))


def convert_mailbox(content: bytes, report: Report) -> Converted:
    """Return all messages of a mailbox, one after the other."""
    normalized = content.replace(b"\r\n", b"\n")
    begins = list(_MESSAGE.finditer(normalized))
    starts = [begin.end() for begin in begins]
    ends = [*(begin.start() for begin in begins[1:]), len(normalized)]
    if not starts or not _MESSAGE.match(normalized):
        raise ConversionError('no mailbox: it does not begin with a line "From …"; export it again')
    texts = []
    for start, end in zip(starts, ends, strict=True):
        message = re.sub(rb"^>(>*From )", rb"\1", normalized[start:end], flags=re.MULTILINE)
        try:
            texts.append(convert_message(message, report).text)
        except ConversionError:  # skip empty messages of a mailbox
            continue
    if not texts:
        raise ConversionError("the mailbox has no text; remove it")
    return Converted("", "\n\n".join(texts))


def _header(message: EmailMessage, name: str) -> str:
    """Return a header on one line; a malformed one counts as missing."""
    try:
        value = str(message.get(name) or "")
    except Exception:  # malformed headers raise many types of error
        return ""
    return " ".join(value.encode("utf-8", "replace").decode().replace("\0", "").split())


def _body(message: EmailMessage) -> str:
    """Return the plain text of a message, or its HTML as Markdown."""
    part = message.get_body(("plain", "html"))
    if part is None:
        return ""
    payload = part.get_payload(decode=True)
    content = payload if isinstance(payload, bytes) else b""
    charset = part.get_content_charset()
    if part.get_content_subtype() == "html":
        return html_to_markdown(decoded(content, charset), whole=True).text
    return tidied(decoded(content, charset))
