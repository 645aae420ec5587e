"""Finds the folder of a corpus by name; a name that has none is an error that says what to do."""

from pathlib import Path
from shlex import quote

from gsum_assets.corpus.settings import CorpusError, corpus_name_problem
from gsum_resources.suggest import did_you_mean

_N_SHOWN = 8


def corpora_in(root: Path) -> list[str]:
    """Return the names of the corpora under a folder, those of hidden folders left out."""
    folders = root.iterdir() if root.is_dir() else ()
    return sorted(
        folder.name for folder in folders if folder.is_dir() and folder.name[0] not in ".~"
    )


def find_corpus(root: Path, corpus: str) -> Path:
    """Return the folder of a corpus.

    Parameters
    ----------
    root : the folder of all corpora.

    Raises
    ------
    CorpusError
        If the name cannot be one, or there is no such folder.
    """
    problem = corpus_name_problem(corpus)
    if problem is None and (root / corpus).is_dir():
        return root / corpus
    known = corpora_in(root)
    # of another place: what people have before they know of corpora
    if corpus and Path(corpus).is_dir():
        raise CorpusError(_about_a_folder(root, Path(corpus)))
    if problem:
        raise CorpusError(f"corpus '{corpus}': {problem}")
    if not known:
        raise CorpusError(f"corpus '{corpus}' does not exist; {no_corpus(root)}")
    raise CorpusError(f"corpus '{corpus}' does not exist in {root}{did_you_mean(corpus, known)}")


def name_a_corpus(root: Path) -> str:
    """Return what to say to one who named no corpus: which there are."""
    known = corpora_in(root)
    shown = ", ".join(known[:_N_SHOWN]) + (
        f" … ({len(known)} in all)" if len(known) > _N_SHOWN else ""
    )
    return f"name a CORPUS to run; there are: {shown}" if known else no_corpus(root)


def no_corpus(root: Path) -> str:
    """Return how to make a first corpus."""
    return (
        f"there is no corpus in {root} yet: put a folder with documents there, or make a folder "
        "a corpus where it is by `gsum init FOLDER`"
    )


def _about_a_folder(root: Path, folder: Path) -> str:
    if folder.resolve().parent == root.resolve():
        return f"'{folder}' is the folder of a corpus; name the corpus: '{folder.resolve().name}'"
    command = f"gsum init {quote(str(folder))}"
    return f"'{folder}' is a folder and not the name of a corpus; run `{command}` first"
