"""The date of a document: where it may stand, how it is written, and what is no date of it."""

from datetime import UTC, date, datetime
from pathlib import Path

import pytest

from gsum_assets.corpus.load import load, with_file_dates
from gsum_assets.pipeline.corpus_settings import CorpusSettings
from gsum_resources.text.dates import Date, date_of_name, date_of_text

DAY = Date(date(2024, 3, 12), False)
MONTH = Date(date(2024, 3, 1), True)


@pytest.mark.parametrize(
    "written",
    [
        *("12 March 2024", "12th March 2024", "the 12th of March 2024", "March 12, 2024"),
        *(
            "Mar. 12, 2024",
            "MARCH 12TH, 2024",
            "2024-03-12",
            "2024/03/12",
            "12.03.2024",
            "12.3.2024",
        ),
        *("12/13/2024", "13/12/2024", "12. März 2024", "12. Ma\u0308rz 2024", "12 mars 2024"),
        *("12 de marzo de 2024", "12 de março de 2024", "12 marzo 2024", "12 maart 2024"),
        *(
            "2024年3月12日",
            "Tuesday, 12 March 2024",
            "Dienstag, 12. März 2024",
            "jeudi 12 mars 2024",
        ),
        *("Stuttgart, den 12.3.2024", "Paris, le 12 mars 2024", "Anneke Vos, 12 March 2024"),
        *(
            "12 March 2024, common room, 7.00 pm",
            "12 March 2024 at 7 pm",
            "By Jane Doe | 12 March 2024",
        ),
        *("Minutes of 12 March 2024", "Minutes of the regular meeting, March 12, 2024"),
        *("Protokoll der Sitzung vom 12. März 2024", "Compte rendu de la réunion du 12 mars 2024"),
        *(
            "Date: 12 March 2024",
            "**Datum:** 12.03.2024",
            "| Date | 12 March 2024 |",
            "_12 March 2024_",
        ),
        "Adopted March 12, 2024. It replaces the policy of 2022.",
        "Approved March 12, 2024. In effect from August 26, 2024.",
        "From: a@b.example\nDate: Tue, 12 Mar 2024 09:31:10 +0100\n",
        "Last updated: 2024-03-12T10:00:00Z",
    ],
)
def test_date_in_the_first_lines(written: str) -> None:
    day = Date(date(2024, 12, 13), False) if "13" in written else DAY
    text = f"# The club\n\n{written}\n\nOn 5 May 1999 it was founded by the sailors of the town.\n"
    assert date_of_text(text) == day
    assert date_of_text(written) == day


@pytest.mark.parametrize(
    "written",
    [
        "March 2024",
        "Stand: März 2024",
        "mars 2024",
        "A leaflet by Jane Doe, March 2024",
        "2024年3月",
    ],
)
def test_month_alone(written: str) -> None:
    assert date_of_text(f"# The club\n\n{written}\n\nText.") == MONTH


@pytest.mark.parametrize(
    "text",
    [
        *(
            "On 12 March 2024 the board met.",
            "Anna was elected on 12 March 2024.",
            "In 2024 it rained.",
        ),
        *("Dear all,\n\nfrom 1 March 2024 a token costs 2 pounds", "Next meeting: 9 April 2024"),
        *("# Trip, 13 to 17 May 2024", "# Trip, 13-17 May 2024", "# Trip, May 13-17, 2024"),
        *(
            "March to May 2024",
            "# Rules until 31 December 2024",
            "Term: 1 July 2024 to 30 June 2027",
        ),
        *(
            "12 January 2024: drift of the peak\n6 February 2024: new gas",
            "At the meeting of 5 May 2023 we",
        ),
        *(
            "03/04/2024",
            "31.2.2024",
            "12.3.24",
            "Version 1.2.2024.7",
            "# Budget 2010-11",
            "# Policy (2022)",
        ),
        *("# Jane Doe\n\nborn 5 May 1980", "Date of birth: 5 May 1980", "Deadline: 1 June 2024"),
        *(
            "# Diary\n\n## 12 March 2024\n\nRain.\n\n## 13 March 2024\n\nSun.",
            "# Mars 2020 mission",
        ),
        *("# Data set 2024", "# Resolution No. 2024-03", "# Between 2024-01-01 and 2024-02-01"),
        "5 May 2024, the day of the fire, was warm and dry.",
        "Long " * 30 + ", 12 March 2024",
    ],
)
def test_no_date_is_better_than_a_wrong_one(text: str) -> None:
    assert date_of_text(text) is None


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        *(
            (name, DAY)
            for name in ("2024-03-12 board", "minutes_20240312", "2024_03_12", "12.3.2024")
        ),
        *((name, DAY) for name in ("IMG_20240312_101530", "12-March-2024", "letter 2024.03.12")),
        *((name, MONTH) for name in ("2024-03", "2024_03 minutes", "newsletter March 2024")),
        *(
            (name, None)
            for name in ("report_v2", "budget 2010-11", "accounts 2023-24", "2403.12345")
        ),
        *(
            (name, None)
            for name in ("12-03-2024", "20240312101530", "s10115-2019-01345", "report 2024")
        ),
        *((name, None) for name in ("2024-03-12_2024-03-14", "ordinance 2024-12", "2024-13-45")),
    ],
)
def test_date_in_the_name_of_a_file(name: str, expected: Date | None) -> None:
    assert date_of_name(name) == expected


def test_date_of_a_document_and_where_it_stands(tmp_path: Path) -> None:
    for name, text in {
        "2023-01-01 a.md": "---\ndate: 2024-05-01\n---\n# Minutes of 2 June 2024\n\nText.",
        "2023-01-01 b.md": "# Minutes of 2 June 2024\n\nText.",
        "2023-01-01 c.md": "# Minutes\n\nText.",
        "2023-01 d.txt": "Text.",
        "e.md": "---\ntitle: Minutes of 2 June 2024\n---\nText.",
        "f.txt": "A text.",
        "g.mbox": "From a@b.example Mon Mar  3 10:00:00 2025\nFrom: a@b.example\n"
        "Date: Mon, 3 Mar 2025 10:00:00 +0100\nSubject: Pump\n\nIt leaks.\n",
    }.items():
        (tmp_path / name).write_text(text)
    (tmp_path / "documents.csv").write_text("id,text,date\nh,Text.,2022-02-03\ni,Text.,soon\n")
    documents, _ = load(tmp_path, CorpusSettings())
    time = datetime(2026, 1, 1, 23, tzinfo=UTC)
    dated = with_file_dates(documents, {d.document_id: time for d in documents if d.file})
    found = {d.document_id.removeprefix("2023-01-01 "): (str(d.date), d.date_source) for d in dated}
    assert found == {
        "a": ("2024-05-01", "front matter"),
        "b": ("2024-06-02", "first lines"),
        "c": ("2023-01-01", "file name"),
        "2023-01 d": ("2023-01-01", "file name, month"),
        "e": ("2024-06-02", "first lines"),
        "f": ("2026-01-01", "file time"),
        "g.mbox": ("2026-01-01", "file time"),
        "h": ("2022-02-03", "column"),
        "i": ("None", None),
    }
    assert {d.file for d in dated if d.document_id in ("f", "h")} == {"f.txt", None}
