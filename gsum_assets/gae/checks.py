"""Checks of passage graphs, embeddings, clusters and refined passages."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from gsum_assets.gae.clusters import named_by_members
from gsum_assets.pipeline.check import Check
from gsum_assets.pipeline.finding import Finding, count, found, together
from gsum_resources.store.arrow import pc
from gsum_resources.store.content_hash import numbers_of

_MOST_ALIKE = 0.99  # mean cosine of two embeddings beyond which they do not discriminate
_FEW = 2  # passages, too few to judge a clustering
_PUBLISHED = "dbscan"
_DEGENERATE = 0.5  # share of the largest cluster
_ALONE = 0.9  # clusters per passage beyond which hardly any two passages share one
_CLUSTERED = pa.schema([(name, pa.string()) for name in ("level", "clustering", "passage_id")])
# changes that give smaller and larger clusters, by the prefix of a clustering's name
_SETTINGS = {
    "leiden": ("greater resolutions", "smaller resolutions"),
    "dbscan": ("a smaller dbscan_eps", "a greater dbscan_eps"),
    "hdbscan": ("a smaller hdbscan_min_size", "a smaller hdbscan_min_size"),  # noise is alone
    "k_means": ("a smaller k_means_size", "a greater k_means_size"),
}


def not_over_smoothed(embeddings: pa.Table) -> Finding:
    """Check that embeddings of a level differ: the mean cosine of two is at most 0.99."""
    alike = []
    levels = pc.unique(embeddings["level"])
    for level in levels.to_pylist():
        vectors = _matrix(embeddings.filter(pc.equal(embeddings["level"], level))["embedding"])
        mean = _mean_cosine(vectors[np.isfinite(vectors).all(axis=1)])
        if mean > _MOST_ALIKE:
            alike.append({"level": level, "mean_cosine": mean})
    reported = ", ".join(f"'{row['level']}' {row['mean_cosine']:.4f}" for row in alike)
    schema = pa.schema([("level", pa.string()), ("mean_cosine", pa.float64())])
    return found(
        count(len(levels), "level"),
        pa.Table.from_pylist(alike, schema),
        f"have embeddings that hardly differ (mean cosine of two: {reported}), over-smoothed by "
        "graph convolutions; set fewer layers in corpus.toml, [gae.training]",
    )


def every_passage_once(clusters: pa.Table, chunks: pa.Table) -> Finding:
    """Check that clusterings have each passage of their level once; names are of members."""
    passages = _passages(chunks)
    passage_rows = _rows_of(clusters, "passage_id", passages)
    by_name = list(_by_name(clusters))
    not_once, misnamed, n_expected = [_CLUSTERED.empty_table()], [], 0
    ids, names = clusters["passage_id"].combine_chunks(), clusters["cluster"].to_numpy()
    numbers = numbers_of(ids)
    for level, clustering, mine in by_name:
        is_expected = _equals(passages, "level", level)
        n_expected += int(is_expected.sum())
        times = np.bincount(passage_rows[mine & (passage_rows >= 0)], minlength=len(is_expected))
        wrong = passages["passage_id"].filter(pa.array(is_expected & (times != 1)))
        of = [pa.repeat(name, len(wrong)) for name in (level, clustering)]
        not_once.append(pa.table([*of, wrong], schema=_CLUSTERED))
        if not np.array_equal(named_by_members(names[mine], numbers[mine]), names[mine]):
            misnamed.append({"level": level, "clustering": clustering})
    remedy = "materialize gae/clusters again"
    return together(
        [
            found(
                count(n_expected, "passage of a clustering", "passages of clusterings"),
                pa.concat_tables(not_once),
                f"are in no cluster, or in several; {remedy}",
            ),
            found(
                count(clusters.num_rows, "row"),
                clusters.select(_CLUSTERED.names).filter(pa.array(passage_rows < 0)),
                f"name no passage of their level; {remedy}",
            ),
            found(
                count(len(by_name), "clustering"),
                pa.Table.from_pylist(misnamed, _CLUSTERED.remove(2)),
                f"do not name each cluster by the smallest hash of its passages; {remedy}",
            ),
        ]
    )


def not_degenerate(clusterings: pa.Table, chunks: pa.Table) -> Finding:
    """Check that chosen clusterings do not join over half of the passages, nor leave each alone."""
    levels = _passages(chunks)["level"].to_pylist()
    # Clusters of documents with weight 0 are unused; clusters of chunks still define topics.
    counts = pc.or_(pc.equal(clusterings["level"], "node"), pc.greater(clusterings["weight"], 0))
    chosen = clusterings.filter(pc.and_(clusterings["is_chosen"], counts)).select(
        ["level", "scope", "clustering", "n_clusters", "largest"]
    )
    n_passages = np.array([levels.count(level) for level in chosen["level"].to_pylist()])
    is_judged = n_passages > _FEW
    is_dominated = is_judged & (chosen["largest"].to_numpy() > _DEGENERATE)
    is_all_alone = is_judged & (chosen["n_clusters"].to_numpy() > _ALONE * n_passages)
    dominated, alone = (chosen.filter(pa.array(which)) for which in (is_dominated, is_all_alone))
    examined = count(chosen.num_rows, "chosen clustering")
    return together(
        [
            found(
                examined,
                dominated,
                f"have over half of the passages in one cluster ({_described(dominated)}); "
                f"{_remedy(dominated, 0)}; where embeddings are clustered also fewer layers in "
                "[gae.training]",
            ),
            found(
                examined,
                alone,
                f"have nearly every passage alone in its cluster ({_described(alone)}); "
                f"{_remedy(alone, 1)}; or a greater n_nearest in [gae.graph]",
            ),
        ]
    )


def as_published(clusterings: pa.Table, method: str | None) -> pa.Table:
    """Return DBSCAN's rows as the chosen ones if the method always uses it; otherwise none."""
    name = _PUBLISHED if method == "gae-dbscan" else ""
    rows = clusterings.filter(pc.equal(clusterings["clustering"], name))
    for column, value in (("is_chosen", True), ("weight", 1.0)):
        index = rows.schema.get_field_index(column)
        rows = rows.set_column(index, column, pa.repeat(value, rows.num_rows))
    return rows


def _passages(chunks: pa.Table) -> pa.Table:
    """Return `level`, `passage_id`, `document_id` and `position` (of chunks) of all passages."""
    documents = pc.unique(chunks["document_id"])
    names = ["level", "passage_id", "document_id", "position"]
    absent = pa.nulls(len(documents), chunks["position"].type)
    of_documents = [pa.repeat("document", len(documents)), documents, documents, absent]
    of_chunks = [chunks[name] for name in ("chunk_id", "document_id", "position")]
    return pa.concat_tables(
        [
            pa.table(of_documents, names),
            pa.table([pa.repeat("node", chunks.num_rows), *of_chunks], names),
        ]
    )


def _rows_of(rows: pa.Table, column: str, passages: pa.Table) -> np.ndarray:
    """Return the row in `passages` of each id in `column`, int64; -1 where there is none."""
    wanted, known = (
        pc.binary_join_element_wise(table["level"], table[name], "/")
        for table, name in ((rows, column), (passages, "passage_id"))
    )
    found = pc.index_in(wanted, value_set=known.combine_chunks())
    return pc.fill_null(found, -1).to_numpy().astype(np.int64)


def _equals(rows: pa.Table, column: str, value: str) -> np.ndarray:
    """Return where a column has a value, bool `(n_rows,)`."""
    return pc.equal(rows[column], value).to_numpy()


def _matrix(vectors: pa.ChunkedArray) -> np.ndarray:
    """Return vectors of one length, float64 `(n_vectors, dim)`."""
    flat = vectors.combine_chunks().flatten().to_numpy(zero_copy_only=False)
    return flat.astype(np.float64).reshape(len(vectors), -1) if len(vectors) else np.empty((0, 0))


def _mean_cosine(vectors: np.ndarray) -> float:
    """Return the mean over all pairs; 1 if all vectors are equal, 0 for at most two vectors."""
    n = len(vectors)
    if n <= _FEW:
        return 0.0
    if not np.ptp(vectors, axis=0).any():
        return 1.0
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    total = (vectors / np.where(lengths > 0, lengths, 1)).sum(axis=0)
    return float((total @ total - (lengths > 0).sum()) / (n * (n - 1)))


def _by_name(clusters: pa.Table) -> Iterator[tuple[str, str, np.ndarray]]:
    """Yield level, name and row mask of each clustering."""
    for level in pc.unique(clusters["level"]).to_pylist():
        of_level = _equals(clusters, "level", level)
        for name in pc.unique(clusters["clustering"].filter(pa.array(of_level))).to_pylist():
            yield level, name, of_level & _equals(clusters, "clustering", name)


def _described(clusterings: pa.Table) -> str:
    """Return the names of clusterings, and the share of their largest clusters."""
    return ", ".join(
        f"{row['clustering']} of level '{row['level']}', scope '{row['scope']}': "
        f"{row['largest']:.0%} in one"
        for row in clusterings.to_pylist()
    )


def _remedy(clusterings: pa.Table, which: int) -> str:
    """Return the settings that make the clusters of clusterings smaller (0) or larger (1)."""
    families = {name.split("-")[0] for name in clusterings["clustering"].to_pylist()}
    wanted = [_SETTINGS[family][which] for family in sorted(families)]
    return f'set {" and ".join(wanted)} in corpus.toml, [gae.clusters], or method = "chosen" there'


_CHUNK_POSITIONS = ["chunk_id", "document_id", "position"]

NOT_OVER_SMOOTHED = Check(
    "not_over_smoothed",
    "Embeddings differ: the mean cosine of two is at most 0.99.",
    lambda partition: not_over_smoothed(partition.rows()),
    warns=True,
)
EVERY_PASSAGE_ONCE = Check(
    "every_passage_once",
    "Every clustering has each passage of its level once; clusters are named by a passage.",
    lambda partition: every_passage_once(
        partition.rows(), partition.rows("chunks", _CHUNK_POSITIONS)
    ),
)
NOT_DEGENERATE = Check(
    "not_degenerate",
    "No chosen clustering has over half of the passages in one cluster, or nearly each in a "
    "cluster of its own.",
    lambda partition: not_degenerate(partition.rows(), partition.rows("chunks", _CHUNK_POSITIONS)),
    warns=True,
)
PUBLISHED_CLUSTERS_PART = Check(
    "published_clusters_part",
    "DBSCAN, which gae-dbscan uses, does not have over half of the passages in one cluster, or "
    "nearly each in a cluster of its own.",
    lambda partition: not_degenerate(
        as_published(partition.rows("gae.clusterings"), partition.method),
        partition.rows("chunks", _CHUNK_POSITIONS),
    ),
    warns=True,
)
