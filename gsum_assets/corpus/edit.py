"""Changes to a corpus's `corpus.toml` that keep its comments and its order."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE, CorpusError, load_settings
from gsum_resources.settings.paths import read_if_exists, replace_content, unreadable


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
