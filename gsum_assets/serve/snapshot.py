"""The state from which each question is answered, replaced in one step when a run has ended.

A run replaces the tables of a corpus one after the other. A thread looks for new files, pins them
(`pinned.py`), and publishes them for each family of methods whose tables were all written from the
same ones. Until then questions are answered from the state before, and a question keeps the state
with which it began.
"""

import gc
import logging
import threading
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType

from gsum_assets.answering.workspace import Workspace
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.families import FAMILIES, METHODS
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_assets.serve.pinned import (
    Files,
    PinnedStore,
    PinnedWorkspace,
    is_settled,
    pinned_files,
    stamps_of,
)
from gsum_resources.store.appended import APPENDED
from gsum_resources.store.input_key import section_version
from gsum_resources.store.table import Table

INTERVAL_S = 1.0
"""Between two looks at the files of the corpora that were asked."""

_RESULTS = "method"  # the dimension of tables about methods, of which questions read some
_LOG = logging.getLogger(__name__)


def _read_tables() -> Sequence[Table]:
    """Return the tables that questions, documents and graphs are answered from."""
    by_questions = {f.table(name).name for f in FAMILIES for name in f.read_by_questions}
    return [
        table
        for table in TABLES.values()
        if table.name not in APPENDED
        and (_RESULTS not in table.dimensions or table.name in by_questions)
    ]


@dataclass(frozen=True)
class CorpusState:
    """What a corpus is answered from at one moment.

    Attributes
    ----------
    workspaces : by family, the newest tables that were all written from the same ones.
    unsettled : families whose tables on disk are from different states.
    """

    workspaces: Mapping[str, PinnedWorkspace]
    unsettled: Collection[str]
    files: Files
    version: object


@dataclass
class _Watched:
    lock: threading.Lock = field(default_factory=threading.Lock)
    state: CorpusState | None = None


class Snapshots:
    """The present state of each corpus that was asked.

    Parameters
    ----------
    workspace : the opened home.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._home = workspace
        self._tables = _read_tables()
        self._corpora: dict[str, _Watched] = {}
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

        Raises
        ------
        CorpusError
            If there is no such method, or the settings of a corpus are wrong.
        """
        family = METHODS.family_of(method).name
        each = [self.state(corpus).workspaces[family] for corpus in dict.fromkeys(corpora)]
        if len(each) == 1:
            return each[0]
        files = {corpus: of for one in each for corpus, of in one.store.files.items()}
        return self._pinned(files)

    def state(self, corpus: str) -> CorpusState:
        """Return the state of a corpus, which is read if it was never asked."""
        watched = self._corpora.setdefault(corpus, _Watched())
        return watched.state or self.refresh(corpus)

    def refresh(self, corpus: str) -> CorpusState:
        """Look at the files of a corpus, and return the state from which it is answered now."""
        watched = self._corpora.setdefault(corpus, _Watched())
        with watched.lock:
            watched.state = self._next(corpus, watched.state)
            return watched.state

    def _next(self, corpus: str, before: CorpusState | None) -> CorpusState:
        store = self._home.store
        settings = section_version(self._home.section(corpus, ""))
        version = settings, stamps_of(store, self._tables, corpus)
        if before and before.version == version:
            return before
        files = pinned_files(store, self._tables, corpus, before.files if before else {})
        new = self._pinned({corpus: files})
        workspaces = dict(before.workspaces) if before else {}
        kept = self._methods(corpus)
        unsettled = [f.name for f in FAMILIES if not is_settled(new.store, f, corpus, kept)]
        for family in FAMILIES:
            if family.name not in unsettled or family.name not in workspaces:
                workspaces[family.name] = new
        if before:
            gc.unfreeze()  # it is part of cycles, see `freeze_survivors`
        return CorpusState(MappingProxyType(workspaces), unsettled, files, version)

    def _methods(self, corpus: str) -> Sequence[str]:
        """Return the methods that are kept up to date; none if the corpus has no documents now."""
        try:
            return METHODS.wanted(self._home.home.corpora, corpus)
        except CorpusError:
            return ()

    def _pinned(self, files: Mapping[str, Files]) -> PinnedWorkspace:
        home = self._home
        store = PinnedStore(home.store, files)
        pinned = PinnedWorkspace(home.home, store, home.models, kept=home.kept)
        for corpus in files:
            pinned.sections(corpus)  # read now
        return pinned

    def _watch(self, interval_s: float) -> None:
        while not self._stop.wait(interval_s):
            for corpus in list(self._corpora):
                try:
                    self.refresh(corpus)
                except CorpusError as error:  # its settings are being edited
                    _LOG.warning("%s", error)
                except Exception:
                    _LOG.exception("cannot read the tables of corpus '%s'", corpus)
