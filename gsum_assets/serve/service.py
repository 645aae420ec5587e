"""What all requests share: the home, its corpora, and who may ask which."""

from collections.abc import Iterator
from contextlib import contextmanager

from starlette.requests import Request

from gsum_assets.answering.workspace import Workspace
from gsum_assets.corpus.find import corpora_in, find_corpus
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.serve.errors import RequestError


class Service:
    """The state of the application, `request.app.state.service`.

    Parameters
    ----------
    workspace : the opened home.
    """

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    @contextmanager
    def snapshot(self, corpus: str, method: str = "") -> Iterator[Workspace]:
        """Yield a workspace whose tables of a corpus are of one state while it is used.

        Parameters
        ----------
        method : the method that is asked; "": tables of the corpus alone are read.
        """
        yield self.workspace

    def corpora(self, request: Request) -> list[str]:
        """Return the names of the corpora that a request may ask, in order."""
        return corpora_in(self.workspace.home.corpora)

    def require(self, request: Request, corpus: str) -> None:
        """Raise `RequestError` unless a request may ask a corpus: status 401, 403 or 404."""
        try:
            find_corpus(self.workspace.home.corpora, corpus)
        except CorpusError as error:
            raise RequestError(404, "unknown_corpus", str(error)) from error


def service_of(request: Request) -> Service:
    """Return the service that a request is for."""
    return request.app.state.service
