"""The state machine: two corpora that change in every way, and after each re-index are compared."""

import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar

import pytest
from hypothesis import note
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule

from gsum_assets.pipeline.tables import TABLES
from gsum_assets.runner.methods import drop_methods
from tests.growing.choices import FAMILIES, MODELS, QUESTIONS, SETTINGS, SMALL, Tables
from tests.growing.folders import IDS, KINDS, Entry, Folder
from tests.growing.home import (
    GIVEN,
    Chosen,
    HomeFolder,
    MisfitError,
    contents,
    due_steps,
    forget,
    rebuild,
    refresh_once,
    refresh_steps,
    tables_that_mention,
)
from tests.growing.killed import killed_at
from tests.invariants import assert_invariants
from tests.pipeline.daemon import Daemon, execute, scheduled
from tests.tales import tale

CORPORA = ("left", "right")
BY_HAND = ("", "by hand", "by hand", "by hand, apart")
WAYS = (*BY_HAND * 3, "gsum run", "daemon")
"""How to re-index after a change: "" leaves that to later, "apart" takes each bucket alone."""

METHODS = tuple(method for methods in FAMILIES.values() for method in methods)
corpora = st.sampled_from(CORPORA)
texts = st.builds(tale, st.integers(0, 7), st.integers(1, 6))
entries = st.builds(Entry, st.sampled_from(KINDS), st.sampled_from(IDS))
indices = st.integers(0, 20)  # the how-manieth document of a folder, around the corner


def change(**drawn: st.SearchStrategy) -> Callable:
    """A rule that changes something, after which the home is re-indexed in one of its ways."""

    def of(method: Callable[..., None]) -> Callable[..., None]:
        @rule(
            then=st.runner().flatmap(lambda machine: st.sampled_from(machine.ways)),
            **drawn,  # type: ignore[arg-type]
        )
        @wraps(method)
        def changed(self: "Growing", then: str, **what: Any) -> None:
            method(self, **what)
            if then and self.changed:
                self._reindex(then)

        return changed

    return of


class Growing(RuleBasedStateMachine):
    """A home, what is done to it, and what it must then hold.

    Attributes
    ----------
    counts : what was done in this process, by kind; shared by all examples.
    ways : how an example may re-index.
    """

    counts: ClassVar[Counter[str]] = Counter()
    ways: tuple[str, ...] = WAYS
    report: Callable[[str], None] = staticmethod(lambda _: None)  # type: ignore[assignment]
    _known: ClassVar[dict[tuple, dict[str, str]]] = {}  # contents of earlier rebuilds
    _root: Path | None = None

    def __init__(self) -> None:
        super().__init__()
        root = self.workplace()
        self.grown, self.rebuilt = _home_folder(root / "grown"), _home_folder(root / "anew")
        self.grown.wipe()
        self.folders = {name: Folder(self.grown.home.corpora / name) for name in CORPORA}
        self.tables: dict[str, Tables] = {}
        self.chosen = Chosen()
        self.deleted: dict[str, set[str]] = {name: set() for name in CORPORA}
        self.daemon = Daemon()
        self.registered: set[str] = set()
        self.changed = 0

    @classmethod
    def workplace(cls) -> Path:
        """A folder for all examples of this process."""
        if Growing._root is None:
            Growing._root = Path(tempfile.mkdtemp(prefix="growing-"))
        return Growing._root

    @classmethod
    def leave(cls) -> None:
        """Remove that folder."""
        if Growing._root is not None:
            shutil.rmtree(Growing._root, ignore_errors=True)
            Growing._root = None
            _PLACES.clear()

    @initialize(
        left=st.sampled_from(METHODS),
        right=st.sampled_from(FAMILIES["retrieval"]),
        questions=st.sampled_from(QUESTIONS),
        borders=st.sampled_from(("content", "length")),
    )
    def begin(self, left: str, right: str, questions: list, borders: str = "content") -> None:
        self._count("begin", left=left, right=right, borders=borders)
        for name, method in zip(CORPORA, (left, right), strict=True):
            self._furnish(name, questions, method)
            if borders != "content":
                self.tables[name]["chunking"]["borders"] = borders
                self.folders[name].settings(self.tables[name])

    @change(name=corpora, entry=entries, text=texts)
    def add(self, name: str, entry: Entry, text: str) -> None:
        self._count("add", corpus=name, entry=entry, text=text)
        if not self.folders[name].texts:
            self._furnish(name, QUESTIONS[0], "bm25")
        self.folders[name].put(entry, text)

    @change(name=corpora, index=indices, text=texts)
    def edit(self, name: str, index: int, text: str) -> None:
        if entry := self._entry(name, index):
            self._count("edit", corpus=name, entry=entry, text=text)
            self.folders[name].put(entry, text)

    @change(name=corpora, index=indices, blanks=st.sampled_from((" ", "\n\n", "\t\n")))
    def put_blanks_at_the_end(self, name: str, index: int, blanks: str) -> None:
        if entry := self._entry(name, index):
            self._count("blanks", corpus=name, entry=entry, blanks=blanks)
            self.folders[name].put(entry, self.folders[name].texts[entry] + blanks)

    @change(name=corpora, index=indices, other=indices)
    def duplicate_document(self, name: str, index: int, other: int) -> None:
        entry, model = self._entry(name, index), self._entry(name, other)
        if entry and model:
            self._count("duplicate", corpus=name, entry=entry, of=model)
            self.folders[name].put(entry, self.folders[name].texts[model])

    @change(name=corpora, index=indices, entry=entries)
    def rename(self, name: str, index: int, entry: Entry) -> None:
        if old := self._entry(name, index):
            self._count("rename", corpus=name, old=old, new=entry)
            self.folders[name].put(entry, self._remove(name, old))

    @change(name=corpora, index=indices)
    def move_to_the_other_corpus(self, name: str, index: int) -> None:
        (other,) = (one for one in CORPORA if one != name)
        entry = self._entry(name, index)
        if entry and len(self.folders[name].texts) > 1 and self.folders[other].texts:
            self._count("move", corpus=name, entry=entry)
            self.folders[other].put(entry, self._remove(name, entry))

    @change(name=corpora, index=indices)
    def delete(self, name: str, index: int) -> None:
        entry = self._entry(name, index)
        if entry and len(self.folders[name].texts) > 1:
            self._count("delete", corpus=name, entry=entry)
            self._remove(name, entry)

    @change(name=corpora, index=indices)
    def delete_a_bucket(self, name: str, index: int) -> None:
        if entry := self._entry(name, index):
            deleted = [e for e in self.folders[name].texts if e.bucket == entry.bucket]
            if len(deleted) < len(self.folders[name].texts):
                self._count("delete bucket", corpus=name, entries=deleted)
                for one in deleted:
                    self._remove(name, one)

    @change(name=corpora, index=indices)
    def delete_all_but_one(self, name: str, index: int) -> None:
        if kept := self._entry(name, index):
            self._count("delete all but one", corpus=name, kept=kept)
            for entry in list(self.folders[name].texts):
                if entry != kept:
                    self._remove(name, entry)

    @change(name=corpora)
    def drop_a_corpus(self, name: str) -> None:
        if all(folder.texts for folder in self.folders.values()):
            self._count("drop", corpus=name)
            self.folders[name].drop()
            self.deleted[name].clear()

    @change(name=corpora, setting=st.sampled_from(SETTINGS))
    def change_a_setting(self, name: str, setting: tuple) -> None:
        table, key, value = setting
        if self.folders[name].texts:
            self._count("setting", corpus=name, setting=setting)
            values = self.tables[name].setdefault(table, {})
            if values.get(key) != value:
                values[key] = value
            elif key in SMALL.get(table, {}):
                values[key] = SMALL[table][key]
            else:
                del values[key]
            self.folders[name].settings(self.tables[name])

    @change(name=corpora, questions=st.sampled_from(QUESTIONS))
    def change_questions(self, name: str, questions: list) -> None:
        if self.folders[name].texts:
            self._count("questions", corpus=name, questions=questions)
            self.folders[name].questions(questions)

    @change(chosen=st.sampled_from(MODELS))
    def change_models(self, chosen: Chosen) -> None:
        self.chosen = Chosen() if chosen == self.chosen else chosen
        self._count("models", chosen=self.chosen)

    @change(name=corpora, family=st.sampled_from(sorted(FAMILIES)), index=indices)
    def keep_one_more(self, name: str, family: str, index: int) -> None:
        if self.folders[name].texts:
            method = FAMILIES[family][index % len(FAMILIES[family])]
            self._count("keep", corpus=name, method=method)
            self._keep(name, method)

    @change(name=corpora, index=indices)
    def drop_a_method(self, name: str, index: int) -> None:
        kept = self._kept(name) if self.folders[name].texts else []
        if len(kept) > 1:
            method = kept[index % len(kept)]
            self._count("drop method", corpus=name, method=method)
            drop_methods(self.grown.pipeline(self.chosen).workspace, name, [method])
            self._set_methods(name, [m for m in kept if m != method])

    @change(
        name=corpora,
        index=indices,
        text=texts,
        number=st.integers(1, 150),
        is_done=st.booleans(),
        way=st.sampled_from(("by hand", "gsum run")),
    )
    def be_killed(
        self, name: str, index: int, text: str, number: int, is_done: bool, way: str
    ) -> None:
        entry = self._entry(name, index)
        if entry and (way == "by hand" or way in self.ways):
            self.folders[name].put(entry, text)
            died = killed_at(number, is_done, lambda: self._bring_up_to_date(name, way))
            outcome = "kill" if died else "kill too late"
            self._count(outcome, corpus=name, entry=entry, text=text, number=number, way=way)

    @change(name=corpora, index=indices, text=texts, word=st.sampled_from(("Tarnholt", "Marit")))
    def use_failing_model(self, name: str, index: int, text: str, word: str) -> None:
        if entry := self._entry(name, index):
            self.folders[name].put(entry, text)
            self._count("falter", corpus=name, entry=entry, text=text, word=word)
            pipeline = self.grown.pipeline(self.chosen)
            model: Any = pipeline.workspace.models.overrides["language_model"]
            model.refuses = word
            try:
                refresh_steps(pipeline, name)
            except Exception as problem:
                note(f"while a model refused {word}: {problem}")
            finally:
                model.refuses = ""

    def teardown(self) -> None:
        if self.changed and sys.exc_info()[0] is None:
            self._reindex("by hand")

    def _reindex(self, way: str) -> None:
        began = time.monotonic()
        self._count(f"re-index {way}")
        for name in CORPORA:
            if not self.folders[name].texts and (way in BY_HAND or name not in self.registered):
                forget(self.grown, self.chosen, name)
        if way not in BY_HAND:  # these forget by themselves what they know of
            self.registered = {name for name in CORPORA if self.folders[name].texts}
        if way == "daemon":
            self._let_daemon_work()
        for name in CORPORA:
            if self.folders[name].texts:
                if way != "daemon":
                    self._bring_up_to_date(name, way)
                self._compare(name)
        for name in CORPORA:
            if not self.folders[name].texts and (left := _filled(self.grown, name)):
                raise MisfitError(f"{name} was dropped, and yet there is {left}")
        self.report(f"re-index {way}: {time.monotonic() - began:.1f} s")
        self.changed = 0

    def _let_daemon_work(self) -> None:
        """Tick, and then do what the schedule does at night: models have changed unseen."""
        pipeline = self.grown.pipeline(self.chosen)
        with self.grown.instance() as instance:
            runs = self.daemon.work(pipeline, instance)
            if any(due_steps(pipeline, n) for n in CORPORA if self.folders[n].texts):
                requests = scheduled(pipeline, instance, "nightly")
                runs += [execute(pipeline, instance, request) for request in requests]
            if failed := [run.run_id for run in runs if not run.success]:
                raise MisfitError(f"runs of the daemon failed: {failed}")
            if again := self.daemon.work(pipeline, instance):
                raise MisfitError(f"{len(again)} runs were requested although nothing has changed")

    def _bring_up_to_date(self, name: str, way: str) -> None:
        if way == "gsum run":
            refresh_once(self.grown, self.chosen, name)
            return
        with pytest.MonkeyPatch.context() as patch:
            if way == "by hand, apart":
                patch.setenv("GSUM_AUTOMATION_BUCKETS_PER_RUN", "1")
            refresh_steps(self.grown.pipeline(self.chosen), name)

    def _compare(self, name: str) -> None:
        if due := due_steps(self.grown.pipeline(self.chosen), name):
            raise MisfitError(f"{name}: something is due after a run: {due}")
        now = contents(self.grown, name)
        given = tuple(now[table] for table in GIVEN)
        state = name, self.chosen, given, self.folders[name].state()
        if state not in self._known:
            rebuild(self.rebuilt, self.grown, self.chosen, name)
            assert_invariants(self.rebuilt.store, [name])
            self._known[state] = contents(self.rebuilt, name)
            self.counts["rebuilds"] += 1
        wrong = [table for table in now if now[table] != self._known[state][table]]
        if wrong:
            raise MisfitError(f"{name}: other than made from nothing: {', '.join(wrong)}")
        self._forgotten(name)

    def _forgotten(self, name: str) -> None:
        """Assert that no table names a deleted document, unless a question does."""
        files = b"".join(content for _, content in self.folders[name].state()).decode()
        present = {entry.document_id for entry in self.folders[name].texts}
        deleted = [one for one in sorted(self.deleted[name] - present) if one not in files]
        if deleted and (where := tables_that_mention(self.grown, name, deleted)):
            raise MisfitError(f"{name}: {deleted} are gone, and yet stand in {where}")
        self.deleted[name].clear()

    def _entry(self, name: str, index: int) -> Entry | None:
        entries = sorted(self.folders[name].texts)
        return entries[index % len(entries)] if entries else None

    def _remove(self, name: str, entry: Entry) -> str:
        self.deleted[name].add(entry.document_id)
        return self.folders[name].remove(entry)

    def _kept(self, name: str) -> list[str]:
        return self.tables[name][""]["methods"]

    def _keep(self, name: str, method: str) -> None:
        self._set_methods(name, sorted({*self._kept(name), method}))

    def _set_methods(self, name: str, methods: list[str]) -> None:
        self.tables[name][""]["methods"] = methods
        self.folders[name].settings(self.tables[name])

    def _furnish(self, name: str, questions: list, method: str) -> None:
        """A new corpus of three documents that keeps one method."""
        own = {table: dict(values) for table, values in SMALL.items()}
        self.tables[name] = {"": {"methods": [method]}, **own}
        self.folders[name].settings(self.tables[name])
        self.folders[name].questions(questions)
        for number, kind in enumerate(KINDS):
            self.folders[name].put(Entry(kind, IDS[number]), tale(number, 4))

    def _count(self, kind: str, **what: object) -> None:
        self.counts[kind] += 1
        self.counts["steps"] += 1
        if not kind.startswith("re-index"):
            self.changed += 1
        self.report(f"{kind} {', '.join(f'{key}={value!r}' for key, value in what.items())}")


_PLACES: dict[Path, HomeFolder] = {}


def _home_folder(root: Path) -> HomeFolder:
    """Shared by all examples: its pipelines are built once."""
    return _PLACES.setdefault(root, HomeFolder(root))


def _filled(index: HomeFolder, name: str) -> list[str]:
    """The tables that hold files of a corpus; requests to models stay on record."""
    return [t.name for t in TABLES.values() if index.store.partitions(t, name)]
