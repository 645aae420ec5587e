"""Chunk borders by content beside borders by length: what an edit changes, and what is found.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.borders [--meetings 60] [--edits] …

On training meetings of QMSum, cut by the default settings with either kind of border. An edit puts
one sentence near the middle of a meeting; chunks are changed if their ids are new. For specific
questions with marked evidence, BM25 and vectors read the best chunks of the meeting up to an equal
number of word pieces, the last one cut. Recall is the share of the characters of evidence that were
read; ROUGE is that of the extractive model's answers. Intervals are paired.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Literal

import numpy as np

from benchmarks import Measurement, required
from benchmarks.evidence.meetings import Kept, Remembered
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_assets.corpus.chunk import Chunk, chunk_documents, default_tokenizer, n_word_pieces
from gsum_assets.corpus.importers.qmsum import read_qmsum
from gsum_assets.corpus.load import Document
from gsum_assets.corpus.queries import Query
from gsum_assets.corpus.settings import ChunkingSettings, CorpusSettings
from gsum_assets.evaluation.answer import answer_request
from gsum_assets.evaluation.budget import cut_to_tokens
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.retrieval.bm25 import Bm25Index, Bm25Settings
from gsum_assets.retrieval.words import Words
from gsum_resources.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import Completion

N_READ = 6 * 256  # word pieces: six full chunks
WORDS = 130
_SENTENCE = " The budget is four hundred euros."
_EDITS = 4  # per meeting
KINDS: tuple[Literal["length", "content"], ...] = ("length", "content")


def cut(document: Document, settings: CorpusSettings) -> list[Chunk]:
    """Return the chunks of one document."""
    return chunk_documents([document], settings, default_tokenizer())


def measure_edits(n_meetings: int) -> Measurement:
    """Return one row per chunker and kind of border."""
    documents = read_qmsum(required("qmsum", "train.jsonl.gz")).documents[:n_meetings]
    rows = []
    for chunker in ("tokens", "lines"):
        for name in KINDS:
            chosen = ChunkingSettings(chunker=chunker, borders=name)
            found = [_changed(d, CorpusSettings(chunking=chosen)) for d in documents]
            changed = np.concatenate([one for one, _ in found])
            sizes = np.concatenate([sizes for _, sizes in found])
            quantiles = np.percentile(changed, [50, 90, 100])
            numbers = [changed.mean(), *quantiles, sizes.mean(), len(sizes) / len(documents)]
            rows.append([f"{chunker}, {name}", *(f"{number:.1f}" for number in numbers)])
    return Measurement(
        "Chunks changed by one sentence",
        f"{len(documents)} training meetings of QMSum, {_EDITS} edits each, default lengths.",
        ["borders", "mean", "median", "90%", "most", "word pieces", "chunks a meeting"],
        rows,
    )


def _changed(document: Document, settings: CorpusSettings) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers of changed chunks after each edit, and the sizes of all chunks."""
    before = cut(document, settings)
    known = {chunk.chunk_id for chunk in before}
    random_ = random.Random(document.document_id)
    found = []
    for _ in range(_EDITS):
        at = document.text.index(" ", int(len(document.text) * random_.uniform(0.3, 0.7)))
        text = document.text[:at] + _SENTENCE + document.text[at:]
        after = cut(Document(document.document_id, document.title, text), settings)
        found.append(sum(chunk.chunk_id not in known for chunk in after))
    return np.array(found), np.array([chunk.n_tokens for chunk in before])


def measure_quality(
    n_meetings: int, retrievers: Sequence[str] = ("bm25", "dense"), is_answered: bool = True
) -> list[Measurement]:
    """Return recall and ROUGE by retriever and kind of border.

    Parameters
    ----------
    retrievers : "bm25", "dense".
    is_answered : whether to measure ROUGE, too, which embeds the sentences that are read.
    """
    contents = read_qmsum(required("qmsum", "train.jsonl.gz"))
    embedder = Kept(LocalEmbedder(precision="float32"), {})
    model = ExtractiveModel(Remembered(LocalEmbedder(precision="float32"), {}))
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for i, document in enumerate(contents.documents[:n_meetings], 1):
        marked = [
            query
            for query in contents.queries
            if query.document_id == document.document_id
            and query.kind == "specific"
            and query.relevant_spans
        ]
        for name in KINDS:
            chunks = cut(document, CorpusSettings(chunking=ChunkingSettings(borders=name)))
            for retriever, query, order in _ranked(chunks, marked, embedder, retrievers):
                read, text = _read([chunks[i] for i in order])
                side = f"{retriever}, {name}"
                values["recall"][side].append(_recall(read, query, document.text))
                scores = _rouge(model, query, text) if is_answered else {}
                for metric, score in scores.items():
                    values[metric][side].append(score)
        if i % 5 == 0:
            print(f"{i} of {n_meetings} meetings", _means(values), file=sys.stderr, flush=True)
    return [_table(values, retriever, n_meetings) for retriever in retrievers]


def _means(values: dict[str, dict[str, list[float]]]) -> str:
    return ", ".join(
        f"{metric} {side} {np.mean(scores):.4f}"
        for metric in ("recall", "rouge1")
        for side, scores in values[metric].items()
    )


def _ranked(
    chunks: Sequence[Chunk], queries: Sequence[Query], embedder: Kept, retrievers: Sequence[str]
) -> Iterator[tuple[str, Query, list[int]]]:
    """Yield retriever, question and chunks, best first."""
    if not queries:
        return
    texts = [chunk.text for chunk in chunks]
    asked = [query.retrieval_text for query in queries]
    for retriever in retrievers:
        if retriever == "bm25":
            found = Bm25Index(texts, Bm25Settings(words=Words("en"))).scores(asked)
        else:
            found = embedder.embed_queries(asked) @ embedder.embed(texts).T
        for query, own in zip(queries, (-found).argsort(axis=1, kind="stable"), strict=True):
            yield retriever, query, own.tolist()


def _read(ranked: Sequence[Chunk]) -> tuple[list[tuple[int, int]], list[str]]:
    """Return spans and texts, in reading order, of the best chunks up to `N_READ` word pieces."""
    left, read = N_READ, []
    for chunk in ranked:
        text = chunk.text
        if chunk.n_tokens > left:
            text = cut_to_tokens(text, left, n_word_pieces)
        if text:
            read.append((chunk.start, chunk.start + len(text), text))
        left -= chunk.n_tokens
        if left <= 0:
            break
    read.sort()
    return [(start, end) for start, end, _ in read], [text for *_, text in read]


def _recall(read: Sequence[tuple[int, int]], query: Query, text: str) -> float:
    """Return the share of the evidence's characters, without blanks, that were read."""
    needed, seen = np.zeros(len(text), bool), np.zeros(len(text), bool)
    for span in query.relevant_spans:
        needed[span.start : span.end] = True
    for start, end in read:
        seen[start:end] = True
    needed &= ~np.array([character.isspace() for character in text])
    return float((needed & seen).sum() / needed.sum())


def _rouge(model: ExtractiveModel, query: Query, texts: Sequence[str]) -> dict[str, float]:
    (reply,) = model.complete([answer_request(asdict(query), tuple(texts), WORDS)])
    assert isinstance(reply, Completion)
    return rouge(reply.text, query.references)


def _table(
    values: dict[str, dict[str, list[float]]], retriever: str, n_meetings: int
) -> Measurement:
    rows = []
    for metric, sides in values.items():
        own = {side: scores for side, scores in sides.items() if side.startswith(retriever)}
        rows += [[metric, *row] for row in compared(own, f"{retriever}, length")]
    return Measurement(
        f"Borders by content beside borders by length, {retriever}",
        f"{n_meetings} training meetings of QMSum, specific questions with marked evidence, "
        f"{N_READ:,} word pieces read.",
        ["", "", *COMPARED],
        rows,
    )


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = parser_of(__doc__, "python -m benchmarks.borders")
    parser.add_argument("--meetings", type=int, default=60, help="training meetings, the first")
    parser.add_argument("--edits", action="store_true", help="measure edits only")
    parser.add_argument("--retrievers", nargs="+", default=["bm25", "dense"])
    parser.add_argument("--recall", action="store_true", help="measure no ROUGE")
    chosen = parser.parse_args(arguments)
    if chosen.edits:
        publish("borders-edits", measure_edits(chosen.meetings), chosen.store)
        return
    found = measure_quality(chosen.meetings, chosen.retrievers, not chosen.recall)
    publish("borders", found, chosen.store)


if __name__ == "__main__":
    main()
