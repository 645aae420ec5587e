"""The index of LightPAL on ODSum-Meeting: seconds, memory, and what one document more costs.

    GSUM_DATASETS=../shared/datasets python -m benchmarks.lightpal.index

Transcripts are cut into the LightPAL paper's passages of 1,000 characters. It has 13,074 of them,
more than the transcripts fill, so neighbours overlap here until there are about as many. They are
embedded by the default embedder first, some ten minutes on two cores; vectors are kept in the
system's folder for temporary files. The index is built in a process of its own.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from benchmarks import Measurement, required
from benchmarks.odsum import embedded
from benchmarks.store import peak_bytes
from gsum_assets.corpus.importers.odsum import read_odsum_meeting
from gsum_assets.lightpal.candidates import candidates
from gsum_assets.lightpal.context_scores import context_scores
from gsum_assets.lightpal.passage_edges import passage_edges
from gsum_assets.lightpal.settings import GraphSettings
from gsum_assets.retrieval.collection import Collection
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import PassageScorer
from gsum_resources.scoring.memoized import MemoizedScorer
from gsum_resources.scoring.unigram import UnigramScorer

WIDTH, STEP = 1000, 565  # characters of a passage, and from one's beginning to the next one's
THREADS = 2
SETTINGS = GraphSettings()

Tables = dict[str, pa.Table]
Seconds = dict[str, float]


def passages(text: str) -> Iterator[str]:
    """Windows of at most `WIDTH` characters, `STEP` apart, that begin and end between words."""
    for offset in range(0, max(1, len(text) - WIDTH + STEP), STEP):
        start, end = text.find(" ", offset) + 1 if offset else 0, offset + WIDTH
        yield text[start : end if end >= len(text) else text.rfind(" ", start, end)]


def meetings() -> Collection:
    """ODSum-Meeting in passages.

    Raises
    ------
    MissingDataError
        If it is not there.
    """
    documents = read_odsum_meeting(required("odsum", "meeting")).documents
    return embedded(
        documents,
        [
            {
                "chunk_id": f"{document.document_id}-{position}",
                "document_id": document.document_id,
                "position": position,
                "text": text,
            }
            for document in documents
            for position, text in enumerate(passages(document.text))
        ],
    )


def of_documents(collection: Collection, chosen: Sequence[int]) -> Collection:
    """The part of a collection that has these documents alone."""
    assert collection.embeddings is not None
    starts = collection.starts
    chunks = [offset for i in chosen for offset in range(starts[i], starts[i + 1])]
    return Collection(
        document_ids=[collection.document_ids[i] for i in chosen],
        document_texts=[collection.document_texts[i] for i in chosen],
        chunk_ids=[collection.chunk_ids[i] for i in chunks],
        chunk_texts=[collection.chunk_texts[i] for i in chunks],
        starts=np.append(0, np.cumsum(np.diff(starts)[chosen])),
        embeddings=collection.embeddings[chunks],
    )


def index(collection: Collection, scorer: PassageScorer) -> tuple[Tables, Seconds]:
    """The tables of the index, and what each took."""
    tables: Tables = {}
    seconds: Seconds = {}
    steps: dict[str, Callable[[], pa.Table]] = {
        "candidates": lambda: candidates(collection, SETTINGS.n_candidates),
        "context_scores": lambda: context_scores(tables["candidates"], collection, scorer),
        "passage_edges": lambda: passage_edges(
            tables["candidates"], tables["context_scores"], collection, SETTINGS.n_edges
        ),
    }
    for name, step in steps.items():
        start = time.perf_counter()
        tables[name] = step()
        seconds[name] = time.perf_counter() - start
        print(f"lightpal/index: {name} took {seconds[name]:.1f} s", file=sys.stderr, flush=True)
    return tables, seconds


def child() -> dict[str, Any]:
    """Build the index from nothing, then with one document more than before."""
    collection = meetings()
    sizes = np.diff(collection.starts)
    new = int(np.argsort(sizes, kind="stable")[len(sizes) // 2])
    fewer = of_documents(collection, np.delete(np.arange(len(sizes)), new).tolist())
    index(of_documents(collection, range(3)), UnigramScorer())  # imports are not measured
    before = peak_bytes()
    fresh, plain = index(collection, UnigramScorer())
    peak = peak_bytes()
    with tempfile.TemporaryDirectory() as folder:
        store = ParquetStore(folder)
        old, kept = index(fewer, MemoizedScorer(UnigramScorer(), store))
        scorer = MemoizedScorer(UnigramScorer(), store)
        again, more = index(collection, scorer)
    return {
        "documents": len(sizes),
        "passages": len(collection.chunk_ids),
        "new": int(sizes[new]),
        "pairs": sum(map(len, fresh["candidates"]["candidates"].to_pylist())),
        "changed": _pairs_of_changed_lists(old["candidates"], fresh["candidates"]),
        "scored": scorer.n_scored,
        "equal": all(again[name].equals(fresh[name]) for name in fresh),
        "seconds": {"from nothing": plain, "kept": kept, "one document more": more},
        "before": before,
        "peak": peak,
        "end": peak_bytes(),
    }


def _pairs_of_changed_lists(old: pa.Table, new: pa.Table) -> int:
    """Pairs of a passage that has other candidates than before, or is new."""
    before, after = _lists(old), _lists(new)
    return sum(len(found) for passage, found in after.items() if before.get(passage) != found)


def _lists(rows: pa.Table) -> dict[tuple[str, str], list[int]]:
    """The numbers of the candidates of each passage by level and id."""
    levels, ids, lists = (rows[n].to_pylist() for n in ("level", "passage_id", "candidates"))
    return dict(zip(zip(levels, ids, strict=True), lists, strict=True))


def measure() -> Measurement:
    """Seconds and peak memory of the index, and of the index after one document more.

    Raises
    ------
    MissingDataError
        If ODSum-Meeting is not there.
    """
    meetings()  # embeds them
    command = [sys.executable, "-m", "benchmarks.lightpal.index", "--child"]
    found = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    usage = json.loads(found.stdout)
    seconds = usage["seconds"]
    rows = [
        [step, *(f"{taken[step]:.1f}" for taken in seconds.values())]
        for step in seconds["from nothing"]
    ]
    rows.append(["together", *(f"{sum(taken.values()):.1f}" for taken in seconds.values())])
    before, peak, end = (f"{usage[name] / 2**30:.2f}" for name in ("before", "peak", "end"))
    return Measurement(
        "LightPAL: the index of ODSum-Meeting",
        f"{usage['passages']:,} passages of {WIDTH:,} characters, one every {STEP}, and "
        f"{usage['documents']} documents, embedded before; {usage['pairs']:,} pairs; "
        f"unigram scorer; {THREADS} threads, one run. Peak memory {peak} GiB, "
        f"{before} held before; {end} with the memo and the tables of all three. Kept: without one "
        "document, scores go into a memo. Then "
        f"that document, of {usage['new']} passages: {usage['changed']:,} pairs are in a list of "
        f"candidates that changed, {usage['scored']:,} were scored; the tables "
        f"{'equal' if usage['equal'] else 'DIFFER FROM'} those built from nothing.",
        ["s", *seconds],
        rows,
    )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    if parser.parse_args().child:
        with threadpool_limits(THREADS):
            print(json.dumps(child()))
    else:
        measure().show()


if __name__ == "__main__":
    main()
