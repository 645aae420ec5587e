"""Changes to a corpus's `corpus.toml` that keep its comments and its order."""

from collections.abc import Sequence
from pathlib import Path

from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE, load_settings
from gsum_resources.settings.paths import replace_content


def write_k(folder: Path, ks: Sequence[int]) -> str:
    """Set `k` in the table `[retrieval]`: a number, or the list of values of a curve.

    Returns
    -------
    The line written to the file.

    Raises
    ------
    CorpusError
        If the file is invalid; then nothing is written.
    """
    import tomlkit

    load_settings(folder)
    file = folder / SETTINGS_FILE
    document = tomlkit.parse(file.read_bytes().decode("utf-8-sig") if file.is_file() else "")
    value = ks[0] if len(ks) == 1 else list(ks)
    document.setdefault("retrieval", tomlkit.table())["k"] = value
    replace_content(file, tomlkit.dumps(document).encode())
    return f"[retrieval] k = {value}"
