"""Look-up of a corpus folder by name, with an error that states the remedy."""

from pathlib import Path
from shlex import quote

from gsum_assets.pipeline.corpus_settings import CorpusError, corpus_name_problem
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.paths import folders_in

_N_SHOWN = 8


def corpora_in(root: Path) -> list[str]:
    """Return the names of the corpora in a folder, without hidden folders."""
    return folders_in(root)


def find_corpus(root: Path, corpus: str) -> Path:
    """Return the folder of a corpus.

    Raises
    ------
    CorpusError
        If the name is invalid, there is no such folder, or it is a link to none.
    """
    problem = corpus_name_problem(corpus)
    if problem is None and (root / corpus).is_dir():
        return root / corpus
    if problem is None and (root / corpus).is_symlink():
        raise CorpusError(about_broken_link(root / corpus))
    known = corpora_in(root)
    # a folder elsewhere was passed instead of a corpus name
    if corpus and Path(corpus).is_dir():
        folder = Path(corpus)
        if folder.resolve().parent == root.resolve():
            name = folder.resolve().name
            raise CorpusError(f"'{folder}' is the folder of a corpus; name the corpus: '{name}'")
        command = f"gsum init {quote(str(folder))}"
        raise CorpusError(
            f"'{folder}' is a folder and not the name of a corpus; run `{command}` first"
        )
    if problem:
        raise CorpusError(f"corpus '{corpus}': {problem}")
    if not known:
        raise CorpusError(f"corpus '{corpus}' does not exist; {no_corpus(root)}")
    raise CorpusError(f"corpus '{corpus}' does not exist in {root}{did_you_mean(corpus, known)}")


def about_broken_link(folder: Path) -> str:
    """Return a message on a corpus folder that is a link to a folder that does not exist."""
    return (
        f"corpus folder {folder} is a link to {folder.readlink()}, which does not exist; mount or "
        f"restore it, or if it was moved let the link name its new path (`ln -sfn NEW_PATH "
        f"{quote(str(folder))}`), or remove the link to forget the corpus"
    )


def name_a_corpus(root: Path, purpose: str = "run") -> str:
    """Return a message that lists the corpora, for a command without a corpus."""
    known = corpora_in(root)
    shown = ", ".join(known[:_N_SHOWN]) + (
        f" … ({len(known)} in all)" if len(known) > _N_SHOWN else ""
    )
    return f"name a CORPUS to {purpose}; available: {shown}" if known else no_corpus(root)


def no_corpus(root: Path) -> str:
    """Return a message on how to create a first corpus."""
    return (
        f"there is no corpus in {root} yet: put a folder with documents there, or turn a folder "
        "elsewhere into a corpus with `gsum init FOLDER`"
    )
