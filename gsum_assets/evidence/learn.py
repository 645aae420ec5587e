"""What a network is fine-tuned on, the questions with marked evidence, and whether it helps."""

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.network import Network, edges_of, packed
from gsum_assets.evidence.rank import judge
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.evidence.settings import TrainingSettings
from gsum_assets.evidence.training import Epoch, Example, fine_tune
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words
from gsum_resources.store.arrow import pc
from gsum_resources.store.checkpoints import learnt_hash
from gsum_resources.store.content_hash import hash_texts

DEFAULT_SPLIT = "train"
MARKED, PACKAGED = "marked", "packaged"
MOST_QUESTIONS = 1000
"""Questions of a corpus to learn from; the packaged weights have 1,095 (ours)."""


class Lessons(NamedTuple):
    """Questions with the passages that hold evidence for each.

    Attributes
    ----------
    texts : the questions as they were asked, `(n_questions,)`.
    evidence : ids of passages by question.
    """

    questions: Questions
    texts: Sequence[str]
    evidence: Mapping[str, frozenset[str]]

    def documents(self, collection: Collection) -> set[str]:
        """Return the documents that the questions search."""
        present, named = set(collection.document_ids), set(self.questions.document_ids)
        return present if None in named else present & named


class Learnt(NamedTuple):
    """A network with its log, the number of questions that it learnt from, and a summary.

    Without any question it is the packaged one.
    """

    network: Network
    log: Sequence[Epoch]
    n_questions: int
    summary: str


def marked_questions(
    queries: pa.Table, query_embeddings: pa.Table, split: str | None, most: int | None = None
) -> Lessons:
    """Return the questions of a split with marked evidence, at most `most`: the smallest hashes.

    Parameters
    ----------
    split : None: 'train'. No mark of another split is read.

    Raises
    ------
    ValueError
        If a split is named that no question has.
    """
    splits = sorted(set(queries["split"].to_pylist()) - {None, ""})
    if split is not None and split not in splits:
        named = f"splits: {', '.join(splits)}" if splits else "no question names a split"
        raise ValueError(
            f"[evidence.training] split = '{split}': there is no such split ({named}); name one "
            "of them, or leave `split` out"
        )
    marked = queries.filter(pc.equal(queries["split"], split or DEFAULT_SPLIT))
    marked = marked.filter(pc.greater(pc.list_value_length(marked["relevant_chunk_ids"]), 0))
    hashes = [hash_texts([query_id]) for query_id in marked["query_id"].to_pylist()]
    smallest = sorted(range(len(hashes)), key=hashes.__getitem__)[:most]
    marked = marked.take(pa.array(sorted(smallest), pa.int64()))
    evidence = {q["query_id"]: frozenset(q["relevant_chunk_ids"]) for q in marked.to_pylist()}
    questions = Questions.from_tables(marked, query_embeddings)
    return Lessons(questions, marked["text"].to_pylist(), evidence)


def examples_of(
    lessons: Lessons, collection: Collection, sentences: pa.Table, words: Words, n_candidates: int
) -> list[Example]:
    """Return the questions over the passages of their scopes, as at ranking.

    A question over the whole corpus is a group of its own.
    """
    questions, index = lessons.questions, SentenceIndex.of_rows(sentences)
    examples = []
    for judged in judge(collection, index, questions, lessons.texts, words, n_candidates):
        query_id = questions.ids[judged.number]
        evidence = lessons.evidence[query_id]
        examples.append(
            Example(
                questions.document_ids[judged.number] or query_id,
                judged.features,
                edges_of(judged.scope),
                np.array([chunk_id in evidence for chunk_id in judged.scope.ids]),
            )
        )
    return examples


def learnt(examples: Sequence[Example], packaged: Network, settings: TrainingSettings) -> Learnt:
    """Return the packaged network, trained further if that helps on held-out documents."""
    usable = [example for example in examples if example.is_evidence.any()]
    n = len(usable)
    if n < settings.least_questions:
        few = (
            f"the packaged weights are used: {n} questions of the split "
            f"'{settings.split or DEFAULT_SPLIT}' have marked evidence, fewer than "
            f"{settings.least_questions} (least_questions in [evidence.training]); mark evidence "
            "(relevant_spans) of more"
        )
        return Learnt(packaged, [], 0, few)
    network, log = fine_tune(usable, packaged, settings)
    before, after = log[0].held_out_ap, log[-1].held_out_ap
    change = f"average precision on held-out documents {before:.3f} before, {after:.3f} after"
    if after > before:
        return Learnt(network, log, n, f"learnt from {n} marked questions; {change}")
    useless = f"training on {n} marked questions does not help; {change}"
    return Learnt(packaged, log, 0, f"the packaged weights are used: {useless}")


def model_rows(
    learning: Learnt, documents: set[str], settings: TrainingSettings, embedding_model: str
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of `evidence.model` (one) and `evidence.training_log`."""
    is_own = learning.n_questions > 0
    row = {
        "data": MARKED if is_own else PACKAGED,
        "embedding_model": embedding_model,
        "n_questions": learning.n_questions,
        "learnt_from": sorted(map(learnt_hash, documents)) if is_own else [],
        "settings": json.dumps(settings.model_dump(), sort_keys=True),
        "weights": packed(learning.network),
    }
    log = [epoch._asdict() for epoch in learning.log]
    return (
        pa.Table.from_pylist([row], TABLES["evidence.model"].schema),
        pa.Table.from_pylist(log, TABLES["evidence.training_log"].schema),
    )
