"""Defects planted in the files of a good home: each is seen by its check, and by no other."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from gsum_assets.pipeline.tables import RESULT_TABLES, TABLES, table_of
from gsum_assets.registry.families import FAMILIES
from gsum_resources.store.lineage import code_version_of
from gsum_resources.store.parquet_store import Partition, Provenance
from tests.checks.indexed import Change, failing, indexed, plant, verdicts, with_column
from tests.conftest import CORPUS, House, document_in
from tests.pipeline.homes import WITHOUT_BERTSCORE, copy_of, house_at

ALL = Partition(CORPUS)
FIRST = Partition(CORPUS, "00")
BM25 = Partition(CORPUS, method="bm25")
DENSE = Partition(CORPUS, method="dense")


def furnish(house: House) -> None:
    """A document in each bucket and one more, and a question for two of them."""
    documents = [document_in(bucket) for bucket in range(8)] + [document_in(0, 1)]
    for document_id in documents:
        house.write_document(document_id)
    house.write_queries(
        [
            {"query_id": q, "text": f"What did the {q} do?", "references": [f"The {q} sank."]}
            for q in ("boat", "lamp")
        ]
    )
    (house.folder / "corpus.toml").write_text(WITHOUT_BERTSCORE)


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> Iterator[House]:
    with indexed(tmp_path_factory.mktemp("good"), furnish) as house:
        yield house


@pytest.fixture
def house(good: House, tmp_path: Path) -> Iterator[House]:
    with copy_of(good, tmp_path) as copy:
        yield copy


def test_all_checks_pass_in_a_good_home(good: House) -> None:
    found = verdicts(good)
    assert {name for name, verdict in found.items() if not verdict.passed} == set()
    assert found["documents:ids_unique"].description == f"{CORPUS}: 9 rows in 8 partitions"
    assert (
        found["retrieval/scores:schema"].description
        == f"{CORPUS}/bm25: 1 file; {CORPUS}/dense: 1 file"
    )
    n_chunks = good.table("chunks").num_rows
    expected = f"{CORPUS}: {n_chunks} chunks of 9 documents"
    assert found["chunks:cover_documents"].description == expected
    assert not Path(f"{good.store.root}/_checks").exists()  # nothing to remember


def duplicate(rows: pa.Table) -> pa.Table:
    return pa.concat_tables([rows, rows.slice(0, 1)])


def reject(rows: pa.Table) -> pa.Table:
    row = {"document_id": "b", "file": "b.txt", "line": 0, "reason": "not | UTF-8"}
    row["is_other_type"] = False
    return pa.Table.from_pylist([row], rows.schema)


def not_null(name: str) -> Change:
    return lambda rows: rows.cast(
        pa.schema([f.with_nullable(False) if f.name == name else f for f in rows.schema])
    )


class Defect(NamedTuple):
    """A change of a file, the check that finds it (of that asset by default), and its words."""

    asset: str
    partition: Partition
    change: Change
    check: str
    words: str


DEFECTS = {
    "column renamed": Defect(
        "queries",
        ALL,
        lambda rows: rows.rename_columns({"kind": "sort"}),
        "schema",
        "column 'kind' is missing",
    ),
    "another type": Defect(
        "retrieval/rankings",
        DENSE,
        lambda rows: rows.set_column(
            rows.schema.get_field_index("latency_s"),
            pa.field("latency_s", pa.float32(), nullable=False),
            rows["latency_s"].cast(pa.float32()),
        ),
        "schema",
        "column 'latency_s' has type float, declared double",
    ),
    "null forbidden": Defect(
        "retrieval/contexts",
        BM25,
        not_null("position"),
        "schema",
        "column 'position' may not be null",
    ),
    "row twice": Defect(
        "retrieval/summaries", BM25, duplicate, "ids_unique", "share 1 key (query_id, sample)"
    ),
    "chunk twice": Defect("chunks", FIRST, duplicate, "ids_unique", "2 of "),
    "text gone": Defect(
        "documents",
        FIRST,
        with_column("text", lambda texts: [text + " More." for text in texts]),
        "chunks:cover_documents",
        "text in no chunk",
    ),
    "document gone": Defect(
        "documents",
        FIRST,
        lambda rows: rows.slice(1),
        "chunks:cover_documents",
        "a chunk of a missing document",
    ),
    "not a number": Defect(
        "chunk_embeddings",
        FIRST,
        with_column("embedding", lambda v: [[float("nan"), *v[0][1:]], *v[1:]]),
        "finite",
        "1 of ",
    ),
    "vector missing": Defect(
        "chunk_embeddings", FIRST, lambda rows: rows.slice(1), "finite", "chunks have no vector"
    ),
    "rejected": Defect(
        "rejected_documents",
        FIRST,
        reject,
        "none_rejected",
        "1 rejected document (first: b.txt: not | UTF-8)",
    ),
    "rank missing": Defect(
        "retrieval/rankings",
        BM25,
        lambda rows: rows.slice(1),
        "ranks_consecutive",
        "1 of 4 rankings do not count their ranks up from 1",
    ),
    "unknown chunk": Defect(
        "retrieval/contexts",
        BM25,
        with_column("node_id", lambda ids: ["c0", *ids[1:]]),
        "cite_what_exists",
        "do not exist",
    ),
    "another text": Defect(
        "retrieval/contexts",
        BM25,
        with_column("text", lambda texts: ["something else", *texts[1:]]),
        "cite_what_exists",
        "have another text",
    ),
    "no answer": Defect(
        "retrieval/summaries",
        BM25,
        lambda rows: rows.slice(1),
        "every_question_answered",
        "1 of 2 questions have no answer",
    ),
    "score above one": Defect(
        "retrieval/scores",
        BM25,
        with_column("value", lambda values: [*values[:-1], 1.5]),
        "in_range",
        "1 of ",
    ),
    "mean outside": Defect(
        "leaderboard",
        ALL,
        with_column("high", lambda highs: [-1.0, *highs[1:]]),
        "mean_in_interval",
        "lie outside their interval",
    ),
}
WARNINGS = {"none_rejected", "every_question_answered", "lineage_is_current", "requests_answered"}


@pytest.mark.parametrize("defect", DEFECTS)
def test_defect_fails_only_its_check(house: House, defect: str) -> None:
    asset, partition, change, check, words = DEFECTS[defect]
    check = check if ":" in check else f"{asset}:{check}"
    plant(house, asset.split("/")[-1], partition, change)
    found = verdicts(house)
    assert {name for name, verdict in found.items() if not verdict.passed} == {check}
    assert words in found[check].description
    assert found[check].n_wrong
    assert found[check].offenders
    assert not found[check].broke
    assert found[check].check.warns == (check.split(":")[1] in WARNINGS)


@pytest.mark.parametrize("name", ["documents", "chunks", "chunk_embeddings", "query_embeddings"])
def test_table_without_rows_fails_and_blocks(house: House, name: str) -> None:
    for partition in house.store.partitions(TABLES[name]):
        plant(house, name, partition, lambda rows: rows.slice(0, 0))
    verdict = verdicts(house)[f"{name}:has_rows"]
    assert not verdict.passed
    assert "though" in verdict.description
    assert verdict.check.blocking
    assert verdict.is_error


def test_document_in_two_buckets_fails(house: House) -> None:
    (row,) = house.table("documents").slice(0, 1).drop_columns(["corpus", "bucket"]).to_pylist()
    other = Partition(CORPUS, "05")
    plant(
        house,
        "documents",
        other,
        lambda rows: pa.concat_tables([rows, pa.Table.from_pylist([row], rows.schema)]),
    )
    assert failing(house) == {"documents:ids_unique"}


def test_vectors_of_two_lengths_fail(house: House) -> None:
    def longer(rows: pa.Table) -> pa.Table:
        vectors = [[*vector, 0.0] for vector in rows["embedding"].to_pylist()]
        column = pa.array(vectors, pa.list_(pa.float32(), len(vectors[0])))
        field = pa.field("embedding", column.type, nullable=False)
        return rows.set_column(rows.schema.get_field_index("embedding"), field, column)

    plant(house, "chunk_embeddings", FIRST, longer)
    verdict = verdicts(house, [FIRST])["chunk_embeddings:finite"]
    assert "more than one dimension" in verdict.description


def stored(house: House, name: str) -> tuple[pa.Table, Provenance]:
    """Return the rows of the corpus and what their footer records."""
    table = TABLES[name]
    provenance = house.store.provenance(table, ALL)
    assert provenance is not None
    return house.store.read(table, [ALL])[0], provenance


def test_table_written_from_another_version_is_stale(house: House) -> None:
    rows, provenance = stored(house, "queries")
    house.store.write(TABLES["queries"], ALL, rows[:1], replace(provenance, content_hash=""))
    found = verdicts(house)
    readers = [
        f"retrieval/{table}" for table in ("rankings", "summaries", "answer_sources", "scores")
    ]
    readers += [
        "query_embeddings",
        "answerability",
        "leaderboard",
        "curves",
        "comparisons",
        "costs",
    ]
    assert {name for name, verdict in found.items() if not verdict.passed} == {
        "query_embeddings:finite",
        *(f"{asset}:lineage_is_current" for asset in readers),
    }
    assert "belong to no question" in found["query_embeddings:finite"].description
    description = found["retrieval/scores:lineage_is_current"].description
    assert "1 of 1 partition are out of date" in description
    assert f"table:queries/corpus={CORPUS} changed" in description
    assert f"`gsum run {CORPUS}`" in description


def test_changed_code_makes_tables_stale(house: House) -> None:
    rows, provenance = stored(house, "leaderboard")
    house.store.write(TABLES["leaderboard"], ALL, rows, replace(provenance, code_version="0"))
    assert failing(house) == {"leaderboard:lineage_is_current"}


def test_file_not_written_by_gsum_fails(house: House) -> None:
    path = house.store.path(TABLES["leaderboard"], ALL)
    pq.write_table(pq.read_table(path, partitioning=None).replace_schema_metadata({}), path)
    found = verdicts(house)
    assert "the footer has no provenance" in found["leaderboard:schema"].description
    lineage = found["leaderboard:lineage_is_current"]
    assert "could not be checked: StoreError: " in lineage.description
    assert lineage.broke  # an error, though the check only warns of what it finds


@pytest.mark.slow
def test_run_repeats_findings_on_tables_it_did_not_write(house: House) -> None:
    check = "retrieval/rankings:ranks_consecutive"
    path = house.store.path(TABLES["rankings"], BM25)
    sound = Path(path).read_bytes()
    plant(house, "rankings", BM25, lambda rows: rows.slice(1))
    assert verdicts(house, [DENSE])[check].passed  # not checked yet
    assert not verdicts(house, [BM25])[check].passed
    again = verdicts(house, [DENSE])[check]
    assert again.is_error
    assert not replace(again, check=replace(again.check, blocking=True)).is_error  # of another run
    assert again.n_checked == 2
    assert again.description.startswith(f"{CORPUS}/bm25: 1 of 4 rankings")
    Path(path).write_bytes(sound)
    assert verdicts(house, [DENSE])[check].passed
    assert verdicts(house, [DENSE])[check].n_checked == 1


def test_run_checks_its_own_buckets_and_all_buckets_after_a_failure(house: House) -> None:
    check = "chunks:cover_documents"
    plant(house, "documents", FIRST, lambda rows: rows.slice(1))
    third = Partition(CORPUS, "03")
    assert verdicts(house, [third])[check].description.endswith("of 1 document")
    assert not verdicts(house, [FIRST])[check].passed
    assert not verdicts(house, [third])[check].passed


def test_finding_on_deleted_table_is_dropped(house: House) -> None:
    plant(house, "rankings", BM25, lambda rows: rows.slice(1))
    assert failing(house)
    house.store.delete(TABLES["rankings"], BM25)
    verdict = verdicts(house, [DENSE])["retrieval/rankings:ranks_consecutive"]
    assert (verdict.passed, verdict.n_checked) == (True, 1)


def test_home_without_tables_passes(tmp_path: Path) -> None:
    with house_at(tmp_path) as empty:
        found = verdicts(empty)
    assert {verdict.description for verdict in found.values()} == {"nothing written yet"}
    assert all(verdict.passed for verdict in found.values())


def test_empty_tables_pass(tmp_path: Path) -> None:
    with house_at(tmp_path) as empty:
        graph = empty.pipeline().definitions.resolve_asset_graph()
        versions = {
            table_of(key.path): graph.get(key).code_version
            for key in graph.materializable_asset_keys
            if key.path[0] == "retrieval" or key.path[-1] not in RESULT_TABLES  # those of bm25
        }
        for table in TABLES.values():
            bucket = "00" if "bucket" in table.dimensions else None
            method = "bm25" if "method" in table.dimensions else None
            partition = Partition(CORPUS, bucket, method)
            written = Provenance("", code_version_of(table, versions.get(table, "1")))
            empty.store.write(table, partition, table.empty(), written)
        found = verdicts(empty)
    assert [verdict.description for verdict in found.values() if not verdict.passed] == []
    families = tuple(f"{family.name}/" for family in FAMILIES if family.name != "retrieval")
    of_bm25 = {n: v for n, v in found.items() if not n.startswith(families)}
    assert all(verdict.n_checked == 1 for verdict in of_bm25.values())
