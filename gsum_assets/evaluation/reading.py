"""Precision, recall, F1 and length of the texts from which an answer was written.

A ranking has the texts that a method could read. These metrics are of the texts that the language
model received for its answer; for map-reduce, of the texts behind the points that the final
one depends on.

A text counts as the chunks of the corpus that it contains: a chunk itself, a longer span of a
document its chunks, a report the chunks that support it. Text generated without chunks as sources
(an earlier response, a synopsis) counts as one text without chunks.
"""

from collections import defaultdict
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import pyarrow as pa

from gsum_assets.evaluation.retrieval_metrics import harmonic_mean
from gsum_assets.pipeline.family import Read
from gsum_assets.plots.main_metrics import CONTEXT_TOKENS

CountTokens = Callable[[Sequence[str]], Sequence[int]]
Row = tuple[str, str, float]  # query id, metric, value


def reading_rows(
    questions: Mapping[str, Mapping], read: Read, count_tokens: CountTokens
) -> Iterator[Row]:
    """Yield precision, recall, F1 and tokens of the texts read for each answer.

    Labels are the marked evidence, or else the relevant documents of a question on the corpus. A
    question with only references has `context_tokens` only, and one without any of these is left
    out. Questions for which nothing was read have 0 in all metrics.

    Yields
    ------
    One row per question, sample and metric: `context_p`, `context_r`, `context_f1`, 0 to 1, and
    `context_tokens`.
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
    """Return the chunks of which at least half is in each longer span of a document.

    Parameters
    ----------
    chunks : `chunk_id`, `document_id`, `start`, `end`.
    spans : longer spans: `key`, `document_id`, `start`, `end`.

    Returns
    -------
    Chunk and document ids, by the id of the longer span.
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
