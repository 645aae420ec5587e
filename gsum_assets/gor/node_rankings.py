"""Target rankings of the nodes of a document for its simulated questions (paper, section 2.3).

All nodes of the document, chunks and responses, are ranked by BERTScore F1 with the question's
source chunk.
"""

from collections import defaultdict
from collections.abc import Callable

import numpy as np
import pyarrow as pa

from gsum_assets.graphs.bertscore import bertscore
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.embedding.token_embeddings import LocalTokenEmbedder
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.memo import Memo

# The last bits of a matrix product depend on the number of threads. Rounded, equal texts score
# equally, and ties are broken by id.
_DECIMALS = 6
_ALGORITHM = "bertscore-2"  # raise the number when scores change: memoized scores persist


def node_rankings(
    queries: pa.Table,
    nodes: pa.Table,
    embedder: LocalTokenEmbedder,
    memo: Memo,
    on_progress: Callable[[int, int], None] = lambda *_: None,
) -> pa.Table:
    """Return the rows of `gor.node_rankings`, by document, question and rank.

    From rows of `gor.simulated_queries` and `gor.record_nodes` of one corpus. A document's scores
    are stored in `memo`, until its nodes change. `on_progress` is called with the numbers of
    documents done and of all documents.
    """
    texts_of: dict[str, dict[str, str]] = defaultdict(dict)  # texts by node, by document
    for node in nodes.select(["node_id", "document_id", "text"]).sort_by("node_id").to_pylist():
        texts_of[node["document_id"]][node["node_id"]] = node["text"]
    sources_of: dict[str, dict[str, str]] = defaultdict(dict)  # source by question, by document
    order = [("document_id", "ascending"), ("query_id", "ascending")]
    for query in queries.sort_by(order).to_pylist():
        source = texts_of[query["document_id"]][query["chunk_id"]]
        sources_of[query["document_id"]][query["query_id"]] = source
    keys_of: dict[str, dict[str, bytes]] = {}  # keys in `memo` by source, by document
    for document_id, sources in sources_of.items():
        shared = [_ALGORITHM, embedder.identity, hash_texts(list(texts_of[document_id].values()))]
        keys = {source: hash_texts([*shared, source]) for source in sources.values()}
        keys_of[document_id] = {source: bytes.fromhex(key) for source, key in keys.items()}
    known = memo.get({key for keys in keys_of.values() for key in keys.values()})
    tables = [TABLES["gor.node_rankings"].empty()]
    for done, (document_id, sources) in enumerate(sources_of.items(), start=1):
        texts, key_of = texts_of[document_id], keys_of[document_id]
        unknown = [source for source, key in key_of.items() if key not in known]
        if unknown:
            scored = _scores(unknown, list(texts.values()), embedder)
            fresh = {key_of[s]: row.tobytes() for s, row in zip(unknown, scored, strict=True)}
            memo.put(fresh)
            known |= fresh
        f1 = np.frombuffer(b"".join(known[key_of[s]] for s in sources.values()), np.float32)
        f1 = f1.reshape(len(sources), len(texts))
        tables.append(_ranked(document_id, list(sources), list(texts), f1))
        on_progress(done, len(sources_of))
    return pa.concat_tables(tables)


def _scores(sources: list[str], texts: list[str], embedder: LocalTokenEmbedder) -> np.ndarray:
    """Return F1 of each of some texts with all, float32 `(n_sources, n_texts)`."""
    distinct = sorted(set(texts))
    tokens = dict(zip(distinct, embedder.embed_tokens(distinct), strict=True))
    f1 = bertscore([tokens[text] for text in sources], [tokens[text] for text in texts]).f1
    return np.round(f1, _DECIMALS)


def _ranked(
    document_id: str, query_ids: list[str], node_ids: list[str], f1: np.ndarray
) -> pa.Table:
    """Return the rows of one document; `node_ids` are in order, which breaks ties."""
    n_queries, n_nodes = f1.shape
    order = np.argsort(-f1, axis=1, kind="stable")
    columns = {
        "document_id": pa.repeat(document_id, f1.size),
        "query_id": pa.array(np.repeat(np.array(query_ids, object), n_nodes), pa.string()),
        "node_id": pa.array(np.array(node_ids, object)[order.ravel()], pa.string()),
        "rank": pa.array(np.tile(np.arange(1, n_nodes + 1, dtype=np.int32), n_queries)),
        "f1": pa.array(np.take_along_axis(f1, order, axis=1).ravel()),
    }
    return pa.table(columns, TABLES["gor.node_rankings"].schema)
