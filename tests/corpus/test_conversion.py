"""Files as people have them become text, or a reason with a remedy; nothing ends the others."""

import json
import sys
from contextlib import suppress
from itertools import groupby

import pytest

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    useful_title,
)
from gsum_assets.corpus.conversion.worker import convert
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.sections import Locations, sections_of
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.text.speech import speaker_labels, turns
from tests.corpus.office_files import archive, docx, encrypted_pdf, epub, odt, pdf, pptx, xlsx

PAGE = """<html><head><meta charset="{charset}"><title>Prices - Shop</title></head><body>
<nav>Home About</nav><div class="sidebar">Offers</div><script>var x = 1</script>
<main><h1>Prices</h1><p>A caf\xe9
costs <b>two</b> <a href="x">euros</a>.</p><pre># no heading
code</pre></main><footer>Imprint</footer></body></html>"""
MAIL = b"""From: Ann <ann@example.org>\r\nTo: bob@example.org\r
Subject: =?utf-8?q?The_caf=C3=A9?=\r
Date: Mon, 1 Jun 2026 10:00:00 +0000\r\nContent-Type: text/plain; charset=iso-8859-1\r\n\r
It closes, a caf\xe9.\r\n"""


def test_pdf_pages_start_at_their_offsets() -> None:
    found = convert(".pdf", pdf([["One of all."], [], ["Three of (all)."]], "A Report"))
    assert found.title == "A Report"
    ends = [*found.page_starts[1:], len(found.text)]
    pages = [found.text[a:b].strip() for a, b in zip(found.page_starts, ends, strict=True)]
    assert pages == ["One of all.", "", "Three of (all)."]


def test_word_file_becomes_markdown() -> None:
    found = convert(".docx", docx([("Heading1", "Scope"), ("", "It binds # all_of *us*.")], "Act"))
    assert (found.title, found.text) == ("Act", "# Scope\n\nIt binds # all_of *us*.")
    assert convert(".docx", docx([("", "x")], "Microsoft Word - a.doc")).title == ""
    assert convert(".docx", docx([("", "x")], "(anonymous)")).title == ""


@pytest.mark.parametrize(
    ("paragraphs", "properties", "title"),
    [
        ([("Heading1", "Contents"), ("Title", "The  mill"), ("Title", "Part")], "", "The mill"),
        ([("Title", "The mill"), ("", "It turns.")], "Template for reports", "The mill"),
        ([("Title", "Document1"), ("", "It turns.")], "The mill", "The mill"),
        ([("Heading1", "Contents"), ("", "It turns.")], "", ""),
    ],
)
def test_title_of_a_word_file_has_the_style_title(
    paragraphs: list[tuple[str, str]], properties: str, title: str
) -> None:
    assert convert(".docx", docx(paragraphs, properties)).title == title


def test_slides_have_titles_texts_and_notes() -> None:
    found = convert(".pptx", pptx([("Plan", "First\nSecond", "Say it slowly."), ("End", "", "")]))
    assert found.text == "## Plan\n\nFirst\nSecond\n\nNotes: Say it slowly.\n\n## End"
    assert found.text[found.page_starts[1] :] == "## End"


@pytest.mark.parametrize("charset", ["iso-8859-1", "utf-8"])
def test_main_content_of_a_web_page_is_read(charset: str) -> None:
    found = convert(".html", PAGE.format(charset=charset).encode(charset))
    assert found.title == "Prices"
    assert found.text == "# Prices\n\nA café costs two euros.\n\n```\n# no heading\ncode\n```"


def test_short_main_element_falls_back_to_the_whole_page() -> None:
    found = convert(".htm", "<p>Some <i>text</i></p><main>few</main>".encode("utf-16"))
    assert found.text == "Some text\n\nfew"


def test_epub_is_read_in_spine_order() -> None:
    chapters = ["<html><head><title/></head><body><h1>I</h1>one</body></html>", "<p>two</p>"]
    found = convert(".epub", epub(chapters, "A Book"))
    assert (found.title, found.text) == ("A Book", "# I\n\none\n\ntwo")


def test_mails_and_mailboxes_are_read() -> None:
    found = convert(".eml", MAIL)
    assert found.title == "The café"
    assert found.text.startswith("# The café\n\nFrom: Ann <ann@example.org>\nTo: bob@example.org\n")
    assert found.text.endswith("\n\nIt closes, a café.")
    line = b"From ann Mon Jun  1 10:00:00 2026\n"
    quoted = MAIL.replace(b"It closes", b">From here it closes")
    both = convert(".mbox", line + MAIL + b"\n" + line + quoted)
    assert both.text.count("# The café") == 2
    assert "\nFrom here it closes" in both.text


@pytest.mark.parametrize(
    ("suffix", "content", "fragments"),
    [
        (".pdf", encrypted_pdf(), ["encrypted", "qpdf"]),
        (".pdf", pdf([[], []]), ["no text on its 2 pages, probably a scan", "ocrmypdf"]),
        (".pdf", b"%PDF-1.4 torn", ["not readable as PDF", "download it again"]),
        (".pdf", b"", ["not readable as PDF"]),
        (".docx", docx([("", "x" * 999)])[:600], ["not readable as Word", "save it again"]),
        (".docx", archive({"a": "b"}), ["not readable as Word"]),
        (".docx", bytes.fromhex("d0cf11e0a1b11ae1") + b"x" * 600, ["encrypted, or of Word 97"]),
        (".docx", docx([]), ["no text"]),
        (".pptx", b"PK", ["not readable as PowerPoint"]),
        (".pptx", pptx([("", "", "")]), ["no text on its 1 slides"]),
        (".html", b"<p>caf\xe9 \0\1\2\3</p>", ["binary or damaged, no text"]),
        (".html", b"<nav>only</nav>", ["has no text"]),
        (".epub", b"no archive", ["not readable as EPUB"]),
        (".epub", epub(["<p>x</p>"], encrypted="c0.xhtml"), ["encrypted", "c0.xhtml"]),
        (".epub", epub(["<p></p>"]), ["no text"]),
        (".eml", b"\n\nno header", ["no mail"]),
        (".mbox", MAIL, ["no mailbox"]),
    ],
)
def test_unreadable_files_state_the_cause(
    suffix: str, content: bytes, fragments: list[str]
) -> None:
    with pytest.raises(ConversionError) as error:
        convert(suffix, content)
    for fragment in fragments:
        assert fragment in str(error.value)
    assert ";" in str(error.value)  # a remedy


@pytest.mark.parametrize(
    ("title", "useful"),
    [
        ("Debian  Policy\nManual", "Debian Policy Manual"),
        ("Microsoft Word - x.doc", ""),
        ("untitled", ""),
        ("Document1", ""),
        ("report_final.docx", ""),
        ("2024-01-01", ""),
        ("x" * 300, ""),
        (None, ""),
        ("The Untitled Garden", "The Untitled Garden"),
    ],
)
def test_uninformative_titles_are_ignored(title: str | None, useful: str) -> None:
    assert useful_title(title) == useful


def test_worker_converts_files_in_order_and_reports_progress() -> None:
    pages = []
    with Converter(lambda done, total: pages.append((done, total))) as converter:
        assert converter.convert(".pdf", pdf([["One."], ["Two."]])).text == "One.\n\nTwo."
        with pytest.raises(ConversionError, match="encrypted"):
            converter.convert(".pdf", encrypted_pdf())
        assert converter.convert(".html", b"<p>Three") == convert(".html", b"<p>Three")
    assert pages == [(1, 2), (2, 2)]


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.abort()", "crashed"),
        ("import os, sys; os.read(int(sys.argv[1]), 8); sys.exit()", "crash"),
        ("import time; time.sleep(60)", "no page was converted within 0 s"),
    ],
)
def test_crash_or_stall_costs_one_file(code: str, said: str) -> None:
    silence_s = 0.2 if "sleep" in code else 60.0
    with Converter(silence_s=silence_s, command=(sys.executable, "-c", code)) as converter:
        with pytest.raises(ConversionError, match=said):
            converter.convert(".html", b"<p>" + b"x" * 9_000)
        working = Converter()
        converter._command, converter._silence_s = working._command, working._silence_s
        assert converter.convert(".html", b"<p>good").text == "good"


def test_current_folder_shadows_no_modules(tmp_path, monkeypatch) -> None:
    (tmp_path / "email.py").write_text("raise SystemExit")
    monkeypatch.chdir(tmp_path)
    with Converter() as converter:
        assert converter.convert(".eml", MAIL).title == "The café"


RTF = rb"""{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}
{\stylesheet{\s1\outlinelevel0 heading 1;}}{\info{\title Quay report}{\author Bob}}
\pard\plain \s1\ilvl0\outlinelevel0\b Scope\par
\pard\plain The caf\'e9 \u8212? opened, {\i never} \{shut\}.\par
{\pard\s2\outlinelevel1{\b Cost}\par}
\pard Twelve.\par}"""
RST = b"""
The Manual
==========

See *here*, ``code``, :ref:`the link <target>`, :func:`~a.b` and <think>.

Scope
-----

.. versionadded:: 1.2
   It is *new*.

.. code-block:: python

   x = 1

.. toctree::

   a

.. include:: /etc/hostname

.. math:: E = mc^2
"""
LATEX = rb"""\documentclass{article}
\usepackage{hyperref}\hypersetup{colorlinks=true}
\title{On \emph{Ferries}\thanks{A grant.}}\author{A. Brown}
\begin{document}\maketitle
\begin{abstract}We count $x^2$ boats.\end{abstract}
\section{Scope}\label{s}
A \emph{pump}~\cite[p.~3]{foo}, see \ref{s}. % a comment
\begin{equation} E = mc^2 \end{equation}
\subsection*{Cost}
\begin{itemize}\item one \item two\end{itemize}
``Quoted'' na\"ive --- 5\% \{curly\}. \input{/etc/hostname}
\end{document} ignored
"""
TEXT_OF = "urn:oasis:names:tc:opendocument:xmlns:text:1.0"
ODT = (
    "<text:tracked-changes><text:p>deleted</text:p></text:tracked-changes>"
    '<text:h text:outline-level="1">Scope</text:h><text:p>A<text:s text:c="2"/>pump'
    "<text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>Old.</text:p>"
    "</text:note-body></text:note> *costs* a_b &lt;think&gt; &amp;amp; {x}.</text:p>"
    '<text:h text:outline-level="2">Cost</text:h>'
    "<text:list><text:list-item><text:p>one</text:p></text:list-item></text:list>"
    "<table:table><table:table-row><table:table-cell><text:p>Pump</text:p></table:table-cell>"
    "<table:table-cell><text:p>12</text:p></table:table-cell></table:table-row></table:table>"
)


def notebook(*cells: tuple[str, str | list[str]]) -> bytes:
    listed = [{"cell_type": kind, "source": source, "outputs": []} for kind, source in cells]
    metadata = {"language_info": {"name": "python"}}
    return json.dumps({"cells": listed, "metadata": metadata, "nbformat": 4}).encode()


def location_of(suffix: str, content: bytes, words: str) -> str:
    found = convert(suffix, content)
    sections = sections_of("a", found.text, suffix, found.page_starts, found.labels)
    start = found.text.index(words)
    rows = rows_of(TABLES["document_sections"], sections)
    return Locations(rows)("a", start, start + len(words))


def test_headings_of_rtf_are_outline_levels() -> None:
    found = convert(".rtf", RTF)
    assert found.title == "Quay report"
    assert found.text == "# Scope\nThe café — opened, never {shut}.\n## Cost\nTwelve."


def test_restructured_text_is_read_without_other_files() -> None:
    assert convert(".rst", RST).text == (
        "# The Manual\n\nSee here, code, the link, a.b and <think>.\n\n## Scope\n\n1.2 It is new."
        "\n\n```\nx = 1\n```\n\n```\nE = mc^2\n```"
    )
    assert location_of(".rst", RST, "It is new") == 'section "Scope"'


def test_latex_keeps_sections_and_mathematics() -> None:
    found = convert(".tex", LATEX)
    assert found.title == "On Ferries"
    assert found.text == (
        "# On Ferries\n\nA. Brown\n\nA grant.\n\nWe count $x^2$ boats.\n\n### Scope\n\n"
        "A pump [foo], see [s].\n\n\\begin{equation} E = mc^2 \\end{equation}\n\n#### Cost\n\n"
        "- one\n- two\n“Quoted” naïve — 5% {curly}."
    )
    assert location_of(".tex", LATEX, "naïve") == 'section "Scope › Cost"'


def test_open_document_text_has_headings_lists_tables_and_notes() -> None:
    found = convert(".odt", odt(ODT, "Quay report"))
    assert found.title == "Quay report"
    assert found.text == (
        "# Scope\n\nA pump (Old.) *costs* a_b <think> &amp; {x}.\n\n## Cost\n\n- one\n\n"
        "|  |  |\n| --- | --- |\n| Pump | 12 |"
    )


def test_cells_are_numbered_where_no_heading_names_them() -> None:
    headed = notebook(("markdown", ["# Pumps\n", "Old."]), ("code", "x = 1\n# no heading"))
    assert convert(".ipynb", headed).text == "# Pumps\nOld.\n\n```python\nx = 1\n# no heading\n```"
    assert location_of(".ipynb", headed, "x = 1") == 'section "Pumps"'
    plain = notebook(("markdown", "Old."), ("code", ""), ("code", 'a = "```"'))
    assert convert(".ipynb", plain).text == 'Old.\n\n````python\na = "```"\n````'
    assert location_of(".ipynb", plain, "a =") == "cell 3"
    old = {"worksheets": [{"cells": [{"cell_type": "code", "input": ["x"]}]}], "metadata": {}}
    assert convert(".ipynb", json.dumps(old).encode()).text == "```\nx\n```"


def test_rows_of_a_workbook_are_located_by_sheet() -> None:
    book = xlsx(
        {
            "Q1 costs": {"B3": "Pump", "C3": 12.0, "B5": "Sum", "C5": ("SUM(C3:C4)", 12.5)},
            "Empty": {},
            "Q2": {"A1": "Hull"},
        }
    )
    found = convert(".xlsx", book)
    assert found.text == "## Q1 costs\n| Pump | 12 |\n| Sum | 12.5 |\n## Q2\n| Hull |"
    assert location_of(".xlsx", book, "Sum") == 'sheet "Q1 costs", row 5'
    assert location_of(".xlsx", book, "| Pump | 12 |\n| Sum") == 'sheet "Q1 costs", row 3-5'
    both = 'sheet "Q1 costs", row 5 - sheet "Q2", row 1'
    assert location_of(".xlsx", book, "| Sum | 12.5 |\n## Q2\n| Hull") == both


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".odt", b"PK torn"),
        (".odt", archive({"content.xml": "<x/>"})),
        (".odt", odt("")),
        (".odt", archive({"META-INF/manifest.xml": "<encryption-data/>", "content.xml": "<x/>"})),
        (".xlsx", b"PK torn"),
        (".xlsx", xlsx({"Empty": {}})),
        (".xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1 torn"),
        (".ods", b"no archive"),
        (".ipynb", b"{"),
        (".ipynb", b"[1]"),
        (".ipynb", b'{"cells": 3}'),
        (".ipynb", b'{"cells": [{"source": 3}]}'),
        (".ipynb", notebook(("code", " "))),
        (".ipynb", b"[" * 100_000),
        (".rtf", b"A letter."),
        (".rtf", rb"{\rtf1 }"),
        (".rst", b"\n.. comment\n"),
        (".tex", b"% nothing\n"),
    ],
)
def test_damaged_and_empty_files_are_refused_with_a_reason(suffix: str, content: bytes) -> None:
    with pytest.raises(ConversionError, match=r"\w{3}"):
        convert(suffix, content)


@pytest.mark.parametrize("content", [rb"{\rtf1 {{{ \u9999999999 \'zz a", rb"{\rtf1 a \bin9999 b"])
def test_damaged_rtf_ends_with_text_or_a_reason(content: bytes) -> None:
    with suppress(ConversionError):
        assert "a" in convert(".rtf", content).text


def test_damaged_latex_keeps_what_can_be_read() -> None:
    assert "pump" in convert(".tex", rb"\section{Old \begin{x} A pump $ 5 }} \end{y}").text


def test_entities_of_xml_do_not_read_other_files() -> None:
    dtd = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/hostname"><!ENTITY f "inner">]>'
    body = "<text:p>A pump.&e;&f;</text:p>"
    assert convert(".odt", odt(body, before=dtd)).text == "A pump."


def test_an_archive_that_unpacks_to_too_much_ends_with_a_reason() -> None:
    bomb = archive({"META-INF/manifest.xml": "<m/>", "content.xml": "<a>" * 30_000_000})
    with Converter() as converter, pytest.raises(ConversionError, match=r"\w{3}"):
        converter.convert(".odt", bomb)


TEAMS = """\ufeffWEBVTT

STYLE
::cue { color: red }

NOTE exported by a program

6f1a9b/12-0
00:00:03.540 --> 00:00:05.000 align:start position:10%
<v Ada Brown>R&amp;D is <b>late</b>,
by 3 &lt; 4 days.</v>

6f1a9b/12-1
00:12:40.000 --> 00:12:43.000
<v Ada Brown>The {pump} &lt;think&gt; broke.</v>

6f1a9b/13-0
01:02:40.500 --> 01:02:43.000
<v.loud Ben Ito>Ben Ito: Why: rust?</v>
<v Ada Brown>Age.

6f1a9b/14-0
01:02:50.000 --> 01:02:53.000
I was not there.
"""
ZOOM = """WEBVTT

1
00:00:03.540 --> 00:00:05.000
Ada Brown: Good morning.

2
00:00:05.100 --> 00:00:09.000
Ada Brown: Let us begin: the pump.

3
00:00:10.000 --> 00:00:12.000
Ben Ito: It broke.
"""
SUBTITLES = """1
00:00:01,000 --> 00:00:02,000
ADA: It was late

2
0:0:2,5 --> 00:00:04
<i>because the pump broke.</i>

00:00:05,000 --> 00:00:06,000 X1:10
BEN: Which pump?

4
01:00:05,000 --> 01:00:06,000
The old one.
ADA: Oh.
- Never mind.
"""
SCROLLING = """WEBVTT
Kind: captions
Language: en

00:00:00.000 --> 00:00:02.000 align:start position:0%
\x20
we<00:00:00.400><c> need</c><00:00:00.800><c> a</c>

00:00:02.000 --> 00:00:02.010 align:start position:0%
we need a
\x20

00:00:02.010 --> 00:00:04.000 align:start position:0%
we need a
new<00:00:02.400><c> pump</c>

00:00:04.000 --> 00:00:04.010 align:start position:0%
new pump
\x20

00:00:04.010 --> 00:00:06.000 align:start position:0%
new pump
right<00:00:05.400><c> now</c>
"""


def spoken(found: Converted) -> list[tuple[str, str]]:
    """Speaker and words of each turn, as gsum's models read them."""
    return [(turn.speaker, turn.text) for turn in turns(found.text, speaker_labels([found.text]))]


def location(found: Converted, words: str, until: str = "") -> str:
    sections = sections_of("a", found.text, ".vtt", found.page_starts, found.labels)
    start = found.text.index(words)
    end = found.text.index(until or words, start) + len(until or words)
    return Locations(rows_of(TABLES["document_sections"], sections))("a", start, end)


def test_turns_of_voice_tags_have_their_speaker_and_time() -> None:
    found = convert(".vtt", TEAMS.encode())
    assert found.text.splitlines() == [
        "Ada Brown: R&D is late, by 3 < 4 days. The {pump} <think> broke.",
        "Ben Ito: Why: rust?",
        "Ada Brown: Age.",
        "Unknown Speaker: I was not there.",
    ]
    assert [speaker for speaker, _ in spoken(found)] == [
        line.partition(":")[0] for line in found.text.splitlines()
    ]
    assert location(found, "R&D is late") == "00:03"
    assert location(found, "pump") == "12:40"
    assert location(found, "R&D", "pump") == "00:03-12:40"
    assert location(found, "Age") == "1:02:40"


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("ada", "Ada"),
        ("John D.", "John D"),
        ("Ada Brown (Guest)", "Ada Brown"),
        ("+49 170 123", "Caller 49 170 123"),
        ("Room: North?", "Room North"),
        ("van der Berg, Jan", "van der Berg, Jan"),
        ("A &amp; B", "A and B"),
        ("one two three four five six seven", "One Two Three Four Five Six"),
    ],
)
def test_every_name_of_a_voice_tag_is_recognized_as_speaker(name: str, label: str) -> None:
    cues = [
        f"00:00:0{i}.000 --> 00:00:0{i}.900\n<v {n}>Hi.</v>\n" for i, n in enumerate(["Ben", name])
    ]
    found = convert(".vtt", "\n".join(["WEBVTT\n", *cues]).encode())
    assert spoken(found) == [("Ben", "Hi."), (label, "Hi.")]


LONG = "Head of the Department of Public Works"


@pytest.mark.parametrize(
    ("names", "labels"),
    [
        (["Ana Berg (Finance)", "Ana Berg (Legal)"], ["Ana Berg, Finance", "Ana Berg, Legal"]),
        (["Ana (it)", "Ana (hr)", "Ana"], ["Ana, It", "Ana, Hr", "Ana"]),
        (["Ana Berg (Finance)", "Ana Berg"], ["Ana Berg", "Ana Berg"]),
        (["John D.", "John D"], ["John D", "John D"]),
        (
            [f"{LONG} {part}" for part in ("North", "South", "North", "East")],
            [f"Head of the Department of {last}" for last in ("Public", "2", "Public", "3")],
        ),
        (
            ["Ana Maria van der Berg (Head of Sales)", "Tom"],
            ["Ana Maria van der Berg", "Tom"],
        ),
    ],
)
@pytest.mark.parametrize("form", ["<v {}>Hi {}.</v>", "{}: Hi {}."])
def test_each_name_of_captions_is_a_speaker(names: list[str], labels: list[str], form: str) -> None:
    texts = [form.format(name, number) for number, name in enumerate(names * 2)]
    found = convert(".vtt", captions(".vtt", *texts))
    heard = [name for name, _ in groupby(name for name, _ in spoken(found))]
    assert heard == [label for label, _ in groupby(labels * 2)]


def test_names_before_a_colon_are_speakers() -> None:
    found = convert(".vtt", ZOOM.encode())
    assert found.text.splitlines() == [
        "Ada Brown: Good morning. Let us begin: the pump.",
        "Ben Ito: It broke.",
    ]
    assert (location(found, "Let us"), location(found, "broke")) == ("00:05", "00:10")


def test_a_caption_without_name_is_not_of_the_one_before_where_all_others_have_one() -> None:
    cues = [f"00:00:{i:02d}.000 --> 00:00:{i:02d}.900\nAda: Line {i}.\n" for i in range(20)]
    stray = "00:01:00.000 --> 00:01:01.000\nWho is there?\n"
    found = convert(".vtt", "\n".join(["WEBVTT\n", *cues, stray]).encode())
    assert spoken(found)[-1] == ("Unknown Speaker", "Who is there?")


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_name_holds_until_the_next_one_in_subtitles(encoding: str) -> None:
    found = convert(".srt", SUBTITLES.encode(encoding))
    assert found.text.splitlines() == [
        "ADA: It was late because the pump broke.",
        "BEN: Which pump? The old one.",
        "ADA: Oh.",
        "Unknown Speaker: Never mind.",
    ]
    assert (location(found, "because"), location(found, "The old")) == ("00:02", "1:00:05")


def test_scrolling_captions_are_read_once() -> None:
    found = convert(".vtt", SCROLLING.encode())
    assert found.text == "we need a new pump right now"
    assert location(found, "right now") == "00:04"


def test_repeated_words_of_a_meeting_are_kept() -> None:
    cues = [("Ada: Yes.", 1), ("Ada: Yes.", 2), ("Ben: No.", 3), ("Ada: Why?", 4), ("Ben: So.", 5)]
    blocks = [f"00:00:0{i}.000 --> 00:00:0{i}.900\n{text}\n" for text, i in cues]
    found = convert(".vtt", "\n".join(["WEBVTT\n", *blocks, blocks[-1]]).encode())
    assert found.text == "Ada: Yes. Yes.\nBen: No.\nAda: Why?\nBen: So."  # the last block once


def test_speech_without_names_is_divided_at_pauses() -> None:
    cues = [(0, "Welcome to"), (2, "the quay."), (9, "The pump broke.")]
    blocks = [f"00:00:{s:02d}.000 --> 00:00:{s + 2:02d}.000\n{text}\n" for s, text in cues]
    found = convert(".srt", "\n".join(f"{i}\n{b}" for i, b in enumerate(blocks, 1)).encode())
    assert found.text == "Welcome to the quay.\nThe pump broke."
    assert convert(".sbv", b"0:00:01.000,0:00:03.000\nHello\n").labels == ("00:01",)


@pytest.mark.parametrize(
    ("suffix", "content"),
    [
        (".vtt", b""),
        (".vtt", b"WEBVTT\n"),
        (".vtt", b"WEBVTT\n\nNOTE nothing\n"),
        (".vtt", b"WEBVTT\n\n00:01.000 --> 00:02.000\n \n"),
        (".srt", b"A letter.\n\nNo captions."),
        (".srt", b"1\n99:99:99:99 --> x\nHi\n"),
        (".srt", b"\xff\x00\xfe"),
    ],
)
def test_files_without_captions_are_refused(suffix: str, content: bytes) -> None:
    with pytest.raises(ConversionError, match=r"\w{3}"):
        convert(suffix, content)


CUES = {
    ".vtt": ("WEBVTT\n\n", "{:02d}:00.000 --> {:02d}:03.000\n{}"),
    ".srt": ("", "1\n00:{:02d}:00,000 --> 00:{:02d}:03,000\n{}"),
    ".sbv": ("", "0:{:02d}:00.000,0:{:02d}:03.000\n{}"),
}


def captions(suffix: str, *texts: str) -> bytes:
    head, cue = CUES[suffix]
    return (head + "\n\n".join(cue.format(i, i, text) for i, text in enumerate(texts))).encode()


@pytest.mark.parametrize("suffix", CUES)
@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "text", ["\nTom: It cost 7.", "Tom: It\n\ncost 7.", "Tom: It\n \n\ncost 7."]
)
def test_blank_lines_end_no_caption(suffix: str, end: str, text: str) -> None:
    content = captions(suffix, "Ada: Done.", text, "Ada: Thanks.").replace(b"\n", end.encode())
    assert convert(suffix, content).text == "Ada: Done.\nTom: It cost 7.\nAda: Thanks."


@pytest.mark.parametrize(
    ("begins", "name"),
    [
        ("charles babbage", "Charles Babbage"),
        ("iPhone", "iPhone"),
        ("[SPEAKER_00]", "SPEAKER_00"),
        ("2nd Floor Room", "Caller 2nd Floor Room"),
        ("Dr. van der Berg", "Dr. van der Berg"),
    ],
)
def test_speakers_are_named_in_any_case(begins: str, name: str) -> None:
    content = captions(
        ".vtt", "Ada: Hi.", f"{begins}: I pay.", "Ada: All?", f"{begins}: All of it."
    )
    text = convert(".vtt", content).text
    assert text == f"Ada: Hi.\n{name}: I pay.\nAda: All?\n{name}: All of it."
    assert speaker_labels([text]) == {"Ada", name}


def test_words_before_a_colon_are_no_speaker() -> None:
    content = captions(
        ".vtt", "Ada: Hi.", "so the thing is: we pay.", "Tom: No.", "at 10: 30 of us."
    )
    text = convert(".vtt", content).text
    assert text == "Ada: Hi. so the thing is: we pay.\nTom: No. at 10: 30 of us."


def test_a_malformed_caption_costs_itself_alone() -> None:
    torn = ZOOM.replace("00:00:05.100 -->", "00:00:xx -->")
    assert convert(".vtt", torn.encode()).text == "Ada Brown: Good morning.\nBen Ito: It broke."


def test_notes_and_captions_without_a_time_are_counted() -> None:
    torn = ZOOM.replace("00:00:05.100 -->", "00:00:xx -->") + "\n\nNOTE checked by Ada\n"
    left_out = convert(".vtt", torn.encode()).left_out
    assert left_out.startswith("1 note (4 words); 1 caption without a time (")


def test_breaks_in_captions_are_blanks() -> None:
    content = b"0:00:00.599,0:00:04.160\nADA: The mill[br]is closed.\n"
    assert convert(".sbv", content).text == "ADA: The mill is closed."
