"""The steps of the index in memory: each size of line chunks has an index of its own."""

from typing import Any

import pyarrow as pa

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.jerr.index import INDEX
from gsum_assets.jerr.prompts import PROMPTS
from gsum_assets.jerr.sizes import rows_of_size
from gsum_assets.pipeline.step import Inputs, run
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.lazy import Lazy
from tests.gor.toy_documents import STORIES
from tests.models import FirstWords, HashEmbedder

DOCUMENTS = pa.Table.from_pylist(
    [
        {"document_id": name, "title": name, "text": "\n".join(lines)}
        for name, lines in (("a", STORIES[:3]), ("b", STORIES[3:]))
    ]
)


class Settings:
    def __init__(self, *sizes: int) -> None:
        self._sizes = sizes

    def section(self, corpus: str, name: str) -> Any:
        if name.startswith("prompts.jerr."):
            return PROMPTS.built_in[name.split(".")[-1]].text
        most, *others = self._sizes
        chunking = {"max_tokens": most, "ablations": others}
        return {"jerr.chunking": chunking, "jerr.index": {"synopsis_words": 10}}[name]


def inputs(model: LanguageModel, *sizes: int, documents: pa.Table = DOCUMENTS) -> Inputs:
    given = {"documents": Lazy.of(documents), "language_model": Lazy.of(model)}
    return Inputs({**given, "corpus_settings": Settings(*sizes)}, "tales", method="jerr")


def test_sizes_are_independent() -> None:
    model = ExtractiveModel(HashEmbedder())
    both = run(INDEX, inputs(model, 50, 100))
    assert set(both) == {name for step in INDEX for name in step.writes}
    for size in (50, 100):
        alone = run(INDEX, inputs(model, size))
        assert alone["nodes"].num_rows
        for name in set(both) - {"pages"}:
            assert rows_of_size(both[name], size).equals(alone[name]), name


def test_no_documents_give_all_tables_without_rows() -> None:
    written = run(INDEX, inputs(FirstWords(), 50, documents=DOCUMENTS.slice(0, 0)))
    assert {name for step in INDEX for name in step.writes} == set(written)
    assert not any(rows.num_rows for rows in written.values())


def test_missing_items_are_reported_for_every_size() -> None:
    step = next(step for step in INDEX if step.table == "synopses")
    there = inputs(FirstWords(refuses="bridge"), 50, 100)
    found = step.result(there.with_tables(run(INDEX[:1], there)))
    chunks = run(INDEX[:1], there)["line_chunks"]
    assert len(found.failures) == chunks.num_rows - found.rows.num_rows > 0
    refused = [row["max_tokens"] for row in chunks.to_pylist() if "bridge" in row["text"]]
    assert set(refused) == {50, 100}
    assert len(found.failures) == len(refused)


def test_line_chunks_are_as_full_as_can_be() -> None:
    lines = [f"The ferry left at {n} and was late." for n in range(20)]
    documents = pa.Table.from_pylist([{"document_id": "a", "title": "a", "text": "\n".join(lines)}])
    there = inputs(FirstWords(), 50, documents=documents)
    *full, _ = run(INDEX[:1], there)["line_chunks"].to_pylist()
    most = max(n_word_pieces(lines))
    assert all(row["n_tokens"] + most > 50 for row in full)
