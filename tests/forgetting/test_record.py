"""No name of a person and no title of a document stands in what Dagster keeps."""

from pathlib import Path

import pytest

from gsum_assets.runner.run import refresh
from gsum_resources.llm.extractive import ExtractiveModel
from tests.conftest import CORPUS
from tests.growing.choices import SMALL
from tests.models import HashEmbedder
from tests.pipeline.homes import house_at

METHODS = ["graphrag-c0", "gor", "jerr-search", "passage_walk"]
WORDS = ("zephyrine", "quandt", "kestrelmoor")
ONE = """# The Kestrelmoor ledger

Zephyrine Quandt kept the ledger of the harbour. Zephyrine Quandt met Teo Lisk at Tarnholt, and Teo
Lisk signed the ledger. The skipper of the ferry told Zephyrine Quandt that the jetty was closed.
"""
OTHER = "Teo Lisk closed the jetty at Tarnholt. Ines Quell told Teo about the ferry in winter. "


def settings() -> str:
    lines = []
    for table, values in SMALL.items():
        lines.append(f"[{table}]")
        for key, value in values.items():
            shown = str(value).lower() if isinstance(value, bool) else repr(value)
            lines.append(f"{key} = {shown}")
    return "\n".join(lines).replace("'", '"')


def kept_by_dagster(folder: Path) -> dict[str, str]:
    """The content of all files under Dagster's folder, in lower case."""
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {str(path): path.read_bytes().decode("utf-8", "ignore").lower() for path in files}


@pytest.mark.slow
def test_person_of_a_forgotten_document_is_nowhere(tmp_path: Path) -> None:
    with house_at(tmp_path) as house:
        house.model = ExtractiveModel(HashEmbedder())  # type: ignore[assignment]
        (house.folder / "one.md").write_text(ONE * 3)
        for name in ("two", "three"):
            (house.folder / f"{name}.md").write_text(f"{OTHER} This is note {name}. " * 4)
        question = {"query_id": "q", "text": "What did Zephyrine Quandt keep?", "references": ["A"]}
        house.write_queries([question])
        (house.folder / "corpus.toml").write_text(settings())
        with house.instance() as instance:
            pipeline = house.pipeline()
            assert refresh(pipeline, instance, CORPUS, METHODS).errors == []
            named = [house.table(name)["name"] for name in ("graphrag.entities", "jerr.nodes")]
            assert all("zephyrine" in str(names.to_pylist()).lower() for names in named)
            (house.folder / "one.md").unlink()
            assert refresh(pipeline, instance, CORPUS, METHODS).errors == []
        record = kept_by_dagster(house.home.dagster)
        assert any("row_count" in text for text in record.values())  # can be read
        holding = {(path, word) for path, text in record.items() for word in WORDS if word in text}
        assert holding == set()
