"""The file `corpus.toml`: one for a new corpus, and changes that keep comments and order."""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

from gsum_assets.pipeline.corpus_settings import (
    SETTINGS_FILE,
    CorpusError,
    CorpusSettings,
    load_settings,
)
from gsum_resources.settings.paths import read_if_exists, replace_content, unreadable

_WIDTH = 100
_HEADER = """\
# Settings of this corpus, all optional: a key that is not set has the default shown here.
# To set a key, remove the "# " before it and before its [table].
"""


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


def write_k(folder: Path, ks: Sequence[int]) -> str:
    """Set `k` in the table `[retrieval]`: a number, or the list of values of a curve.

    Returns
    -------
    The line written to the file.

    Raises
    ------
    CorpusError
        If the file is invalid or cannot be written; then nothing is written.
    """
    value = ks[0] if len(ks) == 1 else list(ks)

    def change(document: Any) -> None:
        import tomlkit

        document.setdefault("retrieval", tomlkit.table())["k"] = value

    _change(folder, change)
    return f"[retrieval] k = {value}"


def keep_methods(folder: Path, methods: Sequence[str]) -> str:
    """Set `methods`: those that every run keeps up to date from now on.

    Returns
    -------
    The line written to the file.

    Raises
    ------
    CorpusError
        If the file is invalid or cannot be written; then nothing is written.
    """
    names = list(dict.fromkeys(methods))

    def change(document: Any) -> None:
        document["methods"] = names

    _change(folder, change)
    return f"methods = {json.dumps(names)} in {folder / SETTINGS_FILE}"


def _change(folder: Path, change: Callable[[Any], None]) -> None:
    import tomlkit

    load_settings(folder)
    file = folder / SETTINGS_FILE
    document = tomlkit.parse((read_if_exists(file) or b"").decode("utf-8-sig"))
    change(document)
    try:
        replace_content(file, tomlkit.dumps(document).encode())
    except OSError as error:
        raise CorpusError(
            f"{file} cannot be written: {unreadable(error)}; write into it: "
            f"{tomlkit.dumps(document).strip().splitlines()[0]}"
        ) from error
