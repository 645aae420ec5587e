"""Files as people have them become text, or a reason with a remedy; nothing ends the others."""

import sys

import pytest

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import (
    FORMATS,
    ConversionError,
    converter_version,
    useful_title,
)
from gsum_assets.corpus.conversion.pdf import paragraphs, without_running_lines
from gsum_assets.corpus.conversion.worker import convert
from tests.corpus.office_files import archive, docx, encrypted_pdf, epub, pdf, pptx

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


def test_paragraph_lines_are_joined() -> None:
    wide = "The harbour master wrote to the clerk that the new bridge was very well-"
    page = [
        wide,
        "known in all of the town, and that the lamp of the lighthouse would be ex-",
        "changed in the winter, as described in /usr/share/doc/and/so/on/and/so/on/",
        "bridge.",
        "A short line",
        "• an item of a list, which is as wide as the lines of this paragraph are",
        "Contents . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . 3",
        "and well-known words",
    ]
    (text,) = paragraphs([page])
    assert text.split("\n") == [
        "The harbour master wrote to the clerk that the new bridge was very well-known in all of "
        "the town, and that the lamp of the lighthouse would be exchanged in the winter, as "
        "described in /usr/share/doc/and/so/on/and/so/on/bridge.",
        "A short line",
        "• an item of a list, which is as wide as the lines of this paragraph are",
        "Contents . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . . 3",
        "and well-known words",
    ]


def test_text_repeated_on_most_pages_is_removed() -> None:
    pages = [
        ["The Report", f"Text {word}.", "more", f"and {word}", f"{n} / 5"]
        for n, word in enumerate("abcde")
    ]
    assert without_running_lines(pages) == [[f"Text {w}.", "more", f"and {w}"] for w in "abcde"]
    assert without_running_lines(pages[:3]) == pages[:3]


def test_chapter_header_is_removed_near_its_pages_only() -> None:
    titles = ["The Sea"] * 3 + [""] * 12 + ["The Sea"]
    words = [f"Wave{'x' * i}" for i in range(len(titles))]
    pages = [[t, w, "more", f"{w} and", f"so {w}."] for t, w in zip(titles, words, strict=True)]
    found = without_running_lines(pages)
    assert ["The Sea" in lines for lines in found] == [False] * 15 + [True]
    assert all(word in lines for word, lines in zip(words, found, strict=True))


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


@pytest.mark.parametrize("suffix", FORMATS)
def test_converter_has_a_version(suffix: str) -> None:
    assert converter_version(suffix).startswith(f"{FORMATS[suffix].name}-")


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
        ("import sys; sys.stdin.buffer.readline(); print(end='', flush=True); sys.exit()", "crash"),
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
