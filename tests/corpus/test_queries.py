"""queries.jsonl: defaults, and bad queries that lose nothing else."""

import json

from gsum_assets.corpus.queries import Query, Span, load_queries
from gsum_assets.pipeline.tables import TABLES


def _load(folder, *lines, known=("d1", "d2")):
    text = "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines)
    (folder / "queries.jsonl").write_text(text, encoding="utf-8")
    return load_queries(folder, known)


def test_omitted_fields_get_defaults(tmp_path):
    assert load_queries(tmp_path, ["d1"]) == ([], [])  # no file
    queries, failures = _load(
        tmp_path,
        "\ufeff" + json.dumps({"query_id": "q1", "text": "Why?", "document_id": "d1"}),
        "",
        {"query_id": "q2", "text": "Who?", "author": "kept out"},
    )
    assert failures == []
    assert queries == [
        Query("q1", "Why?", "Why?", "general", "d1", [], ["d1"], "test"),
        Query("q2", "Who?", "Who?", "general", None, [], [], "test"),
    ]


def test_all_fields_are_read(tmp_path):
    row = (
        {"query_id": "q", "text": "Why?", "retrieval_text": "why topics", "kind": "specific"}
        | {"document_id": None, "references": ["r"], "relevant_document_ids": ["d2", "d1", "d2"]}
        | {"split": "dev", "form": "choice", "options": ["r", "s"]}
        | {"relevant_spans": [{"document_id": "d1", "start": 3, "end": 9}], "answerable": False}
    )
    queries, failures = _load(tmp_path, row)
    assert failures == []
    row["relevant_document_ids"] = ["d2", "d1"]
    row["relevant_spans"] = [Span("d1", 3, 9)]
    row["is_answerable"] = row.pop("answerable")
    assert queries == [Query(**row)]
    assert set(row) ^ set(TABLES["queries"].schema.names) == {
        "relevant_spans",
        "relevant_chunk_ids",
    }


def test_ids_depend_on_content(tmp_path):
    rows = [{"text": "Why?", "document_id": d} for d in ("d1", "d2", None)]
    queries, _ = _load(tmp_path, *rows)
    again, _ = _load(tmp_path, *reversed(rows))
    ids = [query.query_id for query in queries]
    assert len(set(ids)) == 3
    assert ids == [query.query_id for query in reversed(again)]


def test_bad_queries_are_reported_and_skipped(tmp_path):
    bad = {
        2: ('{"text": ', ["not JSON", "correct the line"]),
        3: ([], ["the line", "dictionary"]),
        4: ({"query_id": "no"}, ["'no'", "'text'", "Field required"]),
        5: ({"query_id": "good", "text": "again"}, ["'good'", "already used on line 1"]),
        6: ({"query_id": "u", "text": "x", "document_id": "d9"}, ["'u'", "'d9'", "not in the"]),
        7: ({"query_id": "v", "text": "x", "relevant_document_ids": ["d1", "d8"]}, ["'v'", "'d8'"]),
        8: ({"query_id": "k", "text": "x", "kind": "odd"}, ["'k'", "'kind'", "'odd'", "general"]),
        9: ({"query_id": "s", "text": "x", "split": "val"}, ["'split'", "'val'", "'dev'"]),
        10: ({"query_id": "r", "text": "x", "references": "one"}, ["'references'", "valid list"]),
        11: ({"query_id": "b", "text": "  "}, ["'text'", "pattern"]),
        12: ({"text": "x", "form": "choice", "options": ["a"]}, ["1 options", "at least two"]),
        13: ({"text": "x", "form": "short", "options": ["a", "b"]}, ["options with form 'short'"]),
        14: ({"text": "x", "options": ["a", "b"], "references": ["c"]}, ["none of the"]),
        15: ({"text": "x", "relevant_spans": [{"start": 0, "end": 4}]}, ["name the document"]),
        16: (
            {"text": "x", "document_id": "d1", "relevant_spans": [{"start": 4, "end": 4}]},
            ["end 4", "larger than start 4"],
        ),
        17: (
            {"text": "x", "relevant_spans": [{"document_id": "d7", "start": 0, "end": 4}]},
            ["'d7'", "not in the corpus"],
        ),
        18: ({"query_id": "i", "text": "\u200b"}, ["'i'", "only invisible characters"]),
    }
    queries, failures = _load(
        tmp_path,
        {"query_id": "good", "text": "x"},
        *(line for line, _ in bad.values()),
        {"query_id": "last", "text": "x"},
    )
    assert [query.query_id for query in queries] == ["good", "last"]
    assert len(failures) == len(bad)
    for problem, (number, (_, fragments)) in zip(failures, bad.items(), strict=True):
        assert f"queries.jsonl line {number}" in problem
        for fragment in fragments:
            assert fragment in problem
