"""Vectors of sentences that an index has, lent to the model that chooses sentences of passages.

`extractive` reads the sentences of every passage that it answers from. Where the passages are those
of a corpus whose sentences `evidence` has embedded with the same model, it need not embed them.
"""

from collections.abc import Mapping
from contextlib import suppress

import numpy as np

from gsum_assets.answering.workspace import Workspace
from gsum_assets.evidence.sentence_index import SentenceIndex, kept_sentences
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.store.array_cache import ArrayCache
from gsum_resources.text.sentences import read_sentences

_TABLE = "evidence.sentences"
_ALIKE = 0.999  # cosine of one text's vectors; two runtimes of a model differ by 1e-6


def lend_vectors(workspace: Workspace, corpus: str, passages: Mapping[str, str]) -> None:
    """Give the model of answers the vectors of the sentences of passages, texts by chunk id."""
    model = workspace.models.bare("answers")
    if not isinstance(model, ExtractiveModel) or model.embedder is not workspace.models.embedder:
        return
    new = {chunk_id: text for chunk_id, text in passages.items() if not model.has_read(text)}
    if not new or not (index := _index(workspace, corpus, model)):
        return
    stored = index.of(list(new))
    for number, text in enumerate(new.values()):
        sentences = [sentence.embedded for sentence in read_sentences([text])]
        vectors = stored.vectors_of(number)
        if len(vectors) and len(vectors) == len(sentences):
            model.learn(text, dict(zip(sentences, vectors, strict=True)))


def _index(workspace: Workspace, corpus: str, model: ExtractiveModel) -> SentenceIndex | None:
    """Return the sentences of a corpus; None if there are none of the same embedder at hand."""
    table = workspace.rows(_TABLE, corpus)
    n_chunks = workspace.rows("chunks", corpus).columns(["chunk_id"]).num_rows

    def read() -> SentenceIndex | None:
        index = kept_sentences(table, n_chunks, ArrayCache(workspace.store, corpus))
        if index is None:
            raise LookupError  # it may be written later
        return index if _is_of(index, workspace, corpus, model) else None

    with suppress(LookupError):
        return workspace.kept.get((corpus, _TABLE), table.version(), read)
    return None


def _is_of(index: SentenceIndex, workspace: Workspace, corpus: str, model: ExtractiveModel) -> bool:
    """Return whether the vectors are those of the model's embedder, by one of them."""
    chunks = workspace.rows("chunks", corpus)
    for chunk_id in chunks.columns(["chunk_id"])["chunk_id"].slice(0, 20).to_pylist():
        stored = index.of([chunk_id]).vectors
        if len(stored):
            (text,) = chunks.rows_with("chunk_id", [chunk_id])["text"].to_pylist()
            first = read_sentences([text])[0].embedded
            vector = model.embedder.embed([first])[0]
            same_length = vector.shape == stored[0].shape
            return same_length and float(np.dot(vector, stored[0])) > _ALIKE
    return False
