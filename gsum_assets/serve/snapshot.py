"""The state from which each question is answered, replaced in one step when a run has ended.

A run replaces the tables of a corpus one after the other. A thread looks for new files, pins them
(`pinned.py`), and publishes them for each family of methods whose tables were all written from the
same ones. Until then questions are answered from the state before, and a question keeps the state
with which it began.
"""

import gc
import logging
import threading
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from types import MappingProxyType

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_assets.serve.pinned import Files, PinnedStore, PinnedWorkspace, pinned_files, stamps_of
from gsum_resources.store.appended import APPENDED
from gsum_resources.store.input_key import InputKey, section_version
from gsum_resources.store.lineage import Lineage
from gsum_resources.store.parquet_store import ParquetStore

INTERVAL_S = 1.0
"""Between two looks at the files of the corpora that were asked."""

_RESULTS = "method"  # the dimension of tables about methods, of which questions read some
_LOG = logging.getLogger(__name__)


@dataclass(frozen=True)
class CorpusState:
    """What a corpus is answered from at one moment.

    Attributes `workspaces`: by family, the newest tables that were all written from the same ones;
    `unsettled`: families whose tables on disk are from different states.
    """

    workspaces: Mapping[str, PinnedWorkspace]
    unsettled: Collection[str]
    files: Files
    version: object


class Snapshots:
    """The present state of each corpus that was asked, of an opened home."""

    def __init__(self, workspace: Workspace) -> None:
        self._home = workspace
        of_questions = {f.table(name).name for f in FAMILIES for name in f.read_by_questions}
        self._tables = [
            table
            for table in TABLES.values()
            if table.name not in APPENDED
            and (_RESULTS not in table.dimensions or table.name in of_questions)
        ]
        self._states: dict[str, CorpusState] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, interval_s: float = INTERVAL_S) -> None:
        """Look for new files from now on."""
        self._stop.clear()
        self._thread = threading.Thread(
            target=self._watch, args=(interval_s,), name="snapshots", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop looking for new files."""
        self._stop.set()
        if self._thread:
            self._thread.join()

    def workspace(self, corpora: Sequence[str], method: str = DEFAULT_METHOD) -> PinnedWorkspace:
        """Return the present state of corpora for a method, which stays as it is.

        Without such a method, or if the settings of a corpus are wrong, `CorpusError` is raised.
        """
        family = METHODS.family_of(method).name
        each = [self.state(corpus).workspaces[family] for corpus in dict.fromkeys(corpora)]
        if len(each) == 1:
            return each[0]
        files = {corpus: of for one in each for corpus, of in one.store.files.items()}
        return self._pinned(files)

    def state(self, corpus: str) -> CorpusState:
        """Return the state of a corpus, which is read if it was never asked."""
        return self._states.get(corpus) or self.refresh(corpus)

    def refresh(self, corpus: str) -> CorpusState:
        """Look at the files of a corpus, and return the state from which it is answered now."""
        with self._locks[corpus]:
            state = self._states[corpus] = self._next(corpus, self._states.get(corpus))
            return state

    def _next(self, corpus: str, before: CorpusState | None) -> CorpusState:
        store = self._home.store
        settings = section_version(self._home.section(corpus, ""))
        version = settings, stamps_of(store, self._tables, corpus)
        if before and before.version == version:
            return before
        files = pinned_files(store, self._tables, corpus, before.files if before else {})
        new = self._pinned({corpus: files})
        workspaces = dict(before.workspaces) if before else {}
        wanted: Sequence[str] = ()
        with suppress(CorpusError):  # it has no documents now
            wanted = METHODS.wanted(self._home.home.corpora, corpus)
        unsettled = [f.name for f in FAMILIES if not _is_settled(new.store, f, corpus, wanted)]
        for family in FAMILIES:
            if family.name not in unsettled or family.name not in workspaces:
                workspaces[family.name] = new
        if before:
            gc.unfreeze()  # it is part of cycles, see `freeze_survivors`
        return CorpusState(MappingProxyType(workspaces), unsettled, files, version)

    def _pinned(self, files: Mapping[str, Files]) -> PinnedWorkspace:
        home = self._home
        store = PinnedStore(home.store, files)
        pinned = PinnedWorkspace(home.home, store, home.models, kept=home.kept)
        for corpus in files:
            pinned.sections(corpus)  # read now
        return pinned

    def _watch(self, interval_s: float) -> None:
        while not self._stop.wait(interval_s):
            for corpus in list(self._states):
                try:
                    self.refresh(corpus)
                except CorpusError as error:  # its settings are being edited
                    _LOG.warning("%s", error)
                except Exception:
                    _LOG.exception("cannot read the tables of corpus '%s'", corpus)


def _is_settled(
    store: ParquetStore, family: Family, corpus: str, wanted: Collection[str] = ()
) -> bool:
    """Return whether all that a family's questions read was written from the same tables.

    The rule is that of staleness, without code, models and settings: the versions of tables that
    are in the footers, also in those of the tables that lie between. What only methods read that
    are not `wanted` may be older; without any of the family, all that it reads counts.
    """
    lineage = Lineage(store, TABLES, lambda _: None, METHODS.families)
    methods = set(family.methods).intersection(wanted) or family.methods
    seen = {family.table(name).name for method in methods for name in family.reads(method)}
    left = list(seen)
    while left:
        name = left.pop()
        if lineage.is_behind(name, corpus):
            return False
        for provenance in lineage.provenances(name, corpus).values():
            for key in map(InputKey.parse, provenance.inputs):
                if key.kind == "table" and key.name not in seen and key.name in TABLES:
                    seen.add(key.name)
                    left.append(key.name)
    return True
