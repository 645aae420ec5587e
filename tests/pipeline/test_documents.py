"""Folders as people have them: many formats, converted once each, and forgotten with their file."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from gsum_assets.corpus.conversion.converter import Converter
from gsum_assets.corpus.find import init_corpus
from gsum_assets.corpus.folder import stamp_of
from gsum_assets.corpus.intake import stored_intake
from gsum_assets.corpus.sections import Locations
from gsum_assets.registry.families import SETTINGS_TABLES
from gsum_assets.runner.forget import forget
from tests.conftest import House
from tests.corpus.office_files import docx, encrypted_pdf, pdf
from tests.pipeline.homes import contents, house_at

pytestmark = pytest.mark.usefixtures("only_tables")
CORPUS = "mixed"
TOLD = ["The clerk of the mixed harbour wrote a letter.", "The bridge of it fell in winter."]


@pytest.fixture
def house(tmp_path: Path) -> Iterator[House]:
    """A folder outside the home, linked into it."""
    folder = tmp_path / "papers"
    (folder / "deep").mkdir(parents=True)
    (folder / "a.pdf").write_bytes(pdf([TOLD[:1], TOLD[1:]], "The Harbour"))
    (folder / "a.txt").write_text("The orchard is not the harbour, and has its own river.")
    (folder / "deep" / "b, final.docx").write_bytes(
        docx([("Heading1", "Scope"), ("", "The lamp of the mixed orchard met a coin.")])
    )
    (folder / "page.html").write_text("<title>Signals</title><p>The signal met the mirror.</p>")
    (folder / "locked.pdf").write_bytes(encrypted_pdf())
    (folder / "scan.pdf").write_bytes(pdf([[]]))
    (folder / "torn.docx").write_bytes(b"PK torn")
    (folder / "photo.jpg").write_bytes(b"\xff")
    (folder / "deep" / "up").symlink_to(folder)
    with house_at(tmp_path / "home") as house:
        init_corpus(folder, house.home, CORPUS, SETTINGS_TABLES)
        yield house


@pytest.fixture
def converted(monkeypatch: pytest.MonkeyPatch) -> list[bytes]:
    """The content of each file that was converted."""
    seen: list[bytes] = []
    convert = Converter.convert

    def noted(self: Converter, suffix: str, content: bytes):
        seen.append(content)
        return convert(self, suffix, content)

    monkeypatch.setattr(Converter, "convert", noted)
    return seen


def read(house: House) -> None:
    assert house.run(["bm25"], CORPUS).is_complete


@pytest.mark.slow
def test_mixed_folder_is_read_through_a_link_once_per_file(
    house: House, converted: list[bytes], tmp_path: Path
) -> None:
    read(house)
    folder = tmp_path / "papers"
    documents = {r["document_id"]: r for r in house.table("documents", CORPUS).to_pylist()}
    titles = {document_id: row["title"] for document_id, row in documents.items()}
    expected = {"a": "a", "a.pdf": "The Harbour", "deep--b_ final.docx": "Scope"}
    assert titles == {**expected, "page.html": "Signals"}
    line = stored_intake(house.store, CORPUS)
    assert line.startswith("4 documents; 3 rejected: ")
    assert "; 1 skipped: deep/up/: its files are read by another path" in line
    assert " locked.pdf: encrypted: " in line
    assert "; not read: 1 .jpg (gsum reads " in line
    text = documents["a.pdf"]["text"]
    locations = Locations(house.table("document_sections", CORPUS))
    assert locations("a.pdf", text.index(TOLD[1]), len(text)) == "page 2"
    assert locations("deep--b_ final.docx", 9, 20) == 'section "Scope"'
    files = [path for path in folder.rglob("*.*") if path.suffix in (".pdf", ".docx", ".html")]
    assert sorted(converted) == sorted(path.read_bytes() for path in files)

    converted.clear()
    read(house)
    assert converted == []  # hashed, not read
    (folder / "a.pdf").rename(folder / "moved.pdf")
    (folder / "page.html").write_text("<title>Signals</title><p>The signal met the clerk.</p>")
    before = stamp_of(house.home.corpora / CORPUS)
    assert before == stamp_of(folder)
    read(house)
    assert (folder / "page.html").read_bytes() in converted
    good = {(folder / name).read_bytes() for name in ("moved.pdf", "deep/b, final.docx")}
    assert not good & set(converted)  # though one is in another bucket now
    assert "moved.pdf" in house.table("converted_documents", CORPUS)["document_id"].to_pylist()

    with house_at(tmp_path / "fresh") as fresh:
        init_corpus(folder, fresh.home, CORPUS, SETTINGS_TABLES)
        read(fresh)
        assert contents(fresh, CORPUS) == contents(house, CORPUS)


def test_converted_document_is_deleted_with_its_text(
    house: House, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(House, "presented", True)  # Dagster's files are searched, too
    read(house)
    with house.instance() as instance:
        done = forget(house.pipeline(), instance, CORPUS, "a.pdf")
    assert done.n_sentences == 2
    assert list(done.leftovers) == []
    assert not (tmp_path / "papers" / "a.pdf").exists()
    assert "a.pdf" not in house.table("converted_documents", CORPUS)["document_id"].to_pylist()
