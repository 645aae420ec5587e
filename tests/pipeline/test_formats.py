"""A folder of files with each kind of place: the source of an answer names where it stands."""

import base64
import json
import zlib
from collections.abc import Iterator

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.answering.ask import ask
from gsum_assets.corpus.intake import stored_intake
from tests.conftest import CORPUS, House
from tests.corpus.office_files import archive, pdf, pptx, xlsx
from tests.pipeline.homes import WITHOUT_BERTSCORE, house_at

pytestmark = pytest.mark.usefixtures("only_tables")
XLS = zlib.decompress(
    base64.b64decode(
        "eNq7cF7wwcKNUg8Z0IAdAzPDv/+cDGxIYoxAzAnjCDAA5f//BzFhNAcQ/x8FQwpwcgAjko2VYTfvGXZQHILi+yED"
        "E8MGloNAkoHhERDHMBQw+OXnpSrQETiB3ZDICHKDLZBkZJgDFOFjkAS7SghMJoNJYTC5HqxyD5h0AIv0gklboNoH"
        "jFEM5+39tCygqTiCSQksx8cAMnc7WM8tsIghgyjDCVAqrp/ACFHLyuBYlJmYMzgl5Fh4GJYwAOPNPTUvtSgx5wGD"
        "CDAClzB8/a/AwPAFllMPKIyK01eckQEo/gNVnB2L+GQmFgaGBob/CeAE3srAzXCcGSTDzOCfk/KHQRVc4oKwFAND"
        "SEaqQm5icYlCcj6QyMsEZsfkovzyvGI9LlCxDM7GAijZmBecvHmAZAoDP5gtCE7kAsCC+s/Kj5d8kwLs48EiDeCi"
        "G2KVKshNDP8ZGkE6gJr5wKJMcHktMFsbTDaBTZUGs6XApAgwaQJptQBRKMOtGaymBSyrBrTHGAwu26sjsTWA7NbX"
        "gTvkWh/bawLZ69wfVomsu26/kEEJWOGkAPWDYDODDqMO46yZILDTHkYzQguDu2BSEqNg4GASgAbjf2gtxs/wl4EL"
        "LCYIqeqYhBi2gT3ogFTZcTGMglEwCkbBKBgFo2AUjIJRMOwArHEP6neAGv6s0M4DO3Rc5y8Q/xsdJhm2IIghHwhL"
        "gB1TV4Y8IF3EUElS+hFjYGWEmcVIpB7YeCEIhANtL2LIZkgCuyOb5PQL7PwxIvuHaI0C1MtCpNr/jxR30th+AAoP"
        "wB8="
    )
)
NAMES = "urn:oasis:names:tc:opendocument:xmlns"
ODS = archive(
    {
        "mimetype": "application/vnd.oasis.opendocument.spreadsheet",
        "META-INF/manifest.xml": "<m/>",
        "content.xml": f'<office:document-content xmlns:office="{NAMES}:office:1.0" '
        f'xmlns:text="{NAMES}:text:1.0" xmlns:table="{NAMES}:table:1.0"><office:body>'
        '<office:spreadsheet><table:table table:name="Sums"><table:table-row><table:table-cell '
        'office:value-type="string"><text:p>The keel cost eight crowns.</text:p></table:table-cell>'
        "</table:table-row></table:table></office:spreadsheet></office:body>"
        "</office:document-content>",
    }
)
CUE = "00:12:40{}000 --> 00:12:44{}000\n"
NOTEBOOK = {"cells": [{"cell_type": "markdown", "source": "The salmon met a model."}]}
FILES: dict[str, tuple[str | bytes, str, str]] = {
    "a.txt": ("The anchor met the mud.", "anchor", "a, passage 1 of 1"),
    "b.md": ("# Log\n\n## May\n\nThe bilge met the pump.", "bilge", "Log (b), passage 1 of 1"),
    "c.pdf": (pdf([["One."], ["The capstan met the rope."]]), "capstan", "c, pages 1-2"),
    "g.pptx": (pptx([("Plan", "The galley met the cook.", "")]), "galley", "g, slide 1"),
    "h.xlsx": (xlsx({"Q1": {"A7": "The hatch met the sea."}}), "hatch", 'h, sheet "Q1", row 7'),
    "i.xls": (XLS, "mast", 'i, sheet "Old", row 2'),
    "j.ods": (ODS, "keel", 'j, sheet "Sums", row 1'),
    "k.html": ("<h1>Nets</h1><p>The jib met the gust.</p>", "jib", "Nets"),
    "q.vtt": (
        f"WEBVTT\n\n{CUE.format('.', '.')}<v Ann>The rudder met ice.</v>",
        "rudder",
        "q, 12:40",
    ),
    "v.ipynb": (json.dumps(NOTEBOOK | {"metadata": {}}), "salmon", "v, cell 1"),
    "u.csv": ("place,n\nshore,1\nThe dinghy met ice.,2\n", "dinghy", "u, row 1-3"),
    "w.csv": ("name,body\nx,The winch met the chain.\n", "winch", "w.csv, row 2"),
    "y.tsv": ("title\tbody\nFog\tThe yawl met the fog.\n", "yawl", "Fog, y.tsv, row 2"),
    "z.jsonl": ('{"text": "The zephyr met the flag."}', "zephyr", "z.jsonl, row 1"),
    "zb.json": (
        '[{"title": "Bow", "content": "The bow met foam."}]',
        "foam",
        "Bow, zb.json, row 1",
    ),
}


@pytest.fixture(scope="module")
def house(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with house_at(tmp_path_factory.mktemp("formats")) as house:
        for name, (content, *_) in FILES.items():
            raw = content.encode() if isinstance(content, str) else content
            (house.folder / name).write_bytes(raw)
        parquet = pa.table({"document_id": ["zc"], "text": ["The zodiac met the shore."]})
        pq.write_table(parquet, house.folder / "documents.parquet")
        (house.folder / "queries.jsonl").write_text('{"query_id": "q", "text": "Who met ice?"}')
        (house.folder / "questions.csv").write_text("text\nWho met the mud?\n")
        long = "The fender met the quay. " * 3
        (house.folder / "unclear.csv").write_text(f"first,second\n{long},{long}\n")
        (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)
        assert house.run(["bm25"]).errors == []
        yield house


def test_every_file_is_a_document_and_what_is_unclear_is_said(house: House) -> None:
    assert house.table("documents", CORPUS).num_rows == len(FILES) + 1
    line = stored_intake(house.store, CORPUS)
    assert "; 1 rejected: unclear.csv: a table with the columns first, second, of which" in line
    assert "; not read: 1 .csv (" in line
    texts = {r["document_id"]: r["text"] for r in house.table("documents", CORPUS).to_pylist()}
    for section in house.table("document_sections", CORPUS).to_pylist():
        assert 0 <= section["start"] < len(texts[section["document_id"]])


@pytest.mark.parametrize("name", FILES)
def test_source_of_an_answer_names_where_it_stands(house: House, name: str) -> None:
    _, word, location = FILES[name]
    found = ask(house.workspace, CORPUS, f"What did the {word} meet?", "bm25")
    [source] = [source for source in found.sources if word in source.text]
    assert str(source).startswith(location)
