"""Where the passages of an answer come from, as a language model is shown it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import pyarrow as pa

from gsum_assets.corpus.sections import Locations
from gsum_assets.evaluation.answer_sources import Texts
from gsum_assets.evaluation.passages import KEY_POINT
from gsum_assets.pipeline.step import Inputs
from gsum_resources.protocols.models import LanguageModel

_LONGEST_TITLE = 100  # characters
LabelOf = Callable[[Mapping[str, Any]], str]
"""Returns the label of a row of `contexts`, by its node and document."""


def labels_for(model: LanguageModel, inputs: Inputs, document_ids: Sequence[str]) -> LabelOf | None:
    """Return the function that labels passages of documents; None: `model` reads no labels."""
    if getattr(model, "only_quotes", False):
        return None
    documents = inputs.tables["documents"].columns(["document_id", "title"]).to_pylist()
    titles = {row["document_id"]: row["title"] for row in documents}
    sections, chunks = (
        inputs.tables[name].rows_with("document_id", document_ids)
        for name in ("document_sections", "chunks")
    )
    return label_by(titles, sections, Texts(chunks))


def label_by(titles: Mapping[str, str], sections: pa.Table, texts: Texts) -> LabelOf:
    """Return the function that labels passages: "Budget 2026, page 4; Ines is speaking".

    A passage that is no chunk has its document and kind; one over several documents its kind.

    Parameters
    ----------
    titles : titles of the documents by id.
    sections : rows of `document_sections` of the passages' documents.
    texts : these documents.
    """

    located = Locations(sections)

    def label_of(row: Mapping[str, Any]) -> str:
        chunk, document_id = texts.chunks.get(row["node_id"]), row["document_id"]
        kind = row["node_kind"].replace("_", " ")
        if kind == KEY_POINT:
            kind = f"{kind}, score {row['score']:.0f} of 100"
        if not document_id:
            return f"{kind} over several documents"
        title = titles.get(document_id, document_id)[:_LONGEST_TITLE]
        if chunk is None:
            return f"{title}, {kind}"
        location = located(document_id, chunk["start"], chunk["end"])
        place = f"{title}, {location}" if location not in ("", f'section "{title}"') else title
        speaker = texts.speaker_at(document_id, chunk["start"])
        return f"{place}; {speaker} is speaking" if speaker else place

    return label_of
