"""Pictures that are written into a text: a placeholder, a count, and no other change."""

import json
from pathlib import Path

import pytest

from gsum_assets.corpus.conversion.formats import Converted
from gsum_assets.corpus.conversion.pictures import without_pictures
from gsum_assets.corpus.conversion.worker import convert
from gsum_assets.corpus.load import load_folder
from gsum_assets.pipeline.corpus_settings import CorpusSettings

BASE64 = "iVBORw0KGgo" * 40
URL = f"data:image/png;base64,{BASE64}"
FOLDED = "data:image/png;base64,\n" + "\n".join(
    BASE64[i : i + 76] for i in range(0, len(BASE64), 76)
)
FOLDED = FOLDED.replace(",\n", ",", 1)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"A ![chart of sales]({URL}) b", "A [picture: chart of sales] b"),
        (f'![]( <{URL}> "title")\nb', "[picture]\nb"),
        (f"![x][one]\n\n[one]: <{URL}>\nb", "![x][one]\n\n[picture: one]\nb"),
        (f"<p><img src='{URL}' alt='a map' width=3>b", "<p>[picture: a map]b"),
        (f'<img src="{URL}"/>b', "[picture]b"),
        (f"Dear all,\n\n{FOLDED}\n\nYours", "Dear all,\n\n[picture]\n\nYours"),
        (f"Dear all,\n{FOLDED}", "Dear all,\n[picture]"),
        (f"a {URL}\nYours sincerely", "a [picture]\nYours sincerely"),
        (f"url({URL}) and '{URL}'", "url([picture]) and '[picture]'"),
        (f"x data:image/svg+xml,%3Csvg{'%20' * 40}%3E y", "x [picture] y"),
        ("Write data:image/png;base64,AAAA for it.", "Write data:image/png;base64,AAAA for it."),
        (f"The data: {BASE64}", f"The data: {BASE64}"),
        ("![chart](chart.png)", "![chart](chart.png)"),
    ],
)
def test_embedded_pictures_become_placeholders(text: str, shown: str) -> None:
    plain = without_pictures(Converted("", text))
    assert plain.text == shown
    assert bool(plain.left_out) == (text != shown)


def test_pages_begin_where_they_began() -> None:
    pages = [f"one ![a]({URL})", f"two {URL} and {URL}", "three"]
    starts = [0, len(pages[0]) + 1, len(pages[0]) + len(pages[1]) + 2]
    plain = without_pictures(Converted("", "\n".join(pages), starts, left_out="1 hidden part"))
    assert plain.left_out == "1 hidden part; 3 embedded pictures"
    begins = [plain.text[start : start + 3] for start in plain.page_starts]
    assert begins == ["one", "two", "thr"]


def test_every_format_leaves_pictures_out(tmp_path: Path) -> None:
    cells = [
        {"cell_type": "markdown", "source": f"A boat ![b]({URL})"},
        {"cell_type": "code", "source": f"show('{URL}')"},
    ]
    for name, text in {
        "a.md": f"---\nauthor: Ada\n---\nA boat ![b]({URL})",
        "b.txt": f"A boat {URL}",
        "c.html": f"<p>A boat <img alt=b src='{URL}'></p><pre>{URL}</pre>",
        "d.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4}),
        "documents.csv": f'id,text\ne,"A boat {URL}"\n',
    }.items():
        (tmp_path / name).write_text(text)
    loaded = load_folder(tmp_path, CorpusSettings(), lambda r: convert(r.converter, r.content))
    assert len(loaded.documents) == 5
    for document in loaded.documents:
        assert "[picture" in document.text
        assert "iVBOR" not in document.text
        assert "embedded picture" in json.loads(document.metadata or "{}")["left_out"]
