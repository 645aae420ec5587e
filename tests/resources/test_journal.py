"""A journal keeps what was appended, whatever happens to its writer."""

import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gsum_resources import journal as journals
from gsum_resources.journal import Entry, JournalReader, open_journal, orphans
from gsum_resources.parquet_store import ParquetStore

ENTRIES = [Entry(bytes([i]) * 16, b"value %d" % i if i % 3 else None, b"note") for i in range(5)]
PATIENCE_S = 900


@pytest.fixture(params=["file", "object"])
def store(request, tmp_path: Path, monkeypatch) -> ParquetStore:
    monkeypatch.setattr(journals, "_GROUP_S", 0.01)
    if request.param == "file":
        return ParquetStore(str(tmp_path))
    return ParquetStore(f"memory://{tmp_path}")


def folder_of(store: ParquetStore) -> str:
    return f"{store.root}/journals"


def read_when_there(reader: JournalReader, n: int) -> list[Entry]:
    found, started = [], time.monotonic()
    while len(found) < n and time.monotonic() - started < PATIENCE_S:
        found += reader.new_entries()
    return found


def orphaned(store: ParquetStore) -> list[Entry]:
    return [e for _, _, entries in orphans(store, f"{store.root}/*") for e in entries]


def test_others_read_what_is_appended_once_and_nothing_after_its_removal(store):
    reader = JournalReader(store, folder_of(store))
    journal = open_journal(store, folder_of(store))
    for entry in ENTRIES:
        journal.append(entry)
    assert read_when_there(reader, len(ENTRIES)) == ENTRIES
    assert reader.new_entries() == []
    assert orphaned(store) == []  # its writer lives
    journal.remove()
    journal.close()
    assert store.fs.find(folder_of(store)) == []
    assert JournalReader(store, folder_of(store)).new_entries() == []


def test_what_is_closed_unfolded_is_an_orphan_until_it_is_folded(store, monkeypatch):
    journal = open_journal(store, folder_of(store))
    for entry in ENTRIES:
        journal.append(entry)
    journal.close()
    monkeypatch.setattr(journals, "ORPHAN_AFTER_S", 0)
    folding = orphans(store, f"{store.root}/*")
    assert next(folding) == (folder_of(store), journal.name, ENTRIES)
    folding.close()  # as an error does, before the next is asked for
    assert orphaned(store) == ENTRIES
    assert orphaned(store) == []
    assert store.fs.find(folder_of(store)) == []


def test_objects_are_given_an_hour(tmp_path):
    store = ParquetStore(f"memory://{tmp_path}")
    journal = open_journal(store, folder_of(store))
    journal.append(ENTRIES[1])
    journal.close()
    assert orphaned(store) == []
    assert JournalReader(store, folder_of(store)).new_entries() == ENTRIES[1:2]


def test_an_object_store_that_fails_is_told_to_whoever_appends(tmp_path, monkeypatch):
    store = ParquetStore(f"memory://{tmp_path}")
    monkeypatch.setattr(journals, "_GROUP_S", 0)

    def refuse(path: str, content: bytes) -> None:
        raise PermissionError(path)

    monkeypatch.setattr(store.fs, "pipe_file", refuse)
    journal = open_journal(store, folder_of(store))

    journal.append(ENTRIES[0])
    journal._thread.join(PATIENCE_S)
    with pytest.raises(PermissionError, match=journal.name):
        journal.append(ENTRIES[1])


@given(
    st.lists(
        st.tuples(st.binary(min_size=16, max_size=16), st.none() | st.binary(), st.binary()),
        min_size=1,
        max_size=6,
    ),
    st.data(),
)
def test_a_torn_tail_costs_what_is_torn_alone(rows, data):
    entries = [Entry(*row) for row in rows]
    records = [journals._pack(entry) for entry in entries]
    content = b"".join(records)
    cut = data.draw(st.integers(0, len(content)))
    whole = [i for i in range(len(records)) if sum(map(len, records[: i + 1])) <= cut]
    found, length = journals._unpack(content[:cut])
    assert found == [entries[i] for i in whole]
    assert length == sum(len(records[i]) for i in whole)
    flipped = bytearray(content)
    flipped[cut - 1] ^= 1
    found, _ = journals._unpack(bytes(flipped))
    assert found == entries[: len(found)]
    assert len(found) < len(entries)


def test_a_record_that_does_not_fit_hides_none_of_those_after_it(tmp_path):
    store = ParquetStore(str(tmp_path))
    journal = open_journal(store, folder_of(store))
    journal.append(ENTRIES[0])
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2000, limits[1]))
    try:
        with pytest.raises(OSError, match="No space left"):
            journal.append(Entry(bytes(16), bytes(4000), b""))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    journal.append(ENTRIES[1])
    assert JournalReader(store, folder_of(store)).new_entries() == ENTRIES[:2]


WRITER = """
import sys
from gsum_resources.journal import Entry, open_journal
from gsum_resources.parquet_store import ParquetStore
journal = open_journal(ParquetStore(sys.argv[1]), sys.argv[2])
for i in range(5):
    journal.append(Entry(bytes([i]) * 16, b"value %d" % i if i % 3 else None, b"note"))
print("written", flush=True)
sys.stdin.read()
"""


def test_a_killed_writer_leaves_all_it_wrote_to_the_next_process(tmp_path):
    store = ParquetStore(str(tmp_path))
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, store.root, folder_of(store)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        cwd=Path(__file__).parents[2],
    )
    try:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"written\n"
        assert JournalReader(store, folder_of(store)).new_entries() == ENTRIES
        assert orphaned(store) == []
    finally:
        os.kill(writer.pid, signal.SIGKILL)
        writer.wait(PATIENCE_S)
    (path,) = Path(folder_of(store)).iterdir()
    with path.open("ab") as file:
        file.write(b"\x40\x00\x00\x00 torn")
    assert orphaned(store) == ENTRIES
