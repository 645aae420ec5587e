"""What all requests share: the home, its corpora, and who may ask which."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from starlette.requests import Request

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.find import corpora_in, find_corpus
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.retrieval.methods import DEFAULT_METHOD
from gsum_assets.serve.errors import RequestError
from gsum_assets.serve.snapshot import Snapshots


class Service:
    """The state of the application, `request.app.state.service`.

    Parameters
    ----------
    workspace : the opened home.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.home = workspace.home
        self.snapshots = Snapshots(workspace)

    @contextmanager
    def snapshot(
        self, corpora: str | Sequence[str], method: str = DEFAULT_METHOD
    ) -> Iterator[Workspace]:
        """Yield a workspace whose tables of some corpora are of one state.

        Parameters
        ----------
        method : the method that is asked.
        """
        named = [corpora] if isinstance(corpora, str) else corpora
        yield self.snapshots.workspace(named, method)

    def corpora(self, request: Request) -> list[str]:
        """Return the names of the corpora that a request may ask, in order."""
        return corpora_in(self.home.corpora)

    def require(self, request: Request, corpus: str) -> None:
        """Raise `RequestError` unless a request may ask a corpus: status 401, 403 or 404."""
        try:
            find_corpus(self.home.corpora, corpus)
        except CorpusError as error:
            raise RequestError(404, "unknown_corpus", str(error)) from error


def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    return request.app.state.service
