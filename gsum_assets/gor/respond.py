"""Answers of a language model to the simulated questions, round by round (paper, equation 3).

Round i searches the passages of its document and the responses of rounds 1 to i-1, so the rounds of
a document are sequential; documents are processed in parallel.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby, zip_longest

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.passages import LabelOf
from gsum_assets.gor.prompts import PROMPTS
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.prompts import Prompts
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.ranking import top
from gsum_assets.retrieval.vectors import vectors_of
from gsum_resources.protocols.models import Completion, Embedder, LanguageModel, Request
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.text.refusals import refusal_in

# On training meetings of QMSum, ROUGE of answers hardly depends on it between 40 and 120 words; at
# 40 words every sixth response nearly repeats an earlier one.
MAX_WORDS = 60
_DECIMALS = 6  # as in `retrieval.dense`: equal texts score equally on every machine


@dataclass
class _Memory:
    """The nodes of one document that the next round can retrieve.

    Attributes `ids`, `texts`: those of the nodes in reading order: passages by position, then
    responses by round; `vectors`: embeddings of the nodes, `(dim,)` each.
    """

    ids: list[str]
    texts: list[str]
    vectors: list[np.ndarray]

    def nearest(self, query: np.ndarray, k: int) -> list[int]:
        """Return indices of the k nodes with the largest inner product with `query`, best first."""
        scores = np.round(np.stack(self.vectors) @ query, _DECIMALS)
        return top(scores[None], self.ids, k)[0].tolist()

    def add(self, node_id: str, text: str, vector: np.ndarray) -> None:
        """Add a node for the following rounds."""
        self.ids.append(node_id)
        self.texts.append(text)
        self.vectors.append(vector)


def respond(
    queries: pa.Table,
    chunks: pa.Table,
    chunk_embeddings: pa.Table,
    model: LanguageModel,
    embedder: Embedder,
    k: int = 6,
    on_progress: Callable[[int, int], None] = lambda *_: None,
    prompts: Prompts = PROMPTS,
    label_of: LabelOf | None = None,
) -> Result:
    """Answer every simulated question from the k nearest nodes of its round.

    A round without a valid reply, or with one that says that what was retrieved does not answer,
    adds no node; later rounds continue.

    Return rows of `gor.historical_responses` by document and round, and the number of questions
    that were `not_answered`.

    Parameters
    ----------
    queries, chunks, chunk_embeddings : rows of one corpus, questions of `gor.simulated_queries`.
    embedder : the embedder of `chunk_embeddings`.
    k : nodes retrieved for a question (paper, section 3.1: 6).
    on_progress : called with the number of questions done and the total.
    label_of : returns where a passage comes from, which is shown before it; None: not shown.

    Raises `ValueError` if the chunks' vectors are of another length than the embedder's.
    """
    ordered = queries.sort_by([("document_id", "ascending"), ("round", "ascending")])
    questions = ordered.select(["query_id", "document_id", "round", "text"]).to_pylist()
    embedded = embedder.embed_queries([row["text"] for row in questions]) if questions else []
    for row, vector in zip(questions, embedded, strict=True):
        row["query_embedding"] = vector
    by_document = [list(rows) for _, rows in groupby(questions, lambda row: row["document_id"])]
    memories = _memories(chunks, chunk_embeddings, embedder)
    quotes = getattr(model, "only_quotes", False)  # it refuses nothing
    responses: list[dict] = []
    failures: list[str] = []
    n_done = n_refused = 0
    for nth_questions in zip_longest(*by_document):  # the first of all documents, the second, …
        wave = [row for row in nth_questions if row is not None]
        nearest = [memories[row["document_id"]].nearest(row["query_embedding"], k) for row in wave]
        requests = [
            _request(row, memories[row["document_id"]], sorted(indices), prompts, label_of)
            for row, indices in zip(wave, nearest, strict=True)
        ]
        answered = []
        for row, indices, reply in zip(wave, nearest, model.complete(requests), strict=True):
            text = reply.text.strip() if isinstance(reply, Completion) else ""
            if not isinstance(reply, Completion) or not text:
                why = "the reply is empty" if isinstance(reply, Completion) else reply.message
                at = f"document '{row['document_id']}', round {row['round']}"
                failures.append(f"{at}: no response: {why}")
            elif not quotes and refusal_in(text) is not None:
                n_refused += 1
            else:
                ids = memories[row["document_id"]].ids
                answered.append(_row(row, [ids[i] for i in indices], text, reply))
        vectors = embedder.embed([row["text"] for row in answered]) if answered else []
        for row, vector in zip(answered, vectors, strict=True):
            memories[row["document_id"]].add(row["response_id"], row["text"], vector)
        responses += answered
        n_done += len(wave)
        on_progress(n_done, len(questions))
    responses.sort(key=lambda row: (row["document_id"], row["round"]))
    vectors = np.array([row.pop("query_embedding") for row in responses], np.float32)
    column = vector_column(vectors.reshape(len(responses), embedder.dimension))
    schema = TABLES["gor.historical_responses"].schema
    rows = pa.Table.from_pylist(responses, schema.remove(schema.get_field_index("query_embedding")))
    return Result(
        rows.append_column("query_embedding", column),
        failures,
        shown=lambda: {"historical_responses": {"not_answered": n_refused}},
    )


def _memories(
    chunks: pa.Table, chunk_embeddings: pa.Table, embedder: Embedder
) -> Mapping[str, _Memory]:
    """Return the passages of each document."""
    ordered = chunks.sort_by([("document_id", "ascending"), ("position", "ascending")])
    rows = ordered.select(["document_id", "chunk_id", "text"]).to_pylist()
    vectors = vectors_of(chunk_embeddings, [row["chunk_id"] for row in rows])
    if rows and vectors.shape[1] != embedder.dimension:
        raise ValueError(
            f"gor: chunk_embeddings hold vectors of {vectors.shape[1]} dimensions, the embedding "
            f"model '{embedder.identity}' has {embedder.dimension}; materialize chunk_embeddings"
        )
    memories: dict[str, _Memory] = defaultdict(lambda: _Memory([], [], []))
    for row, vector in zip(rows, vectors, strict=True):
        memories[row["document_id"]].add(row["chunk_id"], row["text"], vector)
    return memories


def _request(
    question: dict,
    memory: _Memory,
    indices: Sequence[int],
    prompts: Prompts,
    label_of: LabelOf | None,
) -> Request:
    """Return the request for a response from some nodes of a document."""
    document_id, labels = question["document_id"], ()
    if label_of:  # a response is no chunk, and so has its title alone
        kind = {"node_kind": "note", "document_id": document_id}
        labels = tuple(label_of({"node_id": memory.ids[i], **kind}) for i in indices)
    return Request(
        task="answer",
        instructions=prompts.text("response", max_words=MAX_WORDS),
        question=question["text"],
        passages=tuple(memory.texts[i] for i in indices),
        labels=labels,
        max_words=MAX_WORDS,
        document_id=document_id,
    )


def _row(question: dict, node_ids: list[str], text: str, reply: Completion) -> dict:
    return {
        **question,
        "response_id": hash_texts([question["document_id"], question["query_id"], text]),
        "text": text,
        "node_ids": node_ids,
        "model": reply.model,
        "tokens_in": reply.tokens_in,
        "tokens_out": reply.tokens_out,
    }
