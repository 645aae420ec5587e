"""Answers of a language model to the simulated questions, round by round (paper, equation 3).

Round i searches the passages of its document and the responses of rounds 1 to i-1, so the rounds of
a document are sequential; documents are processed in parallel.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.passages import LabelOf
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.retrieval.ranking import top
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.protocols.models import Completion, Embedder, LanguageModel, Request
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.refusals import refusal_in

# 60 words are 75 tokens, and use 3.6 of the 6 nodes on average. On 32 training meetings of QMSum,
# answers over passages and responses of 40, 60, 90 and 120 words had ROUGE-1 / ROUGE-L of 27.2 /
# 15.8, 27.6 / 15.9, 27.4 / 15.8 and 27.2 / 15.8 (202 specific questions, 1,536 tokens read) and of
# 33.4 / 17.8, 33.9 / 17.5, 33.8 / 17.1 and 33.2 / 17.1 (32 general ones). Length hardly matters;
# shorter responses cost less, but at 40 words every sixth response nearly repeats an earlier one.
MAX_WORDS = 60
_DECIMALS = 6  # as in `retrieval.dense`: equal texts score equally on every machine


@dataclass
class _Memory:
    """The nodes that the next round of one document can retrieve.

    Attributes
    ----------
    vectors : embeddings of the nodes, `(n_chunks + n_rounds, dim)`, filled up to `len(ids)`.
    order : index of each node in reading order: passages by position, then responses by round.
    """

    ids: list[str]
    texts: list[str]
    vectors: np.ndarray
    order: dict[str, int] = field(init=False)

    def __post_init__(self) -> None:
        self.order = {node_id: i for i, node_id in enumerate(self.ids)}

    def nearest(self, query: np.ndarray, k: int) -> list[str]:
        """Return the ids of the k nodes with the largest inner product with `query`, best first."""
        scores = np.round(self.vectors[: len(self.ids)] @ query, _DECIMALS)
        return [self.ids[i] for i in top(scores[None], self.ids, k)[0]]

    def read(self, node_ids: Sequence[str]) -> list[tuple[str, str]]:
        """Return ids and texts of nodes in reading order."""
        return [(self.ids[i], self.texts[i]) for i in sorted(self.order[n] for n in node_ids)]

    def keep(self, node_id: str, text: str, vector: np.ndarray) -> None:
        """Add a response for the following rounds."""
        self.vectors[len(self.ids)] = vector
        self.order[node_id] = len(self.ids)
        self.ids.append(node_id)
        self.texts.append(text)


def respond(
    queries: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    model: LanguageModel,
    embedder: Embedder,
    k: int = 6,
    max_words: int = MAX_WORDS,
    on_progress: Callable[[int, int], None] | None = None,
    prompts: Prompts = PROMPTS,
    label_of: LabelOf | None = None,
) -> Result:
    """Answer every simulated question from the k nearest nodes of its round.

    A round without a valid reply, or with one that says that what was retrieved does not answer,
    adds no node; later rounds continue.

    Parameters
    ----------
    queries : rows of `gor.simulated_queries` of one corpus.
    chunks, chunk_embeddings : rows of these tables for the same documents, in any order.
    embedder : the embedder of `chunk_embeddings`.
    k : nodes retrieved for a question (paper, section 3.1: 6).
    max_words : length of a response, in words.
    on_progress : called with the number of questions done and the total.
    label_of : returns where a passage comes from, which is shown before it; None: not shown.

    Returns
    -------
    Result
        Rows of `gor.historical_responses` ordered by document and round, and the number of
        questions that were `not_answered`.

    Raises
    ------
    ValueError
        If a document has questions but no chunks, or its vectors are of another length than the
        embedder's.
    """
    ordered = queries.sort_by([("document_id", "ascending"), ("round", "ascending")])
    asked = ordered.select(["query_id", "document_id", "round", "text"]).to_pylist()
    vectors = embedder.embed_queries([row["text"] for row in asked]) if asked else []
    questions = [
        {**row, "query_embedding": vector} for row, vector in zip(asked, vectors, strict=True)
    ]
    memories = _memories(questions, chunks, chunk_embeddings, embedder)
    rows: list[dict] = []
    failures: list[str] = []
    n_done = n_refused = 0
    documents = [list(rows) for _, rows in groupby(questions, key=lambda row: row["document_id"])]
    for nth_questions in zip_longest(*documents):  # the first of all documents, the second, …
        wave = [row for row in nth_questions if row is not None]
        answered, failed = _answer(wave, memories, model, k, max_words, prompts, label_of)
        n_refused += len(wave) - len(answered) - len(failed)
        embedded = embedder.embed([row["text"] for row in answered]) if answered else []
        for row, vector in zip(answered, embedded, strict=True):
            memories[row["document_id"]].keep(row["response_id"], row["text"], vector)
        rows += answered
        failures += failed
        n_done += len(wave)
        if on_progress:
            on_progress(n_done, len(questions))
    rows.sort(key=lambda row: (row["document_id"], row["round"]))
    return Result(
        _table(rows, embedder.dimension),
        failures,
        shown=lambda: {"historical_responses": {"not_answered": n_refused}},
    )


def _answer(
    wave: Sequence[dict],
    memories: Mapping[str, _Memory],
    model: LanguageModel,
    k: int,
    max_words: int,
    prompts: Prompts,
    label_of: LabelOf | None,
) -> tuple[list[dict], list[str]]:
    """Return the responses to one question of each document, and the failures.

    A question that is neither answered nor failed was refused: the passages do not answer it.
    """
    nearest = [memories[row["document_id"]].nearest(row["query_embedding"], k) for row in wave]
    replies = model.complete(
        [
            _request(row, memories[row["document_id"]].read(node_ids), max_words, prompts, label_of)
            for row, node_ids in zip(wave, nearest, strict=True)
        ]
    )
    answered, failed = [], []
    quotes = getattr(model, "only_quotes", False)  # it says nothing of its own
    for row, node_ids, reply in zip(wave, nearest, replies, strict=True):
        if isinstance(reply, Completion) and reply.text.strip():
            if quotes or refusal_in(reply.text) is None:
                answered.append(_row(row, node_ids, reply))
        else:
            why = "the reply is empty" if isinstance(reply, Completion) else reply.message
            failed.append(
                f"document '{row['document_id']}', round {row['round']}: no response: {why}"
            )
    return answered, failed


def _request(
    question: dict,
    nodes: Sequence[tuple[str, str]],
    max_words: int,
    prompts: Prompts,
    label_of: LabelOf | None,
) -> Request:
    document_id, labels = question["document_id"], ()
    if label_of:  # a response is no chunk, and so has its title alone
        rows = [{"node_id": i, "node_kind": "note", "document_id": document_id} for i, _ in nodes]
        labels = tuple(map(label_of, rows))
    return Request(
        task="answer",
        instructions=prompts.text("response", max_words=max_words),
        question=question["text"],
        passages=tuple(text for _, text in nodes),
        labels=labels,
        max_words=max_words,
        document_id=document_id,
    )


def _memories(
    questions: Sequence[dict], chunks: pa.Table, chunk_embeddings: pa.Table, embedder: Embedder
) -> dict[str, _Memory]:
    """Return each document's passages, with room for its responses."""
    n_rounds: dict[str, int] = {}
    for row in questions:
        n_rounds[row["document_id"]] = n_rounds.get(row["document_id"], 0) + 1
    ordered = chunks.sort_by([("document_id", "ascending"), ("position", "ascending")])
    rows = ordered.select(["document_id", "chunk_id", "text"]).to_pylist()
    vectors = vectors_of(chunk_embeddings, [row["chunk_id"] for row in rows])
    if rows and vectors.shape[1] != embedder.dimension:
        raise ValueError(
            f"gor: chunk_embeddings hold vectors of {vectors.shape[1]} dimensions, the embedding "
            f"model '{embedder.identity}' has {embedder.dimension}; materialize chunk_embeddings"
        )
    memories, start = {}, 0
    for document_id, group in groupby(rows, key=lambda row: row["document_id"]):
        passages = list(group)
        end = start + len(passages)
        if document_id in n_rounds:
            room = np.zeros((n_rounds[document_id], vectors.shape[1]), np.float32)
            memories[document_id] = _Memory(
                [row["chunk_id"] for row in passages],
                [row["text"] for row in passages],
                np.concatenate([vectors[start:end], room]),
            )
        start = end
    if lacking := sorted(n_rounds.keys() - memories.keys()):
        raise ValueError(
            f"gor: {len(lacking)} of {len(n_rounds)} documents have simulated queries but no "
            f"chunks (first: '{lacking[0]}'); materialize gor/simulated_queries"
        )
    return memories


def _row(question: dict, node_ids: list[str], reply: Completion) -> dict:
    text = reply.text.strip()
    return {
        **question,
        "response_id": hash_texts([question["document_id"], question["query_id"], text]),
        "text": text,
        "node_ids": node_ids,
        "model": reply.model,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
    }


def _table(rows: Sequence[dict], dimension: int) -> pa.Table:
    vectors = [row["query_embedding"] for row in rows]
    stacked = np.stack(vectors) if vectors else np.empty((0, dimension), np.float32)
    columns = {
        "response_id": pa.string(),
        "document_id": pa.string(),
        "query_id": pa.string(),
        "round": pa.int32(),
        "text": pa.string(),
        "node_ids": pa.list_(pa.string()),
        "model": pa.string(),
        "tokens_in": pa.int32(),
        "tokens_out": pa.int32(),
    }
    arrays = {name: pa.array([row[name] for row in rows], kind) for name, kind in columns.items()}
    return pa.table({**arrays, "query_embedding": vector_column(stacked)})
