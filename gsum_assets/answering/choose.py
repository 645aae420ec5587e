"""Which method answers where a question names none.

`OF_ONE_DOCUMENT` and `OF_A_CORPUS` are the rule; `docs/asking.md` has the measurements behind it.
"""

from collections.abc import Sequence

from gsum_assets.answering.ask import is_ready, methods_ready
from gsum_assets.answering.workspace import Workspace
from gsum_assets.retrieval.answerability import PACKAGED
from gsum_assets.retrieval.methods import DEFAULT_METHOD

_LEARNT = "evidence"
OF_ONE_DOCUMENT = (_LEARNT, "passage_walk", DEFAULT_METHOD)
OF_A_CORPUS = ("passage_walk", _LEARNT, DEFAULT_METHOD)
"""The first that has its index in all corpora answers. `evidence` was learnt with the packaged
embedder and is skipped with any other."""


def chosen_method(workspace: Workspace, corpora: Sequence[str], in_document: bool = False) -> str:
    """Return the method by which corpora are asked if none is named.

    Without the index of a preferred method it is the first method that all corpora have, and
    without any `DEFAULT_METHOD`, whose error then says what to run.

    Parameters
    ----------
    in_document : whether one document alone is asked.

    Raises
    ------
    CorpusError
        If a corpus cannot be read.
    """
    for name in OF_ONE_DOCUMENT if in_document else OF_A_CORPUS:
        is_apt = name != _LEARNT or PACKAGED in workspace.models.identity("embedding_model")
        if is_apt and all(is_ready(workspace, corpus, name) for corpus in corpora):
            return name
    first, *others = (methods_ready(workspace, corpus) for corpus in corpora)
    return next((name for name in first if all(name in of for of in others)), DEFAULT_METHOD)
