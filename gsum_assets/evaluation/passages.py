"""Passages that answers are written from: rows of `contexts`, by question, and with labels."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.document_names import named_rows, says_more, shown_names
from gsum_assets.corpus.sections import Locations
from gsum_assets.evaluation.answer_sources import Texts
from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.protocols.models import LanguageModel

_LONGEST_TITLE = 100  # characters
LabelOf = Callable[[Mapping[str, Any]], str]
"""Returns where a row of `contexts` comes from, as a language model is shown it."""
KEY_POINT = "key point"
"""Kind of a context that a language model wrote from several passages of one question."""


@dataclass(frozen=True)
class Passage:
    """A text to read, with columns of `contexts`; a higher score is better."""

    node_id: str
    node_kind: str
    text: str
    score: float = 0.0
    document_id: str | None = None
    position: int | None = None


Choose = Callable[[dict], Sequence[Passage]]
"""Function from a row of `queries` to its passages, in reading order."""


def context_rows(queries: pa.Table, choose: Choose) -> pa.Table:
    """Return rows of `contexts`, in order of the questions' ids."""
    rows = [
        {"query_id": query["query_id"], "sample": 0, "rank": rank, **vars(passage)}
        for query in queries.sort_by("query_id").to_pylist()
        for rank, passage in enumerate(choose(query), start=1)
    ]
    return pa.Table.from_pylist(rows, TABLES["contexts"].schema)


@dataclass(frozen=True)
class Question:
    """A row of `queries`, and its rows of `contexts`, best first."""

    row: dict
    passages: Sequence[dict]

    @property
    def query_id(self) -> str:
        """Return the id of the question."""
        return self.row["query_id"]


def questions_with_passages(contexts: pa.Table, queries: pa.Table) -> list[Question]:
    """Return the questions that have a context, in order of their ids; each has one context."""
    passages_of: dict[str, list[dict]] = {}
    ordered = contexts.sort_by([("query_id", "ascending"), ("rank", "ascending")])
    for row in ordered.to_pylist():
        passages_of.setdefault(row["query_id"], []).append(row)
    known = {row["query_id"]: row for row in queries.to_pylist()}
    return [Question(known[q], passages) for q, passages in passages_of.items() if q in known]


def labels_for(model: LanguageModel, inputs: Inputs, document_ids: Sequence[str]) -> LabelOf:
    """Return the function that labels passages of documents, for a model that quotes by name."""
    rows = named_rows(inputs.tables["documents"], document_ids)
    names = shown_names(rows, _LONGEST_TITLE)
    if getattr(model, "only_quotes", False):
        return lambda row: names.get(row["document_id"], "")
    sections, chunks = (
        inputs.tables[name].rows_with("document_id", document_ids)
        for name in ("document_sections", "chunks")
    )
    return label_by(names, sections, Texts(chunks))


def label_by(names: Mapping[str, str], sections: pa.Table, texts: Texts) -> LabelOf:
    """Return the function that labels passages: "Budget (2026-05-04), page 4; Ines is speaking".

    A passage that is no chunk has its document and kind; one over several documents its kind.

    Parameters `names`: see `shown_name`, by document id; `sections`, `texts`: rows of
    `document_sections`, and the texts, of the passages' documents.
    """
    located = Locations(sections)

    def label_of(row: Mapping[str, Any]) -> str:
        chunk, document_id = texts.chunks.get(row["node_id"]), row["document_id"]
        kind = row["node_kind"].replace("_", " ")
        if kind == KEY_POINT:
            kind = f"{kind}, score {row['score']:.0f} of 100"
        if not document_id:
            return f"{kind} over several documents"
        name = names.get(document_id, document_id)
        if chunk is None:
            return f"{name}, {kind}"
        location = located(document_id, chunk["start"], chunk["end"])
        place = f"{name}, {location}" if says_more(location, name) else name
        speaker = texts.speaker_at(document_id, chunk["start"])
        return f"{place}; {speaker} is speaking" if speaker else place

    return label_of
