"""Quality of a ranking, and of the texts that an answer was written from; relevance is binary.

Without relevant items there is no score; missing ranks count as misses. F1@K is computed for each
question; papers often give the harmonic mean of the averaged P and R (graph-augmented ODMDS does,
table 2).
"""

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np
import pyarrow as pa

from gsum_assets.evaluation.budget import CountTokens
from gsum_assets.pipeline.family import Read
from gsum_assets.plots.main_metrics import CONTEXT_TOKENS


def retrieval_metrics(
    ranked: Sequence[str], relevant: Collection[str], ks: Sequence[int] = (3, 8, 10)
) -> dict[str, float] | None:
    """Return `p@K`, `r@K`, `f1@K`, `ndcg@K` for each cut-off K, and `mrr`, each 0 to 1.

    P@K divides by K even if fewer are ranked. None if nothing is relevant. `ranked` are ids,
    best first, each once.

    Raises `ValueError` if an id is ranked twice, or a cut-off is below 1.
    """
    if len(set(ranked)) < len(ranked):
        twice = next(item for i, item in enumerate(ranked) if item in ranked[:i])
        raise ValueError(f"retrieval_metrics: '{twice}' is ranked twice; rank each item once")
    if min(ks, default=1) < 1:
        raise ValueError(f"retrieval_metrics: cut-off {min(ks)}; cut-offs begin at 1")
    relevant_ids = set(relevant)
    if not relevant_ids:
        return None
    hits = np.array([item in relevant_ids for item in ranked], dtype=bool)
    values = {"mrr": float(1 / (1 + np.argmax(hits))) if hits.any() else 0.0}
    for k in ks:
        precision, recall = hits[:k].sum() / k, hits[:k].sum() / len(relevant_ids)
        values |= {
            f"p@{k}": float(precision),
            f"r@{k}": float(recall),
            f"f1@{k}": harmonic_mean(precision, recall),
            f"ndcg@{k}": ndcg(hits, len(relevant_ids), k),
        }
    return values


def ndcg(hits: np.ndarray, n_relevant: int, k: int) -> float:
    """Return the discounted gain of the first K, relative to the best possible one.

    A hit at rank r gains 1 / log2(1 + r) (Järvelin and Kekäläinen 2002).
    """
    gains = 1 / np.log2(np.arange(2, k + 2))  # (k,)
    gain = gains[: len(hits)][hits[:k]].sum()
    return float(gain / gains[:n_relevant].sum())


def harmonic_mean(first: float, second: float) -> float:
    """Return 2ab / (a + b), or 0 if both are 0."""
    return float(2 * first * second / (first + second)) if first + second > 0 else 0.0


def reading_rows(
    questions: Mapping[str, Mapping],
    read: Read,
    count_tokens: CountTokens,
) -> Iterator[tuple[str, str, float]]:
    """Yield `context_p`, `context_r`, `context_f1`, 0 to 1, and `context_tokens` of each answer.

    A text that the model received counts as the chunks that it contains or was written from, or
    else as one text without chunks. Labels are the marked evidence, or else the relevant documents
    of a question on the corpus. A question with only references has `context_tokens` only, and one
    without any of these is left out. Where nothing was read, all are 0.
    """
    distinct = list(dict.fromkeys(read.rows["text"].to_pylist()))
    sizes = dict(zip(distinct, count_tokens(distinct) if distinct else (), strict=True))
    questions = {  # with a label to compare an answer or a passage with
        query_id: row
        for query_id, row in questions.items()
        if row.get("references")
        or row["relevant_chunk_ids"]
        or (row["document_id"] is None and row["relevant_document_ids"])
    }
    texts: dict[tuple[str, int], list[dict]] = defaultdict(list)
    for row in read.rows.to_pylist():
        if row["query_id"] in questions:
            texts[row["query_id"], row["sample"]].append(row)
    without = questions.keys() - {query_id for query_id, _ in texts}
    for (query_id, _), rows in [*texts.items(), *(((q, 0), []) for q in sorted(without))]:
        yield query_id, CONTEXT_TOKENS, float(sum(sizes[row["text"]] for row in rows))
        yield from (
            (query_id, metric, value)
            for metric, value in _context_scores(questions[query_id], rows, read.held).items()
        )


def _context_scores(
    question: Mapping, rows: Sequence[Mapping], held: Mapping[str, Collection[tuple[str, str]]]
) -> dict[str, float]:
    units: dict[str, str | None] = {}  # chunk or text without one -> its document
    for row in rows:
        within = row["document_id"]
        identical = [(c, d) for c, d in held.get(row["node_id"], ()) if within in (None, d)]
        units.update(identical or {row["node_id"]: row["document_id"]})
    if relevant := set(question["relevant_chunk_ids"]):
        hits = len(relevant & units.keys())
        n_found = hits
    elif question["document_id"] is None and question["relevant_document_ids"]:
        relevant = set(question["relevant_document_ids"])
        hits = sum(document in relevant for document in units.values())
        n_found = len(relevant & set(units.values()))
    else:
        return {}
    precision, recall = hits / max(1, len(units)), n_found / len(relevant)
    return {
        "context_p": precision,
        "context_r": recall,
        "context_f1": harmonic_mean(precision, recall),
    }


def chunks_within(
    chunks: pa.Table, spans: pa.Table, key: str = "chunk_id"
) -> dict[str, list[tuple[str, str]]]:
    """Return chunk and document ids of the chunks of which at least half is in each longer span.

    Parameters `chunks`: `chunk_id`, `document_id`, `start`, `end`; `spans`: longer spans: `key`, by
    whose value they are returned, `document_id`, `start`, `end`.
    """
    columns = ["document_id", "start", "end"]
    chunks_of: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for row in chunks.select([*columns, "chunk_id"]).to_pylist():
        chunks_of[row["document_id"]].append((row["start"], row["end"], row["chunk_id"]))
    return {
        row[key]: [
            (chunk_id, row["document_id"])
            for start, end, chunk_id in chunks_of[row["document_id"]]
            if 2 * (min(end, row["end"]) - max(start, row["start"])) >= end - start
        ]
        for row in spans.select([key, *columns]).to_pylist()
    }
