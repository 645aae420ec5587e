"""Loading: every format, every kind of bad input, and hashes that move only with content."""

import gzip
import json
import os
from uuid import UUID

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_assets.corpus.folder import is_removed
from gsum_assets.corpus.load import Document, bucket_of, load, scan
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings, DocumentSettings
from gsum_assets.pipeline.tables import TABLES

SETTINGS = CorpusSettings()


def _small(max_bytes):
    return CorpusSettings(documents=DocumentSettings(max_bytes=max_bytes))


def _write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        content = content.encode() if isinstance(content, str) else content
        path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return folder


def _lines(*rows):
    return "\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows)


def _reasons(folder, settings=SETTINGS):
    documents, rejected = load(folder, settings)
    return [d.document_id for d in documents], {(r.file, r.line): r.reason for r in rejected}


def test_any_mix_of_formats(tmp_path):
    _write(
        tmp_path,
        {
            "b.txt": "plain",
            "notes/2024/a.md": "intro\n# The heading #\n# second\n",
            "documents.jsonl.gz": _lines({"document_id": "j", "title": "J", "text": "json"}, ""),
            "documents.csv": 'id,text,title\nc,"two\nlines, one cell",C\n7,seven,\n',
            "queries.jsonl": "not a document",
            "corpus.toml": "",
            ".hidden.txt": "x",
            "~lock.txt": "x",
            ".git/config.txt": "x",
            "image.png": "x",
            "sub/documents.jsonl": "x",
        },
    )
    pq.write_table(
        pa.table({"document_id": ["p"], "text": ["parquet"]}), tmp_path / "documents.parquet"
    )
    documents, rejected = load(tmp_path, SETTINGS)
    assert [(r.document_id, r.is_other_type) for r in rejected] == [
        ("image.png:0", True),
        ("sub/documents.jsonl:1", False),
    ]
    assert documents == [
        Document("b", "b", "plain", encoding="utf-8", file="b.txt"),
        Document("c", "C", "two\nlines, one cell"),
        Document("7", "7", "seven"),
        Document("j", "J", "json"),
        Document("p", "p", "parquet"),
        Document(
            *("notes--2024--a", "The heading", "intro\n# The heading #\n# second"),
            encoding="utf-8",
            file="notes/2024/a.md",
        ),
    ]
    assert [(s.document_id, s.file, s.line) for s in scan(tmp_path, SETTINGS)] == [
        ("b", "b.txt", 0),
        ("c", "documents.csv", 2),
        ("7", "documents.csv", 4),
        ("j", "documents.jsonl.gz", 1),
        ("p", "documents.parquet", 1),
        ("image.png:0", "image.png", 0),
        ("notes--2024--a", "notes/2024/a.md", 0),
        ("sub/documents.jsonl:1", "sub/documents.jsonl", 1),
    ]


def test_text_is_kept_except_bom_line_ends_and_trailing_blanks(tmp_path):
    _write(tmp_path, {"a.txt": b"\xef\xbb\xbf  Zw\xc3\xb6lf\t\r\nx\ry \n"})
    assert load(tmp_path, SETTINGS)[0][0].text == "  Zwölf\t\nx\ny"


def test_invalid_text_files_are_rejected(tmp_path):
    _write(
        tmp_path,
        {
            "empty.txt": "",
            "blank.txt": " \n\t\u3000",
            "good.txt": "good",
            "large.txt": "x" * 101,
            "picture.txt": b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR",
            "unseen.md": "\ufeff\u200b \u2060\x07\n",
            "nul.txt": "a\0b",
        },
    )
    good, reasons = _reasons(tmp_path, _small(100))
    assert good == ["good"]
    for file, shares in {
        "empty.txt": ["empty"],
        "blank.txt": ["only blanks"],
        "large.txt": ["101 bytes", "max_bytes = 100", "corpus.toml"],
        "picture.txt": ["the text is binary or damaged"],
        "unseen.md": ["only blanks and invisible characters"],
        "nul.txt": ["NUL at character 1"],
    }.items():
        reason = reasons.pop((file, 0))
        for share in shares:
            assert share in reason
    assert reasons == {}


def test_bad_jsonl_lines_do_not_affect_others(tmp_path):
    good = {"document_id": "g", "text": "good"}
    lines = [
        (b"\xef\xbb\xbf" + json.dumps(good).encode(), None),
        (b'{"document_id": "a", "text": "x"', "line 2, column"),
        (b'["a"]', "holds a list, not an object"),
        (b'{"document_id": "a\xff", "text": "x"}', "line 4 is not UTF-8 at byte 18"),
        (b'{"text": "no id"}', "document_id is None"),
        (b'{"document_id": "n"}', "add the column 'text'"),
        (b'{"document_id": "l", "text": ["x"]}', "text is a list, not a string"),
        (b'{"document_id": "g", "text": "again"}', "already used by documents.jsonl, line 1"),
        (b'{"document_id": "", "text": "x"}', "the id is empty"),
        (b'{"document_id": "../up", "text": "x"}', "contains '/'"),
        (b'{"document_id": "a\\nb", "text": "x"}', "contains '\\n'"),
        (b'{"document_id": "%s", "text": "x"}' % (b"i" * 201), "201 characters"),
        (b'{"document_id": true, "text": "x"}', "document_id is True"),
        (b'{"document_id": "s", "text": "\\ud800"}', "half a surrogate pair at character 0"),
        (b'{"document_id": "t", "text": "x", "title": {}}', "title is a dict"),
        (b"[" * 100_000, "not usable JSON"),
        (b'{"document_id": 17, "text": "an integer id", "title": 3}', None),
    ]
    _write(tmp_path, {"documents.jsonl": b"\r\n".join(line for line, _ in lines)})
    documents, rejected = load(tmp_path, SETTINGS)
    assert documents == [Document("g", "g", "good"), Document("17", "3", "an integer id")]
    expected = {i: share for i, (_, share) in enumerate(lines, start=1) if share}
    assert [r.line for r in rejected] == list(expected)
    for r in rejected:
        assert expected[r.line] in r.reason
    assert rejected[0].document_id == "documents.jsonl:2"
    assert rejected[4].document_id == "n"


def test_first_valid_duplicate_wins(tmp_path):
    rows = [{"id": "a", "text": ""}, {"id": "a", "text": "1"}, {"id": "a", "text": "2"}]
    _write(tmp_path, {"documents.jsonl": _lines(*rows)})
    documents, rejected = load(tmp_path, SETTINGS)
    assert [d.text for d in documents] == ["1"]
    assert [r.line for r in rejected] == [1, 3]
    assert "line 2" in rejected[1].reason


def test_overlong_line_is_skipped(tmp_path):
    huge = json.dumps({"id": "h", "text": "x" * 200_000})
    _write(tmp_path, {"documents.jsonl": _lines(huge, {"id": "a", "text": "ok"})})
    good, reasons = _reasons(tmp_path, _small(100))
    assert good == ["a"]
    assert f"{len(huge) + 1} bytes" in reasons[("documents.jsonl", 1)]
    _write(tmp_path, {"documents.jsonl": _lines({"id": "b", "text": "é" * 51})})
    assert "102 bytes" in _reasons(tmp_path, _small(100))[1][("documents.jsonl", 1)]


def test_bad_csv_rows_are_rejected(tmp_path):
    rows = b'document_id,text\na,one\nb,"latin \xe9"\nc,x,y\n\nd,"quoted" badly\ne,last\nf,\n'
    _write(tmp_path, {"documents.csv": rows})
    good, reasons = _reasons(tmp_path)
    assert good == ["a", "b", "e"]  # b is decoded from cp1252
    assert "3 fields, the header 2" in reasons[("documents.csv", 4)]
    assert "not CSV" in reasons[("documents.csv", 6)]
    assert "empty" in reasons[("documents.csv", 8)]


def test_citations_of_a_document_are_read(tmp_path):
    lines = [
        {"id": "j0", "text": "x", "cites": ["a", "gone", "a", 17]},
        {"id": "j1", "text": "x", "cites": []},
        {"id": "j2", "text": "x", "cites": None},
        {"id": "j3", "text": "x", "cites": "a"},
        {"id": "j4", "text": "x", "cites": {"a": 1}},
        {"id": "j5", "text": "x", "cites": ["a", None]},
        {"id": "j6", "text": "x", "cites": [["a"]]},
        {"id": "j7", "text": "x", "cites": ["\ud800"]},
        {"id": "j8", "text": "x", "cites": ["a", True]},
    ]
    csv = b"id,cites,text\nc0, a ; b;,x\nc1, ,x\nc2,;,x\nc3,caf\xe9,x\n"
    _write(tmp_path, {"a.txt": "a", "documents.csv": csv, "documents.jsonl": _lines(*lines)})
    raw = pa.array([b"a", b"b", b"caf\xe9"], pa.binary())
    ids = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    cites = pa.ListArray.from_arrays(pa.array([0, None, 2, 2, 3], pa.int32()), ids)
    rows = {"id": ["p0", "p1", "p2", "p3"], "text": ["x"] * 4, "cites": cites}
    pq.write_table(pa.table(rows), tmp_path / "documents.parquet")
    documents, rejected = load(tmp_path, SETTINGS)
    assert {d.document_id: d.cites for d in documents} == {
        "a": None,
        "c0": ("a", "b"),
        "c1": None,
        "c2": (),
        "c3": ("café",),
        "j0": ("a", "gone", "17"),
        "j1": (),
        "j2": None,
        "p0": ("a", "b"),
        "p1": None,
        "p2": (),
        "p3": ("café",),
    }
    assert {r.document_id: r.reason.split(";")[0] for r in rejected} == {
        "j3": "cites is a str, not a list of ids",
        "j4": "cites is a dict, not a list of ids",
        "j5": "the id in cites is a NoneType, not a string",
        "j6": "the id in cites is a list, not a string",
        "j7": "the id in cites has half a surrogate pair at character 0",
        "j8": "the id in cites is a bool, not a string",
    }
    stored = rows_of(TABLES["documents"], documents)["cites"].to_pylist()
    assert stored == [None if d.cites is None else list(d.cites) for d in documents]


@pytest.mark.parametrize(
    "kind",
    [
        pa.list_(pa.large_string()),
        pa.large_list(pa.string()),
        pa.list_(pa.dictionary(pa.int32(), pa.string())),
        pa.list_(pa.int64()),
        pa.list_(pa.string(), 2),
    ],
    ids=str,
)
def test_citations_are_read_from_any_parquet_list(tmp_path, kind):
    ids = [1, 2] if kind == pa.list_(pa.int64()) else ["1", "2"]
    rows = {"id": ["a"], "text": ["x"], "cites": pa.array([ids]).cast(kind)}
    pq.write_table(pa.table(rows), tmp_path / "documents.parquet")
    assert load(tmp_path, SETTINGS) == ([Document("a", "a", "x", ("1", "2"))], [])


def test_tables_without_required_columns_are_rejected(tmp_path):
    _write(tmp_path, {"documents.csv": "id,body\na,b\n"})
    pq.write_table(pa.table({"text": ["x"]}), tmp_path / "documents.parquet")
    good, reasons = _reasons(tmp_path)
    assert good == []
    assert "['body', 'id']" in reasons[("documents.csv", 1)]
    assert "['text']" in reasons[("documents.parquet", 0)]


def test_bad_parquet_rows_are_rejected(tmp_path):
    raw = pa.array([b"fine", b"caf\xe9", None], pa.binary())
    text = pa.Array.from_buffers(pa.string(), 3, raw.buffers())
    ids = pa.array(["a", "b", "c"]).dictionary_encode()
    pq.write_table(pa.table({"id": ids, "text": text}), tmp_path / "documents.parquet")
    good, reasons = _reasons(tmp_path)
    assert good == ["a", "b"]
    assert "no text" in reasons[("documents.parquet", 3)]
    pq.write_table(pa.table({"id": [5], "text": [1.5]}), tmp_path / "documents.parquet")
    assert "text is a float" in _reasons(tmp_path)[1][("documents.parquet", 1)]
    pairs = pa.FixedSizeListArray.from_arrays(text.slice(0, 2), 2)
    pq.write_table(pa.table({"id": [5], "text": pairs}), tmp_path / "documents.parquet")
    assert "can't decode byte" in _reasons(tmp_path)[1][("documents.parquet", 0)]


@pytest.mark.parametrize("keep", [0, 3, 20, 40])
def test_damaged_archive_keeps_its_readable_rows(tmp_path, keep):
    packed = gzip.compress(_lines({"id": "j", "text": "x" * 50}).encode())
    (tmp_path / "documents.jsonl.gz").write_bytes(packed[:keep] if keep else b"no archive")
    (tmp_path / "documents.parquet").write_bytes(b"no parquet")
    _write(tmp_path, {"a.txt": "good"})
    good, reasons = _reasons(tmp_path)
    assert good[0] == "a"
    assert "not readable as Parquet" in reasons[("documents.parquet", 0)]
    assert any("gzip" in reason for reason in reasons.values())
    assert len(scan(tmp_path, SETTINGS)) == len(good) + len(reasons)


@pytest.mark.parametrize("make", [False, True])
def test_folder_without_documents_raises(tmp_path, make):
    folder = tmp_path / "corpus"
    if make:
        _write(folder, {"queries.jsonl": "{}", "corpus.toml": "", "a.jpg": "x"})
    with pytest.raises(CorpusError) as error:
        scan(folder, SETTINGS)
    assert str(folder) in str(error.value)
    assert ("*.jsonl" if make else "does not exist") in str(error.value)


def test_oversized_file_is_hashed_without_reading_it_whole(tmp_path):
    path = tmp_path / "sparse.txt"
    with path.open("wb") as stream:
        stream.truncate(3_000_000_000)  # sparse: takes no disk, would take 3 GB of memory
    _write(tmp_path, {"a.txt": "good"})
    first = scan(tmp_path, SETTINGS)
    with path.open("r+b") as stream:
        stream.truncate(3_000_000_001)
    second = scan(tmp_path, SETTINGS)
    assert [a.content_hash == b.content_hash for a, b in zip(first, second, strict=True)] == [
        True,
        False,
    ]
    assert "3000000001 bytes" in _reasons(tmp_path)[1][("sparse.txt", 0)]


def test_hash_depends_on_content_only(tmp_path):
    def hashes():
        return {s.document_id: s.content_hash for s in scan(tmp_path, SETTINGS)}

    _write(tmp_path, {"a.txt": "one", "documents.jsonl": _lines({"id": "j", "text": "x"})})
    before = hashes()
    assert all(len(value) == 32 and int(value, 16) >= 0 for value in before.values())
    os.utime(tmp_path / "a.txt", (1, 1))
    _write(
        tmp_path, {"documents.jsonl": _lines({"id": "k", "text": "y"}, {"id": "j", "text": "x"})}
    )
    after = hashes()
    assert {key: after[key] for key in before} == before
    _write(tmp_path, {"a.txt": "two"})
    assert hashes()["a"] != before["a"]
    assert hashes()["j"] == before["j"]
    assert scan(tmp_path, _small(9))[0].content_hash != scan(tmp_path, SETTINGS)[0].content_hash
    titled = CorpusSettings(title="another")
    assert scan(tmp_path, titled) == scan(tmp_path, SETTINGS)


@pytest.mark.parametrize("suffix", ["jsonl", "csv", "parquet"])
def test_hash_covers_citations(tmp_path, suffix):
    def hashes(cites):
        rows = pa.table({"id": ["a", "b"], "text": ["x", "y"], "cites": [["b"], cites]})
        if suffix == "parquet":
            pq.write_table(rows, tmp_path / "documents.parquet")
        elif suffix == "jsonl":
            _write(tmp_path, {"documents.jsonl": _lines(*rows.to_pylist())})
        else:
            _write(tmp_path, {"documents.csv": f"id,text,cites\na,x,b\nb,y,{';'.join(cites)}\n"})
        return [found.content_hash for found in scan(tmp_path, SETTINGS)]

    (a, b), (same, other) = hashes(["a"]), hashes(["a", "c"])
    assert a == same
    assert b != other


_texts = st.text(st.characters(codec="utf-8"), max_size=8)
_ids = st.one_of(st.sampled_from(["a", "b", "c", "", "x/y"]), st.none(), _texts)
_rows = st.fixed_dictionaries({"document_id": _ids}, optional={"text": _texts})


@given(st.lists(st.one_of(_rows.map(json.dumps), st.text('{}[]",:a ', max_size=6)), max_size=12))
def test_loading_in_shares_equals_loading_at_once(tmp_path_factory, lines):
    folder = tmp_path_factory.mktemp("corpus")
    _write(folder, {"documents.jsonl": "\n".join(lines), "c.txt": "c"})
    found = scan(folder, SETTINGS)
    documents, rejected = load(folder, SETTINGS)
    assert len(documents) + len(rejected) == len(found)
    shares = [
        load(folder, SETTINGS, {s.document_id for s in found if bucket_of(s.document_id) == b})
        for b in [f"{b:02d}" for b in range(8)]
    ]
    assert {d for share in shares for d in share[0]} == set(documents)
    assert sum(len(share[0]) for share in shares) == len(documents)
    assert {r for share in shares for r in share[1]} == set(rejected)


def test_link_to_unmounted_target_keeps_its_documents(tmp_path):
    _write(tmp_path / "papers", {"a.txt": "good"})
    root = tmp_path / "corpora"
    root.mkdir()
    (root / "linked").symlink_to(tmp_path / "papers")
    (tmp_path / "papers").rename(tmp_path / "away")
    assert not is_removed(root / "linked")
    assert is_removed(root / "removed")
    with pytest.raises(CorpusError, match=r"is a link to .*papers, which does not exist; mount"):
        scan(root / "linked", SETTINGS)
    (root / "linked").unlink()
    assert is_removed(root / "linked")


def test_vectors_with_nulls_and_ids_of_type_uuid_are_no_reason_to_reject(tmp_path):
    own = UUID(int=7)
    ids = pa.ExtensionArray.from_storage(pa.uuid(), pa.array([own.bytes] * 1, pa.binary(16)))
    for kind in (pa.list_(pa.float32(), 2), pa.list_(pa.float32())):
        columns = {"document_id": ids, "text": ["Text."], "v": pa.array([None], kind), "n": [3]}
        pq.write_table(pa.table(columns), tmp_path / "documents.parquet")
        documents, rejected = load(tmp_path, CorpusSettings())
        assert not rejected
        assert [(d.document_id, d.text, d.metadata) for d in documents] == [
            (str(own), "Text.", '{"n": 3}')
        ]
