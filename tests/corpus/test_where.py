"""Conditions on documents are one expression, evaluated without access to anything else."""

import json
from datetime import date
from pathlib import Path

import pyarrow as pa
import pytest

from gsum_assets.corpus.where import COLUMNS, documents_where
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES

METADATA = {
    "mill": {"date": "2024-05-01", "kind": "minutes", "year": "2024", "tags": ["water", 1]},
    "ferry": {
        "date": "2023-01-31",
        "kind": "letter",
        "year": 2023,
        "draft": True,
        "ward": {"n": 1},
    },
    "inn": {"Kind": "minutes", "title": "other", "no": "3a", "the place": "east"},
    "bell": None,
}
DOCUMENTS = pa.Table.from_pylist(
    [
        {
            **{"document_id": name, "title": f"The {name}", "text": "", "n_words": 10 * len(name)},
            **{"cites": None, "encoding": "utf-8"},
            "metadata": json.dumps(values) if values else None,
            "date": date.fromisoformat(str(values["date"]))
            if values and "date" in values
            else None,
        }
        for name, values in METADATA.items()
    ],
    TABLES["documents"].schema,
).select(list(COLUMNS))


@pytest.mark.parametrize(
    ("condition", "ids"),
    [
        ("date >= '2024-01-01' and kind = 'minutes'", ["mill"]),
        ("kind = 'minutes'", ["inn", "mill"]),
        ("date is null", ["bell", "inn"]),
        ("year(date) = 2023 and metadata->>'date' like '2023-01%'", ["ferry"]),
        ("year >= 2024", ["mill"]),
        ("year = '2023' or no = '3a'", ["ferry", "inn"]),
        ("draft", ["ferry"]),
        ("'water' in tags", ["mill"]),
        ("n_words > 40 -- by length", ["ferry"]),
        ("title ilike '%INN'", ["inn"]),
        ("metadata->>'kind' = 'minutes'", ["mill"]),
        ("ward->>'n' = '1'", ["ferry"]),
        ("\"the place\" = 'east'", ["inn"]),
        ("document_id in ('mill', 'bell')", ["bell", "mill"]),
        ("false", []),
    ],
)
def test_documents_that_fulfil_a_condition(condition: str, ids: list[str]) -> None:
    assert documents_where(DOCUMENTS, condition) == ids


@pytest.mark.parametrize(
    ("condition", "message"),
    [
        ("knd = 'minutes'", "knd.*the columns are document_id, .*, date_source, draft, Kind, no"),
        ("date >", "syntax error"),
        ("true); drop table documents; select (true", "one condition|Only SELECT"),
        ("true) union select ('x'", "one condition|syntax"),
        ("true) limit (1", "one condition|syntax"),
        ("document_id in (select document_id from documents)", "without subqueries"),
        ("exists(select * from duckdb_settings())", "without subqueries"),
        ("document_id = (select content from read_text('/etc/hostname'))", "without subqueries"),
        ("getenv('HOME') = ''", "getenv"),
        ("title = 3", "where: "),
        (" ", "is empty"),
        ("count(*) > 1", "where: "),
    ],
)
def test_other_conditions_are_refused(condition: str, message: str) -> None:
    with pytest.raises(CorpusError, match=f"(?s)where: .*{message}|{message}"):
        documents_where(DOCUMENTS, condition)


def test_condition_reads_and_writes_no_file(tmp_path: Path) -> None:
    file = tmp_path / "secret.csv"
    file.write_text("a\n1\n")
    for condition in (
        f"document_id in (from '{file}')",
        f"true); copy documents to '{tmp_path}/copy.csv'; select (true",
        "true); set enable_external_access = true; select (true",
        "true); install httpfs; select (true",
    ):
        with pytest.raises(CorpusError):
            documents_where(DOCUMENTS, condition)
    assert [path.name for path in tmp_path.iterdir()] == ["secret.csv"]
