"""The control of the graph: the same line chunks and the same room, chosen by BM25 alone.

Where the graph's methods show synopses of what nodes lead to and read again what the model names,
this shows synopses of what BM25 ranks first and reads the first of these in full.
"""

from collections import defaultdict
from collections.abc import Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.passages import Choose, Passage
from gsum_assets.evaluation.question_contexts import NO_USAGE, questions_with_passages
from gsum_assets.jerr.contexts import Room
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.words import Words
from gsum_assets.tables import TABLES


def ranked_lines(
    queries: pa.Table, line_chunks: pa.Table, words: Words
) -> Mapping[str, Sequence[str]]:
    """The line chunks of each question's scope, best first by BM25.

    Parameters
    ----------
    line_chunks : rows of one size of `jerr.line_chunks`.
    """
    ordered = [("document_id", "ascending"), ("position", "ascending")]
    rows = line_chunks.sort_by(ordered).select(["chunk_id", "document_id", "text"]).to_pylist()
    questions: dict[str | None, list[dict]] = defaultdict(list)
    for query in queries.to_pylist():
        questions[query["document_id"]].append(query)
    found: dict[str, Sequence[str]] = {}
    for document_id, asked in questions.items():
        scope = [row for row in rows if document_id in (None, row["document_id"])]
        if not scope:
            continue
        index = Bm25Index([row["text"] for row in scope], Bm25Settings(words=words))
        scores = index.scores([query["retrieval_text"] for query in asked])
        for query, own in zip(asked, (-scores).argsort(axis=1, kind="stable"), strict=True):
            found[query["query_id"]] = [scope[i]["chunk_id"] for i in own.tolist()]
    return found


def line_contexts(found: Mapping[str, Sequence[str]], synopses: pa.Table, room: Room) -> Choose:
    """Synopses of the line chunks found, best first, as many as there is room for."""
    known = {
        row["chunk_id"]: Passage(
            row["chunk_id"], "synopsis", row["synopsis"], 0, row["document_id"], row["position"]
        )
        for row in synopses.to_pylist()
    }

    def choose(query: dict) -> Sequence[Passage]:
        ids = found.get(query["query_id"], ())
        return list(room.fitting(query, [known[i] for i in ids if i in known]))

    return choose


def first_in_full(contexts: pa.Table, queries: pa.Table, n_reread: int) -> pa.Table:
    """Rows of `jerr.look_ups` that no model was asked for: the best line chunks are read again."""
    rows = [
        {
            "query_id": question.query_id,
            "chunk_ids": [row["node_id"] for row in question.passages[:n_reread]],
            "n_shown": len(question.passages),
            **NO_USAGE,
        }
        for question in questions_with_passages(contexts, queries)
    ]
    return pa.Table.from_pylist(rows, TABLES["jerr.look_ups"].schema)
