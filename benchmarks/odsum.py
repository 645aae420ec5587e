"""P and R at 3, 8 and 10 of every baseline on ODSum-Story, at the level of sections.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.odsum [--max-tokens 512]

Sections are cut into chunks of 256 word pieces with 32 overlapping by default, and
embedded by the default embedder, a few minutes; vectors are kept in the system's folder for
temporary files. The published BM25 (graph-augmented ODMDS, table 2, all 635 questions) has P@3
71.2 and P@10 44.9.
"""

import hashlib
import json
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks import Measurement, required
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_assets.corpus.chunk import chunk_documents, default_tokenizer
from gsum_assets.corpus.importers.odsum import read_odsum_meeting, read_odsum_story
from gsum_assets.corpus.load import Document
from gsum_assets.corpus.queries import Query
from gsum_assets.corpus.settings import ChunkingSettings, CorpusSettings
from gsum_assets.evaluation.retrieval_metrics import retrieval_metrics
from gsum_assets.retrieval.bm25 import Bm25, Bm25Settings
from gsum_assets.retrieval.collection import Collection, Questions
from gsum_assets.retrieval.dense import Dense
from gsum_assets.retrieval.full_context import FullContext
from gsum_assets.retrieval.hybrid import hybrid, rrf
from gsum_assets.retrieval.random_order import RandomOrder
from gsum_assets.retrieval.ranking import Retriever, rank_questions
from gsum_assets.retrieval.tfidf import TfIdf
from gsum_assets.retrieval.words import Words
from gsum_resources.arrow import pc
from gsum_resources.embedder import LocalEmbedder

CUTOFFS = (3, 8, 10)
READERS = {"story": read_odsum_story, "meeting": read_odsum_meeting}
BIGRAMS = Bm25Settings(words=Words(bigrams=True))

BASELINES: dict[str, Callable[[Collection], Retriever]] = {
    "random": RandomOrder,
    "full_context": FullContext,
    "bm25": Bm25,
    "bm25, bigrams": partial(Bm25, settings=BIGRAMS),
    "tfidf": TfIdf,
    "tfidf, bigrams": partial(TfIdf, words=Words(bigrams=True)),
    "dense": Dense,
    "rrf": rrf,
    "hybrid": hybrid,
    "hybrid, bigrams": partial(hybrid, settings=BIGRAMS),
}


def kept(name: str, texts: Sequence[str], embed: Callable[[Sequence[str]], np.ndarray]):
    """`embed(texts)`, from a file if the same texts were embedded under this name before."""
    digest = hashlib.sha256(json.dumps([name, *texts]).encode()).hexdigest()[:16]
    file = Path(tempfile.gettempdir()) / f"gsum-odsum-{digest}.npy"
    if not file.exists():
        np.save(file, embed(texts))
    return np.load(file)


def load(
    max_tokens: int, overlap_tokens: int, corpus: str = "story"
) -> tuple[Collection, Questions, list[Query]]:
    """A collection of ODSum, cut by the project's chunker and embedded.

    Parameters
    ----------
    max_tokens, overlap_tokens : of a chunk, in word pieces.
    corpus : 'story' or 'meeting'.

    Raises
    ------
    MissingDataError
        If the collection is not there.
    """
    contents = READERS[corpus](required("odsum", corpus))
    window = ChunkingSettings(max_tokens=max_tokens, overlap_tokens=overlap_tokens)
    settings = CorpusSettings(chunking=window)
    chunks = chunk_documents(contents.documents, settings, default_tokenizer())
    collection = embedded(contents.documents, [asdict(chunk) for chunk in chunks])
    queries = pa.Table.from_pylist([asdict(query) for query in contents.queries])
    vectors = query_vectors(queries["retrieval_text"].to_pylist())
    return collection, Questions.from_table(queries, vectors), contents.queries


def embedded(documents: Sequence[Document], chunks: Sequence[Mapping[str, Any]]) -> Collection:
    """Documents and their chunks with the vectors of the default embedder.

    Parameters
    ----------
    chunks : `chunk_id`, `document_id`, `position` and `text` of each, as in the table `chunks`.
    """
    embedder = LocalEmbedder()
    vectors = kept(embedder.identity, [chunk["text"] for chunk in chunks], embedder.embed)
    return Collection.from_tables(
        pa.Table.from_pylist([asdict(document) for document in documents]),
        pa.Table.from_pylist(list(chunks)),
        pa.table(
            {
                "chunk_id": [chunk["chunk_id"] for chunk in chunks],
                "embedding": pa.FixedSizeListArray.from_arrays(vectors.ravel(), vectors.shape[1]),
            }
        ),
    )


def query_vectors(texts: Sequence[str]) -> np.ndarray:
    """Those of the default embedder, `(n_texts, dim)`."""
    embedder = LocalEmbedder()
    return kept(f"{embedder.identity} query", texts, embedder.embed_queries)


def scores_of(
    rankings: pa.Table, queries: Sequence[Query], cutoffs: Sequence[int]
) -> list[dict[str, float]]:
    """Metrics of each question's ranking of documents.

    Parameters
    ----------
    rankings : rows of the table `rankings`.
    queries : every question that was ranked.
    """
    ranked: dict[str, list[str]] = {query.query_id: [] for query in queries}
    for row in rankings.filter(pc.equal(rankings["level"], "document")).to_pylist():
        ranked[row["query_id"]].append(row["item_id"])
    return [
        retrieval_metrics(ranked[query.query_id], query.relevant_document_ids, cutoffs) or {}
        for query in queries
    ]


def measure(max_tokens: int = 256, overlap_tokens: int = 32) -> Measurement:
    """P@8 of every baseline compared with BM25's, and the means of other metrics, by split.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    collection, questions, queries = load(max_tokens, overlap_tokens)
    names = [f"{letter}@{k}" for letter in "pr" for k in CUTOFFS if (letter, k) != ("p", 8)]
    scores = {
        baseline: scores_of(rank_questions(build, questions, collection), queries, CUTOFFS)
        for baseline, build in BASELINES.items()
    }
    rows = []
    for split in ("train", "dev"):
        kept = {
            baseline: [s for s, query in zip(own, queries, strict=True) if query.split == split]
            for baseline, own in scores.items()
        }
        values = {baseline: [row["p@8"] for row in own] for baseline, own in kept.items()}
        for cells, own in zip(compared(values, "bm25", decimals=1), kept.values(), strict=True):
            means = [100 * np.mean([row[name] for row in own]) for name in names]
            rows.append([split, *cells, *(f"{mean:.1f}" for mean in means)])
    return Measurement(
        "Retrieval of every baseline, ODSum-Story",
        f"{len(collection.document_ids)} sections, {len(collection.chunk_ids)} chunks of "
        f"{max_tokens} word pieces (overlap {overlap_tokens}), {len(queries)} questions; percent; "
        "mean, difference from BM25 and p (Holm) of P@8. Published BM25 on all 635 questions: P@3 "
        "71.2, P@10 44.9.",
        ["stories", "baseline", *COMPARED, *names],
        rows,
    )


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--max-tokens", type=int, default=256, help="of a chunk, in word pieces")
    parser.add_argument("--overlap-tokens", type=int, default=32, help="between two chunks")
    chosen = parser.parse_args()
    publish("odsum", measure(chosen.max_tokens, chosen.overlap_tokens), chosen.store)


if __name__ == "__main__":
    main()
