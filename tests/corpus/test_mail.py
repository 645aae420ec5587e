"""Mail whose text is in any of its parts, and mailboxes whose messages hold lines "From …"."""

from email.message import EmailMessage

import pytest

from gsum_assets.corpus.conversion.mail import convert_mailbox, convert_message

COSTS, PAGE = "The well costs 900 pounds.", "<p>The well costs 900 pounds.</p>"
BORDER = "From ada@example.org Mon Mar  3 10:00:00 2025\n"


def message(text: str = "", html: str | None = None, subject: str = "Well") -> EmailMessage:
    made = EmailMessage()
    made["From"], made["Subject"] = "Ada <ada@example.org>", subject
    made.set_content(text)
    if html is not None:
        made.add_alternative(html, subtype="html")
    return made


def read(made: EmailMessage) -> str:
    return (
        convert_message(made.as_bytes(), lambda _: None).text.partition("example.org>")[2].strip()
    )


@pytest.mark.parametrize(
    ("text", "html", "kept"),
    [
        (COSTS, PAGE, COSTS),
        ("", PAGE, COSTS),
        ("\u00a0\u200b\n", PAGE, COSTS),
        ("Your reader shows no HTML.", PAGE, COSTS),
        (COSTS, "<p>Hi</p>", f"{COSTS}\n\nHi"),
        ("The well is", "<p>The well is dry. It costs 900.</p>", "The well is dry. It costs 900."),
    ],
)
def test_alternatives_are_read_once_and_none_is_lost(text: str, html: str, kept: str) -> None:
    assert read(message(text, html)) == kept


def test_text_behind_a_picture_and_a_forwarded_message_is_read() -> None:
    made, inner = message("See below."), message("The boiler costs 2000.", subject="Boiler")
    made.make_mixed()
    made.add_attachment(b"\x89PNG", "image", "png", filename="well.png", disposition="inline")
    tail = EmailMessage()
    tail.set_content("The door costs 7.", cte="base64")
    made.attach(tail)
    made.add_attachment(inner)
    made.add_attachment(b"x", "application", "zip", filename="plans.zip")
    blocks = read(made).split("\n\n")
    assert blocks == [
        "See below.",
        "The door costs 7.",
        "Forwarded message\nFrom: Ada <ada@example.org>\nSubject: Boiler",
        "The boiler costs 2000.",
        "Attached, not read: well.png, plans.zip",
    ]


@pytest.mark.parametrize(
    "line",
    [
        "From the 2019 budget we moved 600 pounds.",
        "\nFrom the 2019 budget we moved 600 pounds.",
        "From 2020 on the rule is:\nSubject: a key costs 9 pounds.",
        "From noon, Mar 3 at 10, a walk.",
    ],
)
@pytest.mark.parametrize(
    "border",
    [
        BORDER,
        "From - Mon Mar 03 10:00:00 2025\n",
        "From MAILER-DAEMON Mon Mar 03 10:00:00 +0100 2025\n",
        "From MAILER-DAEMON Mon Mar 03 10:00:00\n",
        "From ada@example.org 2025-03-03T10:00:00Z\n",
    ],
)
def test_messages_of_a_mailbox_begin_at_borders_alone(border: str, line: str) -> None:
    first, second = (
        message(text, subject=subject).as_string()
        for subject, text in (("One", f"Dear all,\n{line}\nIt was paid."), ("Two", "Bring cash."))
    )
    text = convert_mailbox(f"{border}{first}\n{border}{second}".encode(), lambda _: None).text
    assert text.count("# ") == 2
    for words in (line.strip(), "It was paid.", "# Two", "Bring cash."):
        assert words in text
