"""What all requests share: the home, its corpora, and who may ask which."""

import gc
import logging
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

from starlette.requests import Request

from gsum_assets.answering.known_sentences import lend_vectors
from gsum_assets.answering.methods import chosen_method, methods_ready
from gsum_assets.answering.workspace import Workspace, open_workspace
from gsum_assets.corpus.find import find_corpus
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_assets.serve.access import corpora_of
from gsum_assets.serve.http import RequestError, pass_words_on
from gsum_assets.serve.pinned import PinnedWorkspace
from gsum_assets.serve.snapshot import Snapshots
from gsum_resources.engine.garbage import freeze_survivors
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.llm.ledger import export_calls
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import folders_in

_EXPORT_S = 60.0  # between two exports of the calls of language models to `llm_calls`
_PREPARED = ["chunk_id", "document_id", "position", "text"]
_LOG = logging.getLogger(__name__)


class Service:
    """The state of the application, `request.app.state.service`."""

    def __init__(self, workspace: Workspace) -> None:
        self.home, self.store = workspace.home, workspace.store
        self._models = workspace.models
        self.snapshots = Snapshots(workspace)
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    @classmethod
    def over(cls, home: Home, models: Models | None = None) -> "Service":
        """Return the service of a home, with the models of its `gsum.toml` or those given."""
        return cls(open_workspace(home, models, quick=True, on_words=pass_words_on))

    @property
    def waits(self) -> bool:
        """Whether answers are written by a server, for which threads only wait."""
        return self._models.is_served("answers")

    def start(self) -> None:
        """Read the corpora, and look for what runs write, from now on."""
        self._stop.clear()
        gc.callbacks.append(freeze_survivors)
        self.store.writes_behind = ThreadPoolExecutor(1, "writes")
        self.snapshots.start()
        self._thread = threading.Thread(target=self._run, name="service", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """Write what is left to be written."""
        self._stop.set()
        self.snapshots.stop()
        if self._thread:
            self._thread.join()
            self._thread = None
            gc.callbacks.remove(freeze_survivors)
            gc.unfreeze()
        if writing := self.store.writes_behind:
            self.store.writes_behind = None
            writing.shutdown()
        self._export()

    def snapshot(
        self, corpora: str | Sequence[str], method: str = DEFAULT_METHOD
    ) -> PinnedWorkspace:
        """Return a workspace whose tables of some corpora are of one state, for a method."""
        return self.snapshots.workspace([corpora] if isinstance(corpora, str) else corpora, method)

    def method_of(
        self, corpora: Sequence[str], method: str | None, document: str | None = None
    ) -> str:
        """Return the method, or the one that is chosen for a question."""
        in_document = document is not None
        return method or chosen_method(self.snapshots.workspace(corpora), corpora, in_document)

    def corpora(self, request: Request) -> list[str]:
        """Return the names of the corpora that a request may ask, in order."""
        allowed = corpora_of(request)
        return [c for c in folders_in(self.home.corpora) if allowed is None or c in allowed]

    def model_names(self, request: Request) -> list[str]:
        """Return the models of chats that a request may ask: `corpus` and `corpus/method`."""
        names: list[str] = []
        for corpus in self.corpora(request):
            if methods := methods_ready(self.snapshot(corpus), corpus):
                names += [corpus, *(f"{corpus}/{method}" for method in methods)]
        return names

    def require(self, request: Request, corpus: str) -> None:
        """Raise `RequestError` unless a request may ask a corpus: status 403 or 404.

        A token without a corpus does not show whether there is one of that name.
        """
        allowed = corpora_of(request)
        if allowed is not None and corpus not in allowed:
            message = f"this token may not ask corpus '{corpus:.80}'; it may ask: "
            raise RequestError(403, "foreign_corpus", message + (", ".join(sorted(allowed)) or "-"))
        # the message of an unknown corpus says more to a shell than a client may know
        if corpus not in folders_in(self.home.corpora):
            known = ", ".join(self.corpora(request)) or "none"
            raise RequestError(
                404, "unknown_corpus", f"there is no corpus '{corpus:.80}'; there are: {known}"
            )
        find_corpus(self.home.corpora, corpus)  # its name may be unusable

    def _run(self) -> None:
        """Read the model of questions and the corpora, then export calls from time to time."""
        if not self._models.is_served("embedding_model"):
            self._models.embedder.embed_queries(["first"])
        for corpus in folders_in(self.home.corpora):
            if self._stop.is_set():
                return
            try:
                self.snapshots.state(corpus)
                self._prepare(corpus)
            except Exception:
                _LOG.exception("cannot read corpus '%s'", corpus)
        while not self._stop.wait(_EXPORT_S):
            self._export()

    def _prepare(self, corpus: str) -> None:
        """Embed the sentences that answers are chosen from, as long as there is room in memory."""
        model = self._models.bare("answers")
        if not isinstance(model, ExtractiveModel):
            return
        workspace = self.snapshot(corpus)
        for part in workspace.rows("chunks", corpus).parts():
            rows = part.columns(_PREPARED)
            passages: dict[str, dict[str, str]] = {}
            for row in rows.sort_by("position").to_pylist():
                passages.setdefault(row["document_id"], {})[row["chunk_id"]] = row["text"]
            for document in passages.values():
                lend_vectors(workspace, corpus, document)
                if self._stop.is_set() or not model.prepare(list(document.values())):
                    return

    def _export(self) -> None:
        try:
            export_calls(self.store, TABLES["llm_calls"])
        except Exception:
            _LOG.exception("calls of language models are not exported")


def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    return request.app.state.service
