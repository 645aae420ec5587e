"""What a run adds to documents and removes from them is in SQL until it is forgotten."""

import duckdb
import pytest

from gsum_assets.refresh.forget import forget_deleted
from gsum_assets.refresh.step import complete_catalogue
from tests.conftest import CORPUS, House, document_in

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("only_tables")]


def rows(house: House, query: str) -> list[tuple]:
    complete_catalogue(house.workspace)
    with duckdb.connect(str(house.home.catalogue), read_only=True) as connection:
        return connection.sql(query).fetchall()


def test_a_deleted_and_a_new_document(house: House) -> None:
    (house.folder / "queries.jsonl").unlink()
    assert house.run([]).errors == []
    assert rows(house, "from changes") == []
    (house.folder / f"{document_in(1)}.txt").unlink()
    house.write_document(document_in(2, 1))
    assert house.run([]).errors == []
    changed = "select change, row_id from changes where table_name = 'documents' order by change"
    assert rows(house, changed) == [("added", document_in(2, 1)), ("removed", document_in(1))]
    assert rows(house, "select corpus, document_id from deleted_documents") == [
        (CORPUS, document_in(1))
    ]
    assert forget_deleted(house.workspace, at_once=True)
    assert rows(house, changed) == [("added", document_in(2, 1))]
    assert rows(house, "from deleted_documents") == []
