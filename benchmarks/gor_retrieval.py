"""One question against stored node embeddings: how long an interactive user waits.

    python -m benchmarks.gor_retrieval

Generated graphs of 150 nodes, one of them and 667, are written by the warehouse's store; then a
process that keeps a `NodeIndex` is asked one question after another, over all of them. Cold is
what the first answer takes: opening the Parquet files, building the index and searching it. Warm
is what each further one takes, its vector given or its text embedded first by the packaged model.
"""

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np
import pyarrow as pa
from threadpoolctl import threadpool_limits

from benchmarks import Measurement, take_turns
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.embed import vector_column
from gsum_assets.corpus.load import N_BUCKETS, bucket_of
from gsum_assets.gor.node_index import NodeIndex
from gsum_assets.tables import TABLES
from gsum_resources.embedder import LocalEmbedder
from gsum_resources.parquet_store import ParquetStore, Partition, Provenance

NODES, NODES_A_GRAPH, CHUNKS_A_GRAPH, DIMENSION = (150, 100_000), 150, 120, 384
WORDS_A_NODE, K = 170, 6
QUERIES, LOADS, THREADS = 300, 7, (2, 1)
CORPUS, VARIANT, BY = "generated", "gor", Provenance("", "1", {}, "benchmark")
WORDS = [f"{a}{b}{c}" for a, b, c in product("bdklmnrst", "aeiou", ("l", "nd", "rk", "st", "x"))]


def write(n_nodes: int, store: ParquetStore) -> None:
    """The tables that an index is loaded from, seeded."""
    random, learnt = np.random.default_rng(0), []
    buckets: dict[str, list[tuple[str, pa.Table]]] = {f"{i:02d}": [] for i in range(N_BUCKETS)}
    for first in range(0, n_nodes, NODES_A_GRAPH):
        document_id = f"document-{first:06d}"
        nodes = _nodes(document_id, min(NODES_A_GRAPH, n_nodes - first), random)
        buckets[bucket_of(document_id)].append((document_id, nodes))
        learnt.append(nodes.select(["node_id", "document_id", "kind", "embedding"]))
    for bucket, graphs in buckets.items():
        if graphs:
            nodes = pa.concat_tables(rows for _, rows in graphs)
            store.write(TABLES["gor.record_nodes"], Partition(CORPUS, bucket), nodes, BY)
            documents = pa.Table.from_pylist(
                [_document(*graph) for graph in graphs], TABLES["documents"].schema
            )
            store.write(TABLES["documents"], Partition(CORPUS, bucket), documents, BY)
    embeddings = pa.concat_tables(learnt)
    store.write(TABLES["gor.node_embeddings"], Partition(CORPUS, method=VARIANT), embeddings, BY)


def _nodes(document_id: str, count: int, random: np.random.Generator) -> pa.Table:
    """Rows of `gor.record_nodes`; what the network makes of a node is its own vector here."""
    vectors = random.standard_normal((count, DIMENSION), dtype=np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    words = random.integers(len(WORDS), size=(count, WORDS_A_NODE))
    return pa.table(
        {
            "node_id": [f"{bits:020x}" for bits in random.integers(2**63, size=count)],
            "document_id": [document_id] * count,
            "kind": ["chunk" if i < CHUNKS_A_GRAPH else "response" for i in range(count)],
            "position": pa.array(np.arange(count) % CHUNKS_A_GRAPH, pa.int32()),
            "degree": pa.array(np.ones(count), pa.int32()),
            "text": [" ".join(WORDS[word] for word in row) for row in words],
            "embedding": vector_column(vectors),
        }
    )


def _document(document_id: str, nodes: pa.Table) -> dict:
    text = " ".join(nodes["text"].to_pylist()[:CHUNKS_A_GRAPH])
    words = min(nodes.num_rows, CHUNKS_A_GRAPH) * WORDS_A_NODE
    return {"document_id": document_id, "title": document_id, "text": text, "n_words": words}


def questions(count: int) -> list[str]:
    """Distinct questions of 5 to 25 words."""
    random = np.random.default_rng(1)
    words = (random.choice(WORDS, random.integers(1, 22)) for _ in range(count))
    return [f"{i} What did {' '.join(drawn)} say?" for i, drawn in enumerate(words)]


def waits(
    url: str, embedder: LocalEmbedder, asked: list[str], loads: int
) -> dict[str, list[float]]:
    """Seconds of each load with its first search, of each search, and with its embedding."""
    vectors = embedder.embed_queries(asked)
    index = NodeIndex.load(ParquetStore(url), CORPUS, VARIANT)  # the files are in memory then

    def cold() -> None:
        NodeIndex.load(ParquetStore(url), CORPUS, VARIANT).search(vectors[0], K)

    def search(vector: Iterator[np.ndarray]) -> None:
        index.search(next(vector), K)

    def embed_and_search(text: Iterator[str]) -> None:
        index.search(embedder.embed_queries([next(text)])[0], K)

    index.search(vectors[0], K)
    given, texts = iter(vectors), iter(asked)
    warm: dict[str, Callable[[], None]] = {
        "search": lambda: search(given),
        "embed and search": lambda: embed_and_search(texts),
    }
    return take_turns(warm, len(asked)) | take_turns({"cold": cold}, loads)


def measure(queries: int = QUERIES, loads: int = LOADS) -> Measurement:
    """Milliseconds from a question to its nodes, over one graph and over 100,000 nodes."""
    asked, rows = questions(queries), []
    start = time.perf_counter()
    LocalEmbedder().embed_queries(asked[:1])
    loading = time.perf_counter() - start
    for n_nodes in NODES:
        with tempfile.TemporaryDirectory() as folder:
            write(n_nodes, ParquetStore(folder))
            for threads in THREADS:
                embedder = LocalEmbedder(device="cpu", threads=threads)
                with threadpool_limits(threads):
                    seconds = waits(folder, embedder, asked, loads)
                rows.append(_row(n_nodes, threads, seconds))
    return Measurement(
        "Graph of Records: retrieval for one question",
        f"Generated graphs of {NODES_A_GRAPH} nodes, dimension {DIMENSION}, texts of "
        f"{WORDS_A_NODE} words; the {K} best nodes of the whole store, in ms. Cold: opening the "
        f"Parquet files, building the index, first search; median of {loads} fresh loads in one "
        "process, whose imports are done and whose files the system holds in memory. Warm: "
        f"{queries} distinct questions of {min(map(_n_words, asked))} to "
        f"{max(map(_n_words, asked))} words, one at a time, searched with the vector given and "
        "from the text. The embedding model's own first answer, its libraries' imports included, "
        f"took {loading:.1f} s. The paper reports 580 ms a question.",
        ["nodes", "threads", "cold", "search", "p99", "embed and search", "p99"],
        rows,
    )


def _n_words(text: str) -> int:
    return len(text.split())


def _row(n_nodes: int, threads: int, seconds: dict[str, list[float]]) -> list[str]:
    cells = [f"{n_nodes:,}", str(threads), f"{1e3 * statistics.median(seconds['cold']):.0f}"]
    for side in ("search", "embed and search"):
        cells += [f"{1e3 * value:.2f}" for value in np.percentile(seconds[side], [50, 99])]
    return cells


def main() -> None:
    """Print the table."""
    parser = parser_of(__doc__)
    parser.add_argument("--queries", type=int, default=QUERIES, help="questions asked")
    parser.add_argument("--loads", type=int, default=LOADS, help="fresh loads of the index")
    chosen = parser.parse_args()
    publish("gor_retrieval", measure(chosen.queries, chosen.loads), chosen.store)


if __name__ == "__main__":
    main()
