"""Look-up of a corpus folder by name, and setup of a folder as a corpus."""

import errno
import os
import re
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from shlex import quote

from pydantic import BaseModel

from gsum_assets.corpus.folder import READS, about_broken_link, by_type, is_other_type, is_own
from gsum_assets.corpus.listing import list_files
from gsum_assets.corpus.settings_file import commented_toml
from gsum_assets.pipeline.corpus_settings import (
    CorpusError,
    corpus_name_problem,
    settings_file,
)
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import folders_in, is_remote

_N_SHOWN = 8


def find_corpus(root: Path, corpus: str) -> Path:
    """Return the folder of a corpus; raise `CorpusError` if there is none, with the remedy."""
    problem = corpus_name_problem(corpus)
    if problem is None and (root / corpus).is_dir():
        return root / corpus
    if problem is None and (root / corpus).is_symlink():
        raise CorpusError(about_broken_link(root / corpus))
    if corpus and (folder := Path(corpus)).is_dir():  # passed instead of a corpus name
        if folder.resolve().parent == root.resolve():
            name = folder.resolve().name
            raise CorpusError(f"'{folder}' is the folder of a corpus; name the corpus: '{name}'")
        command = f"gsum init {quote(str(folder))}"
        raise CorpusError(
            f"'{folder}' is a folder and not the name of a corpus; run `{command}` first"
        )
    if problem:
        raise CorpusError(f"corpus '{corpus}': {problem}")
    if not (known := folders_in(root)):
        raise CorpusError(f"corpus '{corpus}' does not exist; {no_corpus(root)}")
    raise CorpusError(f"corpus '{corpus}' does not exist in {root}{did_you_mean(corpus, known)}")


def name_a_corpus(root: Path, purpose: str = "run") -> str:
    """Return a message that lists the corpora, for a command without a corpus."""
    if not (known := folders_in(root)):
        return no_corpus(root)
    more = f" … ({len(known)} in all)" if len(known) > _N_SHOWN else ""
    return f"name a CORPUS to {purpose}; available: {', '.join(known[:_N_SHOWN])}{more}"


def no_corpus(root: Path) -> str:
    """Return a message on how to create a first corpus."""
    return (
        f"there is no corpus in {root} yet: put a folder with documents there, or turn a folder "
        "elsewhere into a corpus with `gsum init FOLDER`"
    )


def init_corpus(
    folder: Path, home: Home, name: str | None, tables: Mapping[str, type[BaseModel]]
) -> tuple[str, list[str]]:
    """Make `folder` a corpus of `home`; return its name, and lines that report what was done.

    Existing documents and `corpus.toml` are unchanged. `tables` are the settings that
    `CorpusSettings` does not validate, by name. Raises `CorpusError` if the name is invalid or used
    by another folder, the folder contains the home, or the corpora are in an object store.
    """
    if is_remote(home.corpora):
        raise CorpusError(
            f"the corpora of this home are in {home.corpora}: copy the folder {folder} there with "
            "the object store's own client, such as `aws s3 sync`"
        )
    target = folder.resolve()
    link, is_inside = _linked(target, home, name)
    settings, state = settings_file(link), "already exists, unchanged"
    if not (settings.exists() or settings.is_symlink()):
        state = "written; every key is commented out"
        try:
            settings.write_text(commented_toml(tables), "utf-8")
        except OSError as error:
            if is_inside or error.errno not in (errno.EACCES, errno.EROFS):
                raise
            settings = link.with_name(f"{link.name}.toml")  # the documents' folder is read-only
            settings.write_text(commented_toml(tables), "utf-8")
    lines = [f"{settings}: {state}"]
    if not is_inside:
        lines.append(f"{link}: a link to {target}")
    return link.name, [*lines, found_in(target)]


def _linked(target: Path, home: Home, name: str | None) -> tuple[Path, bool]:
    """Return the path of a corpus in the home, made a link to it unless it is there itself."""
    if not target.is_dir():
        raise CorpusError(f"'{target}' is no folder; name the folder with the documents")
    corpora = home.corpora.resolve()
    if target == corpora or target in corpora.parents:
        raise CorpusError(
            f"folder {target} contains the home {home.root}; choose a folder with documents "
            "only, or move GSUM_HOME out of it"
        )
    is_inside = target.parent == corpora
    if is_inside and name not in (None, target.name):
        raise CorpusError(
            f"folder {target} is already the corpus '{target.name}'; omit --corpus, or rename "
            "the folder"
        )
    corpus = name or (target.name if is_inside else corpus_name(target.name))
    if problem := corpus_name_problem(corpus):
        raise CorpusError(f"corpus '{corpus}': {problem}")
    link = corpora / corpus
    if is_inside:
        return link, True
    link.parent.mkdir(parents=True, exist_ok=True)
    with suppress(FileExistsError):  # linked before, or by another process in this moment
        link.symlink_to(target, target_is_directory=True)
    if not (link.is_dir() and link.samefile(target)):
        raise CorpusError(
            f"corpus '{corpus}' already exists in another folder: {os.path.realpath(link)}; "
            "choose a name with --corpus"
        )
    return link, False


def corpus_name(folder: str) -> str:
    """Return a valid corpus name derived from a folder's name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-._")[:100]
    return name or "corpus"


def found_in(folder: Path) -> str:
    """Return how many files of each type a folder holds, without opening any."""
    files = [file.name for file in list_files(folder) if not is_own(file.name) and not file.problem]
    read = by_type(file for file in files if not is_other_type(file))
    unread = by_type(file for file in files if is_other_type(file))
    clause = f"found {read}" if read else f"found no documents; {READS}"
    return clause + (f"; not read: {unread} ({READS})" if unread and read else "")
