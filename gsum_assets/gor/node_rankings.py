"""Target rankings of the nodes of a document for its simulated questions (paper, section 2.3).

A question was written from one chunk, so nodes similar to that chunk are likely to answer it: all
nodes of the document, chunks and responses, are ranked by BERTScore F1 with the question's source
chunk. The graph network is trained on these rankings.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.bertscore import ScoreMemo, bertscore
from gsum_resources.embedding.token_embeddings import TokenEmbedder
from gsum_resources.store.content_hash import hash_texts

SCHEMA = pa.schema(
    [
        pa.field("document_id", pa.string(), False),
        pa.field("query_id", pa.string(), False),
        pa.field("node_id", pa.string(), False),
        pa.field("rank", pa.int32(), False),
        pa.field("f1", pa.float32(), False),
    ]
)

# The last bits of a matrix product depend on the number of threads. Rounded, equal texts score
# equally, and ties are broken by id.
_DECIMALS = 6

_ALGORITHM = "bertscore-2"  # raise the number when scores change: memoized scores persist


@dataclass(frozen=True)
class _Document:
    """One document's nodes in order of id, and the source chunk of each of its questions."""

    document_id: str
    node_ids: list[str]
    texts: list[str]
    query_ids: list[str]
    sources: list[str]

    def keys(self, model: str) -> list[bytes]:
        """Return a hash of the inputs of each question's scores."""
        shared = [_ALGORITHM, model, hash_texts(self.texts)]
        return [bytes.fromhex(hash_texts([*shared, source])) for source in self.sources]


def node_rankings(
    queries: pa.Table,
    nodes: pa.Table,
    embedder: TokenEmbedder,
    memo: ScoreMemo,
    on_progress: Callable[[int, int], None] | None = None,
) -> pa.Table:
    """Return the rows of `gor.node_rankings`, by document, question and rank.

    Documents are processed one by one, so that only one document's token vectors are in memory, and
    the scores of each are stored in `memo` at once. A question is scored again if its source chunk
    or any node of its document changes. Texts longer than the model's limit are truncated.

    Parameters
    ----------
    queries : `query_id`, `document_id`, `chunk_id` of simulated questions of one corpus.
    nodes : `node_id`, `document_id`, `text` of the record graphs' nodes.
    on_progress : called with the number of documents done and the number to be scored.

    Raises
    ------
    ValueError
        If the source chunk of a question is not among its document's nodes.
    """
    documents = _documents(queries, nodes)
    keys = [document.keys(embedder.identity) for document in documents]
    scores_of = memo.get({key for of_document in keys for key in of_document})
    pending = [
        (document, of_document)
        for document, of_document in zip(documents, keys, strict=True)
        if not scores_of.keys() >= set(of_document)
    ]
    for done, (document, of_document) in enumerate(pending, start=1):
        missing = {
            key: source
            for key, source in zip(of_document, document.sources, strict=True)
            if key not in scores_of
        }
        distinct = sorted(set(document.texts))
        tokens = dict(zip(distinct, embedder.embed_tokens(distinct), strict=True))
        f1 = bertscore(
            [tokens[source] for source in missing.values()],
            [tokens[text] for text in document.texts],
        ).f1  # (n_sources, n_texts)
        scores = np.round(f1, _DECIMALS)
        fresh = {key: row.tobytes() for key, row in zip(missing, scores, strict=True)}
        memo.put(fresh)
        scores_of.update(fresh)
        if on_progress is not None:
            on_progress(done, len(pending))
    ranked = [
        _ranked(d, [scores_of[key] for key in ks]) for d, ks in zip(documents, keys, strict=True)
    ]
    return pa.concat_tables([SCHEMA.empty_table(), *ranked])


def _documents(queries: pa.Table, nodes: pa.Table) -> list[_Document]:
    """Return the documents that have questions; documents, nodes and questions in order of id."""
    texts: dict[str, dict[str, str]] = {}
    for node in nodes.select(["node_id", "document_id", "text"]).to_pylist():
        texts.setdefault(node["document_id"], {})[node["node_id"]] = node["text"]
    by_document: dict[str, dict[str, str]] = {}
    for query in queries.select(["query_id", "document_id", "chunk_id"]).to_pylist():
        document_id, chunk_id = query["document_id"], query["chunk_id"]
        if chunk_id not in texts.get(document_id, {}):
            raise ValueError(
                f"gor: question '{query['query_id']}' comes from chunk '{chunk_id}', which is not "
                f"a node of document '{document_id}'; materialize gor/record_nodes again"
            )
        by_document.setdefault(document_id, {})[query["query_id"]] = texts[document_id][chunk_id]
    return [
        _Document(
            document_id,
            sorted(texts[document_id]),
            [text for _, text in sorted(texts[document_id].items())],
            sorted(sources),
            [text for _, text in sorted(sources.items())],
        )
        for document_id, sources in sorted(by_document.items())
    ]


def _ranked(document: _Document, scores: list[bytes]) -> pa.Table:
    """Return the rows of one document."""
    n_queries, n_nodes = len(document.query_ids), len(document.node_ids)
    f1 = np.frombuffer(b"".join(scores), np.float32).reshape(n_queries, n_nodes)
    order = np.argsort(-f1, axis=1, kind="stable")  # nodes are in order of id, which breaks ties
    columns = [
        pa.array([document.document_id] * f1.size, pa.string()),
        pa.array(np.repeat(np.asarray(document.query_ids, object), n_nodes), pa.string()),
        pa.array(np.asarray(document.node_ids, object)[order.ravel()], pa.string()),
        pa.array(np.tile(np.arange(1, n_nodes + 1, dtype=np.int32), n_queries)),
        pa.array(np.take_along_axis(f1, order, axis=1).ravel()),
    ]
    return pa.table(columns, schema=SCHEMA)
