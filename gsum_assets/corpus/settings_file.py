"""The file `corpus.toml`: one for a new corpus, and changes that keep comments and order."""

import json
import textwrap
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from gsum_assets.pipeline.corpus_settings import (
    CorpusError,
    CorpusSettings,
    load_settings,
    settings_file,
)
from gsum_resources.settings.paths import read_if_exists, replace_content, unreadable

_WIDTH = 100
_HEADER = """\
# Settings of this corpus, all optional: a key that is not set has the default shown here.
# To set a key, remove the "# " before it and before its [table].
"""


def commented_toml(tables: Mapping[str, type[BaseModel]]) -> str:
    """Return a `corpus.toml` with every key, its default and its meaning, commented out.

    `tables` are the settings of the tables that `CorpusSettings` does not validate, by name.
    """
    return _HEADER + "\n".join(_table("", CorpusSettings, tables)) + "\n"


def _table(
    path: str, model: type[BaseModel], tables: Mapping[str, type[BaseModel]]
) -> Iterator[str]:
    """Yield the lines of a table: its keys first, then its subtables."""
    inner = {}
    for name, field in model.model_fields.items():
        kinds = (field.annotation, *get_args(field.annotation))
        models = (k for k in kinds if isinstance(k, type) and issubclass(k, BaseModel))
        nested = tables.get(name) or next(models, None)
        if nested is not None:
            inner[name] = nested
        elif field.default_factory is not dict:
            default = field.get_default(call_default_factory=True)
            if isinstance(default, tuple | set | frozenset):
                default = list(default)
            is_unset = default is None or default is PydanticUndefined
            # the syntax of JSON is that of TOML for these types
            value = "…  (unset)" if is_unset else json.dumps(default, ensure_ascii=False)
            yield from _comment(field.description or "")
            yield f"# {name} = {value}"
    for name, nested in inner.items():
        inside = f"{path}.{name}".lstrip(".")
        yield ""
        yield from _comment(" ".join((nested.__doc__ or "").split()).partition(": ")[2])
        yield f"# [{inside}]"
        yield from _table(inside, nested, {})


def _comment(text: str) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent="## ", subsequent_indent="## ")


def write_k(folder: Path, k: int) -> str:
    """Set `k` in `[retrieval]`; return the line written.

    Raises `CorpusError`, and writes nothing, if the file is invalid or cannot be written.
    """
    _change(folder, lambda document: document.setdefault("retrieval", {}).update(k=k))
    return f"[retrieval] k = {k}"


def keep_methods(folder: Path, methods: Sequence[str]) -> str:
    """Set `methods`: those that every run keeps up to date from now on; return the line written.

    Raises `CorpusError`, and writes nothing, if the file is invalid or cannot be written.
    """
    names = list(dict.fromkeys(methods))
    _change(folder, lambda document: document.update(methods=names))
    return f"methods = {json.dumps(names)} in {settings_file(folder)}"


def _change(folder: Path, change: Callable[[Any], None]) -> None:
    import tomlkit

    load_settings(folder)
    file = settings_file(folder)
    document = tomlkit.parse((read_if_exists(file) or b"").decode("utf-8-sig"))
    change(document)
    try:
        replace_content(file, tomlkit.dumps(document).encode())
    except OSError as error:
        raise CorpusError(
            f"{file} cannot be written: {unreadable(error)}; write into it: "
            f"{tomlkit.dumps(document).strip().splitlines()[0]}"
        ) from error
