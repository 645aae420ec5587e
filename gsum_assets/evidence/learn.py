"""What a network is fine-tuned on: questions with marked evidence, or simulated ones."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from gsum_assets.evidence.finetuning import Epoch, fine_tune
from gsum_assets.evidence.network import Network, edges_of
from gsum_assets.evidence.rank import judge
from gsum_assets.evidence.sentence_index import SentenceIndex
from gsum_assets.evidence.settings import TrainingSettings
from gsum_assets.evidence.training import Example
from gsum_assets.evidence.weights import packed
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.words import Words
from gsum_resources.protocols.models import Embedder
from gsum_resources.store.arrow import pc
from gsum_resources.store.checkpoints import learnt_hash
from gsum_resources.store.content_hash import hash_texts

DEFAULT_SPLIT = "train"
MARKED, SIMULATED, PACKAGED = "marked", "simulated", "packaged"
PROBABLE = 0.5  # a passage that the packaged network finds more likely than not


class Lessons(NamedTuple):
    """Questions with the passages that hold evidence for each.

    Attributes
    ----------
    texts : the questions as they were asked, `(n_questions,)`.
    evidence : ids of passages by question.
    """

    data: str
    questions: Questions
    texts: Sequence[str]
    evidence: Mapping[str, frozenset[str]]

    def documents(self, collection: Collection) -> set[str]:
        """Return the documents that the questions search."""
        present, named = set(collection.document_ids), set(self.questions.document_ids)
        return present if None in named else present & named

    def at_most(self, n: int) -> "Lessons":
        """Return n questions, those with the smallest hashes, in the same order."""
        ids = self.questions.ids
        smallest = sorted(range(len(ids)), key=lambda i: hash_texts([ids[i]]))[:n]
        chosen = sorted(smallest)
        return self._replace(
            questions=self.questions.take(chosen), texts=[self.texts[i] for i in chosen]
        )


class Learnt(NamedTuple):
    """A network with its log, what it learnt from, and a sentence that describes it."""

    network: Network
    log: Sequence[Epoch]
    data: str
    n_questions: int
    summary: str


def marked_questions(
    queries: pa.Table, query_embeddings: pa.Table, split: str | None
) -> Lessons | None:
    """Return the questions of a split with marked evidence; None if there is none.

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
    if not marked.num_rows:
        return None
    ids, marks = marked["query_id"].to_pylist(), marked["relevant_chunk_ids"].to_pylist()
    evidence = {i: frozenset(chunk_ids) for i, chunk_ids in zip(ids, marks, strict=True)}
    questions = Questions.from_tables(marked, query_embeddings)
    return Lessons(MARKED, questions, marked["text"].to_pylist(), evidence)


def simulated_questions(
    simulated: pa.Table, queries: pa.Table, chunks: pa.Table, split: str | None, embedder: Embedder
) -> Lessons:
    """Return simulated questions about the documents of a split, each with its source passage.

    Without questions of the split that name a document, those about all documents are returned.

    Parameters
    ----------
    simulated : rows of `gor.simulated_queries`; those whose source is not in `chunks` are left out.
    split : None: 'train'.
    """
    present = chunks["chunk_id"].combine_chunks()
    simulated = simulated.filter(pc.is_in(simulated["chunk_id"], value_set=present))
    of_split = queries.filter(pc.equal(queries["split"], split or DEFAULT_SPLIT))
    if named := set(of_split["document_id"].to_pylist()) - {None}:
        chosen = pc.is_in(simulated["document_id"], value_set=pa.array(sorted(named), pa.string()))
        simulated = simulated.filter(chosen)
    simulated = simulated.sort_by([("document_id", "ascending"), ("round", "ascending")])
    ids, texts = simulated["query_id"].to_pylist(), simulated["text"].to_pylist()
    vectors = embedder.embed_queries(texts) if texts else np.empty((0, embedder.dimension))
    sources = simulated["chunk_id"].to_pylist()
    evidence = {i: frozenset([source]) for i, source in zip(ids, sources, strict=True)}
    questions = Questions(ids, texts, simulated["document_id"].to_pylist(), vectors)
    return Lessons(SIMULATED, questions, texts, evidence)


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


def with_probable(examples: Sequence[Example], network: Network) -> list[Example]:
    """Return the examples with the passages added that a network finds more likely than not.

    The source passage of a simulated question is seldom all that answers it. Trained on sources
    alone, a network learns that neighbours hold no evidence, and finds less (`docs/evidence.md`).
    """
    return [
        replace(
            example,
            is_evidence=example.is_evidence
            | (network.probabilities(network.scaled(example.features), example.edges) > PROBABLE),
        )
        for example in examples
    ]


def learnt(
    examples: Sequence[Example], packaged: Network, settings: TrainingSettings, data: str
) -> Learnt:
    """Return the packaged network, trained further if that helps on held-out documents."""
    usable = [example for example in examples if example.is_evidence.any()]
    n = len(usable)
    if n < settings.least_questions:
        summary = f"the packaged weights are used: {_too_few(n, data, settings)}"
        return Learnt(packaged, [], PACKAGED, 0, summary)
    if data == SIMULATED:
        usable = with_probable(usable, packaged)
    network, log = fine_tune(usable, packaged, settings)
    before, after = log[0].held_out_ap, log[-1].held_out_ap
    change = f"average precision on held-out documents {before:.3f} before, {after:.3f} after"
    if after <= before:
        return Learnt(
            packaged,
            log,
            PACKAGED,
            0,
            f"the packaged weights are used: training on {n} {data} "
            f"questions does not help; {change}",
        )
    return Learnt(network, log, data, n, f"learnt from {n} {data} questions; {change}")


def _too_few(n: int, data: str, settings: TrainingSettings) -> str:
    """Return why so few questions train no network, and what the user can do."""
    split = settings.split or DEFAULT_SPLIT
    remedy = f"mark evidence (relevant_spans) of questions of the split '{split}'"
    if data == SIMULATED and not settings.simulated:
        return (
            f"no question of the split '{split}' has marked evidence; {remedy}, or train on the "
            "questions that gor simulates, with simulated = true in [evidence.training]"
        )
    least = f"{settings.least_questions} (least_questions in [evidence.training])"
    if data == SIMULATED:
        remedy += ", or simulate questions by --methods gor"
    return f"{n} {data} questions to learn from, fewer than {least}; {remedy}"


def model_rows(
    learning: Learnt, documents: set[str], settings: TrainingSettings, embedding_model: str
) -> tuple[pa.Table, pa.Table]:
    """Return the rows of `evidence.model` (one) and `evidence.training_log`."""
    is_own = learning.data != PACKAGED
    row = {
        "data": learning.data,
        "embedding_model": embedding_model,
        "n_questions": learning.n_questions,
        "learnt_from": sorted(map(learnt_hash, documents)) if is_own else [],
        "settings": json.dumps(settings.model_dump(), sort_keys=True),
        "weights": packed(learning.network),
    }
    return (
        pa.Table.from_pylist([row], TABLES["evidence.model"].schema),
        pa.Table.from_pylist(
            [epoch._asdict() for epoch in learning.log], TABLES["evidence.training_log"].schema
        ),
    )
