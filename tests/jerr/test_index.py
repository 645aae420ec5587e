"""The steps of the index in memory: each size of line chunks has an index of its own."""

from typing import Any

import pyarrow as pa

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
        return {"jerr.chunking": chunking}[name]


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
