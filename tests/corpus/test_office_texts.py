"""Notebooks, workbooks and marked-up texts become text with headings, rows or cells to name."""

import json
from contextlib import suppress

import pytest

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.conversion.formats import ConversionError
from gsum_assets.corpus.conversion.worker import convert
from gsum_assets.corpus.rows import rows_of
from gsum_assets.corpus.sections import Locations, sections_of
from gsum_assets.pipeline.tables import TABLES
from tests.corpus.office_files import archive, odt, xlsx

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


def location(suffix: str, content: bytes, words: str) -> str:
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
    assert location(".rst", RST, "It is new") == 'section "Scope"'


def test_latex_keeps_sections_and_mathematics() -> None:
    found = convert(".tex", LATEX)
    assert found.title == "On Ferries"
    assert found.text == (
        "# On Ferries\n\nWe count $x^2$ boats.\n\n### Scope\n\nA pump [foo], see [s].\n\n"
        "\\begin{equation} E = mc^2 \\end{equation}\n\n#### Cost\n\n- one\n- two\n"
        "“Quoted” naïve — 5% {curly}."
    )
    assert location(".tex", LATEX, "naïve") == 'section "Scope › Cost"'


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
    assert location(".ipynb", headed, "x = 1") == 'section "Pumps"'
    plain = notebook(("markdown", "Old."), ("code", ""), ("code", 'a = "```"'))
    assert convert(".ipynb", plain).text == 'Old.\n\n````python\na = "```"\n````'
    assert location(".ipynb", plain, "a =") == "cell 3"
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
    assert location(".xlsx", book, "Sum") == 'sheet "Q1 costs", row 5'
    assert location(".xlsx", book, "| Pump | 12 |\n| Sum") == 'sheet "Q1 costs", row 3-5'
    both = 'sheet "Q1 costs", row 5 - sheet "Q2", row 1'
    assert location(".xlsx", book, "| Sum | 12.5 |\n## Q2\n| Hull") == both


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
