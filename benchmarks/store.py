"""Writing and reading 100,000 embeddings: the warehouse's store and plain pyarrow.

Run as `python -m benchmarks.store`. gsum writes the table `chunk_embeddings` in its 8 buckets
with schema check, content hash, provenance and a replacement in one step; pyarrow writes the
same rows into eight files, with the same compression and with its defaults, and reads them in
one `read_table`. Every write and read is a process of its own, so that its peak of memory is
its own; each write replaces the file of the previous round. No side flushes to disk.
"""

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from benchmarks import Measurement, median_ratio
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.load import N_BUCKETS, bucket_of
from gsum_assets.pipeline.embed import vector_column
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.store.content_hash import content_hash, hash_texts
from gsum_resources.store.parquet_store import ParquetStore, Partition, Provenance

CHUNKS, DIMENSION, CHUNKS_A_DOCUMENT = 100_000, 384, 80
ROUNDS = 5
TABLE = TABLES["chunk_embeddings"]
BUCKETS = [f"{i:02d}" for i in range(N_BUCKETS)]
PLAIN: dict[str, dict[str, Any]] = {
    "pyarrow, same settings": {
        "compression": {
            "chunk_id": "zstd",
            "document_id": "zstd",
            "embedding.list.element": "none",
        },
        "use_dictionary": ["chunk_id", "document_id"],
    },
    "pyarrow, defaults": {},
}
SIDES = ["gsum", *PLAIN]


def generated() -> dict[str, pa.Table]:
    """Rows of `chunk_embeddings` by bucket: seeded unit vectors, documents of 80 chunks."""
    documents: dict[str, list[str]] = {bucket: [] for bucket in BUCKETS}
    for i in range(CHUNKS // CHUNKS_A_DOCUMENT):
        documents[bucket_of(f"document-{i}")].append(f"document-{i}")
    random = np.random.default_rng(0)
    return {bucket: _rows(names, random) for bucket, names in documents.items()}


def _rows(documents: list[str], random: np.random.Generator) -> pa.Table:
    of_document = [name for name in documents for _ in range(CHUNKS_A_DOCUMENT)]
    vectors = np.empty((len(of_document), DIMENSION), np.float32)
    for block in np.array_split(vectors, len(documents)):  # keeps the peak near the result
        random.standard_normal(out=block, dtype=np.float32)
        block /= np.linalg.norm(block, axis=1, keepdims=True)
    ids = ["c" + hash_texts([name, str(i)], 10) for i, name in enumerate(of_document)]
    columns = {"chunk_id": ids, "document_id": of_document, "embedding": vector_column(vectors)}
    types = [pa.string(), pa.string(), columns["embedding"].type]
    fields = [pa.field(name, kind, False) for name, kind in zip(columns, types, strict=True)]
    return pa.table(columns, schema=pa.schema(fields))


def write(side: str, folder: Path, buckets: dict[str, pa.Table]) -> None:
    """Every bucket into its file."""
    if side == "gsum":
        store, by = ParquetStore(str(folder)), Provenance("", "1", {}, "chunk_embeddings")
        for bucket, rows in buckets.items():
            store.write(TABLE, Partition("generated", bucket), rows, by)
        return
    folder.mkdir(parents=True, exist_ok=True)
    for bucket, rows in buckets.items():
        pq.write_table(rows, folder / f"{bucket}.parquet", **PLAIN[side])


def read(side: str, folder: Path) -> pa.Table:
    """All rows."""
    if side == "gsum":
        partitions = [Partition("generated", bucket) for bucket in BUCKETS]
        return ParquetStore(str(folder)).read(TABLE, partitions)[0]
    return pq.read_table([str(folder / f"{bucket}.parquet") for bucket in BUCKETS])


def peak_bytes() -> int:
    """The most memory that this process ever held.

    Linux passes `ru_maxrss` on from the parent when a program starts, so it would report the
    benchmark's main process; VmHWM starts again.
    """
    status = Path("/proc/self/status")
    if not status.exists():
        import resource

        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss  # bytes on macOS
    (line,) = (li for li in status.read_text().splitlines() if li.startswith("VmHWM:"))
    return int(line.split()[1]) * 1024


def child(action: str, side: str, folder: Path) -> dict[str, float]:
    """Do one thing once, in this process; seconds and bytes beyond what was held before."""
    buckets = generated() if action == "write" else {}
    tiny = {bucket: _rows(["warm-up"], np.random.default_rng(0)) for bucket in BUCKETS}
    with tempfile.TemporaryDirectory() as elsewhere:  # imports and thread pools are not measured
        write(side, Path(elsewhere) / "files", tiny)
        read(side, Path(elsewhere) / "files")
    before, start = peak_bytes(), time.perf_counter()
    rows = write(side, folder, buckets) if action == "write" else read(side, folder)
    seconds, peak = time.perf_counter() - start, peak_bytes() - before
    if rows is not None and rows.num_rows != CHUNKS:
        raise RuntimeError(f"{side}: read {rows.num_rows} rows of {CHUNKS}; look at {folder}")
    start = time.perf_counter()
    hashes = [content_hash(rows) for rows in buckets.values()]
    hashing = time.perf_counter() - start if hashes else 0.0
    held = sum(rows.nbytes for rows in buckets.values())
    return {"seconds": seconds, "peak": peak, "hashing": hashing, "bytes": held}


def in_child(action: str, side: str, folder: Path) -> dict[str, float]:
    """`child` in a new process."""
    command = [sys.executable, "-m", "benchmarks.store", "--child", action, side, str(folder)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    if found.returncode:
        raise RuntimeError(f"{action} by '{side}' failed:\n{found.stderr}")
    return json.loads(found.stdout)


def measure(rounds: int = ROUNDS) -> Measurement:
    """Seconds, speed and peak memory of writing and reading, with the share of hashing."""
    found: dict[tuple[str, str], list[dict[str, float]]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for turn in range(rounds + 1):
            for side in SIDES:
                for action in ("write", "read"):
                    result = in_child(action, side, Path(folder) / side)
                    if turn:  # the first leaves files to replace, and a warm file cache
                        found.setdefault((action, side), []).append(result)
        sizes = {side: _bytes_under(Path(folder) / side) for side in SIDES}
    held = found["write", "gsum"][0]["bytes"]
    share = statistics.median(r["hashing"] / r["seconds"] for r in found["write", "gsum"])
    rows = [
        _row(action, side, found, held, sizes[side])
        for action in ("write", "read")
        for side in SIDES
    ]
    return Measurement(
        f"Store: {CHUNKS:,} chunks of {DIMENSION}-dimensional embeddings",
        f"Generated rows in {N_BUCKETS} buckets, {held / 1e6:.0f} MB in memory. gsum checks the "
        f"schema, hashes ({share:.0%} of its writing), records provenance, replaces in one step. "
        f"Medians of {rounds} rounds in turn, each write and read a process of its own; "
        f"{pa.cpu_count()} Arrow threads. MB/s of rows as in memory; peak: memory beyond what "
        "the process held before (a read's rows included). Ratio: time of that side over gsum's.",
        ["", "side", "s", "MB/s", "ratio", "peak, MB", "on disk, MB"],
        rows,
    )


def _row(
    action: str, side: str, found: dict[tuple[str, str], list[dict]], held: float, on_disk: int
) -> list[str]:
    seconds = [result["seconds"] for result in found[action, side]]
    ours = [result["seconds"] for result in found[action, "gsum"]]
    median = statistics.median(seconds)
    peak = statistics.median(result["peak"] for result in found[action, side])
    ratio = f"{median_ratio(seconds, ours):.2f}"
    speeds = [f"{median:.3f}", f"{held / median / 1e6:.0f}", ratio]
    return [action, side, *speeds, f"{peak / 1e6:.0f}", f"{on_disk / 1e6:.0f}"]


def _bytes_under(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*.parquet"))


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS, help="repetitions")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.child:
        action, side, folder = chosen.child
        print(json.dumps(child(action, side, Path(folder))))
    else:
        publish("store", measure(chosen.rounds), chosen.store)


if __name__ == "__main__":
    main()
