"""A question is answered from one state, old or new, while tables are replaced."""

import gc
import re
import threading
import weakref
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gsum_assets.answering.answer import Answer
from gsum_assets.answering.ask import ask
from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.serve.snapshot import Snapshots
from gsum_resources.engine.garbage import freeze_survivors
from gsum_resources.settings.home import Home
from gsum_resources.store.input_key import InputKey
from gsum_resources.store.lazy import Kept
from gsum_resources.store.partition import Partition, Provenance, version_of
from tests.serve.states import BUCKETS, CORPUS, N_PASSAGES, workspace_of, written

pytestmark = pytest.mark.slow

_STATE = re.compile(r"state(\d{4})")


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    return workspace_of(Home(tmp_path, str(tmp_path / "warehouse")))


def write(workspace: Workspace, state: int) -> None:
    list(written(workspace.store, state))


def answer(snapshots: Snapshots) -> Answer:
    return ask(snapshots.workspace([CORPUS], "bm25"), CORPUS, "Which boat is in a bucket?", "bm25")


def state_of(found: Answer) -> int:
    """The one state that an answer, its passages and its sources are from."""
    texts = [found.text, *(row["text"] for row in found.passages)]
    texts += [f"{row['node_id']}" for row in found.passages]
    texts += [f"{s.title} {s.text} {s.node_id}" for s in found.sources]
    states = {number for text in texts for number in _STATE.findall(text)}
    assert len(states) == 1, states
    assert len(found.passages) == len(BUCKETS) * N_PASSAGES or found.passages
    return int(states.pop())


def test_a_state_is_replaced_when_all_tables_are(workspace: Workspace) -> None:
    write(workspace, 1)
    snapshots = Snapshots(workspace)
    assert state_of(answer(snapshots)) == 1
    *steps, last = [
        (name, snapshots.refresh(CORPUS), state_of(answer(snapshots)))
        for name in written(workspace.store, 2)
    ]
    assert {state for _, _, state in steps} == {1}
    assert all("retrieval" in found.unsettled for _, found, _ in steps)
    assert last[2] == 2
    assert not last[1].unsettled


def test_what_no_method_reads_may_be_older(workspace: Workspace) -> None:
    """A graph of `jerr-search` that was left by an earlier version does not hold up `jerr`."""
    write(workspace, 1)
    store, chunks = workspace.store, TABLES["chunks"]
    footer = store.provenance(chunks, Partition(CORPUS, BUCKETS[0]))
    assert footer is not None
    version = version_of({Partition(CORPUS, BUCKETS[0]): footer.content_hash})
    inputs = {str(InputKey("table", "chunks", CORPUS, BUCKETS[0])): version}
    nodes = TABLES["jerr.nodes"]
    provenance = Provenance("", "1", inputs, asset="jerr/nodes")
    store.write(nodes, Partition(CORPUS), nodes.empty(), provenance)
    write(workspace, 2)
    folder = workspace.home.corpora / CORPUS
    (folder / "boats.txt").write_text("A boat.")
    (folder / "corpus.toml").write_text('methods = ["jerr"]')
    assert "jerr" not in Snapshots(workspace).state(CORPUS).unsettled
    (folder / "corpus.toml").write_text('methods = ["jerr", "jerr-search"]')
    assert "jerr" in Snapshots(workspace).state(CORPUS).unsettled


def test_a_question_keeps_the_state_with_which_it_began(workspace: Workspace) -> None:
    write(workspace, 1)
    snapshots = Snapshots(workspace)
    begun = snapshots.workspace([CORPUS], "bm25")
    write(workspace, 2)
    snapshots.refresh(CORPUS)
    assert state_of(ask(begun, CORPUS, "Which boat?", "bm25")) == 1
    assert state_of(answer(snapshots)) == 2
    for name in ("documents", "chunks"):  # also when its files are removed
        for partition in workspace.store.partitions(TABLES[name], CORPUS):
            workspace.store.delete(TABLES[name], partition)
    assert state_of(ask(begun, CORPUS, "Which boat?", "bm25")) == 1


def test_a_state_that_was_replaced_is_freed(workspace: Workspace) -> None:
    write(workspace, 1)
    snapshots = Snapshots(workspace)
    first = weakref.ref(snapshots.workspace([CORPUS], "bm25"))
    assert state_of(answer(snapshots)) == 1
    gc.callbacks.append(freeze_survivors)
    try:
        gc.collect()
        write(workspace, 2)
        assert state_of(answer(snapshots)) == 1
        snapshots.refresh(CORPUS)
        assert state_of(answer(snapshots)) == 2
        gc.collect()
        assert first() is None
    finally:
        gc.callbacks.remove(freeze_survivors)
        gc.unfreeze()


def test_unchanged_files_are_not_read_again(workspace: Workspace) -> None:
    write(workspace, 1)
    snapshots = Snapshots(workspace)
    first = snapshots.state(CORPUS)
    assert snapshots.refresh(CORPUS) is first
    write(workspace, 1)  # other files of equal content
    second = snapshots.refresh(CORPUS)
    assert second is not first
    assert state_of(answer(snapshots)) == 1
    workspaces = [state.workspaces["retrieval"] for state in (first, second)]
    # decoded once, since the versions are equal
    rows = [w.rows("documents", CORPUS).get() for w in workspaces]
    assert rows[0] is rows[1]


def test_settings_are_those_of_the_state(workspace: Workspace) -> None:
    write(workspace, 1)
    snapshots = Snapshots(workspace)
    first = snapshots.workspace([CORPUS])
    file = workspace.home.corpora / CORPUS / "corpus.toml"
    file.write_text("[retrieval]\nk = 2\n")
    assert len(answer(snapshots).passages) > 2
    snapshots.refresh(CORPUS)
    assert len(answer(snapshots).passages) == 2
    assert first.section(CORPUS, "retrieval")["k"] != 2


def test_readers_see_one_state_while_it_is_replaced(workspace: Workspace) -> None:
    write(workspace, 0)
    snapshots = Snapshots(workspace)
    done, seen = threading.Event(), set[int]()

    def read() -> int:
        last = n_answers = 0
        while not done.is_set():
            state = state_of(answer(snapshots))
            assert state >= last  # never older again
            last, n_answers = state, n_answers + 1
            seen.add(state)
        return n_answers

    with ThreadPoolExecutor(3) as pool:
        readers = [pool.submit(read) for _ in range(3)]
        try:
            for state in range(1, 31):
                for _ in written(workspace.store, state):
                    snapshots.refresh(CORPUS)
                assert state_of(answer(snapshots)) == state
        finally:
            done.set()
        assert all(reader.result() for reader in readers)
    assert len(seen) > 3


def test_the_thread_finds_what_is_written(workspace: Workspace) -> None:
    write(workspace, 1)
    snapshots = Snapshots(workspace)
    snapshots.start(0.01)
    try:
        assert state_of(answer(snapshots)) == 1
        write(workspace, 2)
        while state_of(answer(snapshots)) == 1:
            pass
    finally:
        snapshots.stop()


def test_two_versions_of_a_value_are_kept() -> None:
    kept, made = Kept(), []

    def make(version: int) -> int:
        return kept.get("name", version, lambda: made.append(version) or version)

    assert [make(v) for v in (1, 2, 1, 2, 3, 2, 3)] == [1, 2, 1, 2, 3, 2, 3]
    assert made == [1, 2, 3]
    assert make(1) == 1
    assert made == [1, 2, 3, 1]


def test_a_value_is_made_once_for_all_threads() -> None:
    kept, made, barrier = Kept(), [], threading.Barrier(8)

    def get() -> object:
        barrier.wait()
        return kept.get("name", 1, lambda: made.append(1) or object())

    with ThreadPoolExecutor(8) as pool:
        values = [future.result() for future in [pool.submit(get) for _ in range(8)]]
    assert len(made) == 1
    assert len(set(map(id, values))) == 1
