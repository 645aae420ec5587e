"""Setup of a folder as a corpus: a commented `corpus.toml`, and a link in the home."""

import json
import os
import re
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gsum_assets.corpus.folder import READS, is_other_type, is_own
from gsum_assets.corpus.listing import list_files
from gsum_assets.pipeline.corpus_settings import (
    SETTINGS_FILE,
    CorpusError,
    CorpusSettings,
    corpus_name_problem,
)
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import is_remote

_WIDTH = 100
_HEADER = """\
# Settings of this corpus, all optional: a key that is not set has the default shown here.
# To set a key, remove the "# " before it and before its [table].
"""


@dataclass(frozen=True)
class NewCorpus:
    """A folder that is a corpus now; `lines` report what was written and found."""

    corpus: str
    lines: Sequence[str]


def init_corpus(
    folder: Path, home: Home, name: str | None, tables: Mapping[str, type[BaseModel]]
) -> NewCorpus:
    """Make `folder` a corpus of `home`; existing documents and `corpus.toml` are kept.

    Parameters
    ----------
    tables : settings of the tables that `CorpusSettings` does not validate, by name.

    Raises
    ------
    CorpusError
        If the name is invalid or used by another folder, the folder contains the home, or the
        corpora are in an object store, which has no links.
    """
    if is_remote(home.corpora):
        raise CorpusError(
            f"the corpora of this home are in {home.corpora}: copy the folder {folder} there with "
            "the object store's own client, such as `aws s3 sync`"
        )
    if not folder.is_dir():
        raise CorpusError(f"'{folder}' is no folder; name the folder with the documents")
    target = folder.resolve()
    link, is_inside = link_corpus(target, home, name)
    lines = []
    settings = target / SETTINGS_FILE
    if settings.exists() or settings.is_symlink():
        lines.append(f"{settings}: already exists, unchanged")
    else:
        settings.write_text(commented_toml(tables), "utf-8")
        lines.append(f"{settings}: written; every key is commented out")
    if not is_inside:
        lines.append(f"{link}: a link to {target}")
    return NewCorpus(link.name, [*lines, found_in(target)])


def link_corpus(target: Path, home: Home, name: str | None) -> tuple[Path, bool]:
    """Make a folder a corpus of a home by a link, unless it is within the home already.

    Returns
    -------
    The path of the corpus in the home, and whether the folder itself is there.

    Raises
    ------
    CorpusError
        If the folder does not exist, contains the home, or the name is invalid or of another one.
    """
    if not target.is_dir():
        raise CorpusError(f"'{target}' is no folder; name the folder with the documents")
    link, is_inside = _link_path(target, home, name)
    if not is_inside and not link.is_symlink():
        link.parent.mkdir(parents=True, exist_ok=True)
        with suppress(FileExistsError):  # another process has made it in this moment
            link.symlink_to(target, target_is_directory=True)
    return link, is_inside


def _link_path(target: Path, home: Home, name: str | None) -> tuple[Path, bool]:
    """Return the path of a corpus in the home, and whether the folder itself is there."""
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
    is_taken = link.exists() or link.is_symlink()
    if not is_inside and is_taken and not (link.is_dir() and link.samefile(target)):
        raise CorpusError(
            f"corpus '{corpus}' already exists in another folder: {os.path.realpath(link)}; "
            "choose a name with --corpus"
        )
    return link, is_inside


def corpus_name(folder: str) -> str:
    """Return a valid corpus name derived from a folder's name."""
    name = re.sub(r"[^A-Za-z0-9._-]+", "-", folder).strip("-._")[:100]
    return name or "corpus"


def found_in(folder: Path) -> str:
    """Return how many files of each type a folder holds, without opening any."""
    counts: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    for file in list_files(folder):
        if not is_own(file.name) and not file.problem:
            kind = file.path.suffix.lower() or "without extension"
            (unread if is_other_type(file.name) else counts)[kind] += 1
    clause = f"found {_listed(counts)}" if counts else f"found no documents; {READS}"
    return clause + (f"; not read: {_listed(unread)} ({READS})" if unread and counts else "")


def _listed(counts: Counter[str]) -> str:
    ordered = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{n:,} {suffix}" for suffix, n in ordered)


def commented_toml(tables: Mapping[str, type[BaseModel]]) -> str:
    """Return a `corpus.toml` with every key, its default and its meaning, commented out.

    Parameters
    ----------
    tables : settings of the tables that `CorpusSettings` does not validate, by name.
    """
    return _HEADER + "\n".join(_table("", CorpusSettings, tables)) + "\n"


def _table(
    path: str, model: type[BaseModel], tables: Mapping[str, type[BaseModel]]
) -> Iterator[str]:
    """Yield the lines of a table: its keys first, then its subtables."""
    inner = {}
    for name, field in model.model_fields.items():
        nested = tables.get(name) if not path else None
        kinds = (field.annotation, *get_args(field.annotation))
        models = (k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
        nested = nested or next(models, None)
        if nested is not None:
            inner[name] = nested
        elif field.default_factory is not dict:
            yield from _key(name, field)
    for name, nested in inner.items():
        inside = f"{path}.{name}".lstrip(".")
        yield ""
        summary = " ".join((nested.__doc__ or "").split()).partition(": ")[2]
        yield from _comment(summary) if summary else ()
        yield f"# [{inside}]"
        yield from _table(inside, nested, {})


def _key(name: str, field: FieldInfo) -> Iterator[str]:
    default = field.get_default(call_default_factory=True)
    yield from _comment(field.description or "")
    if isinstance(default, tuple | set | frozenset):
        default = list(default)
    unset = default is None or default is PydanticUndefined
    # the syntax of JSON is that of TOML for these types
    value = "…  (unset)" if unset else json.dumps(default, ensure_ascii=False)
    yield f"# {name} = {value}"


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="## ", subsequent_indent="## ")
