"""Pooling, prefixes and maximum input of a model, read from its folder."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

from gsum_resources.embedding.model_files import read_json, transformer_folder

Pooling = Literal["mean", "cls", "max", "last"]

_POOLING_NAMES: dict[str, Pooling] = {
    "mean": "mean",
    "mean_tokens": "mean",
    # Differs from the mean by a factor, which normalization removes.
    "mean_sqrt_len_tokens": "mean",
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
    """Settings of an embedding model.

    Attributes
    ----------
    pooling : method that combines token vectors into a text's vector.
    max_tokens : maximum input of the model, special tokens included.
    pad_id : token that pads short windows; masked, so that it changes no vector.
    """

    pooling: Pooling
    query_prefix: str
    passage_prefix: str
    dimension: int
    max_tokens: int
    model_type: str
    pad_id: int


def read_model_settings(folder: Path, name: str, pooling: Pooling | None) -> ModelSettings:
    """Return settings from the model's files, else from `KNOWN_MODELS`, else defaults.

    Parameters
    ----------
    name : name given by the user; its last segment is searched in `KNOWN_MODELS`.

    Raises
    ------
    ValueError
        If the model has a module that is not supported, such as a dense layer.
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
        pooling=pooling or _declared_pooling(folder, name) or known.pooling,
        query_prefix=prompts.get("query") or known.query_prefix,
        passage_prefix=passage_prompt or known.passage_prefix,
        dimension=int(config.get("projection_dim") or config.get("hidden_size") or config["dim"]),
        max_tokens=_longest_input(config, transformer_folder(folder)),
        model_type=str(config.get("model_type", "unknown")),
        pad_id=int(config.get("pad_token_id") or 0),
    )


def query_encoder_name(model: str) -> str:
    """Return the name of the query encoder for a passage encoder, else the name itself.

    Dragon and DPR publish two encoders each. Encoding their queries by the passage encoder would
    give plausible but useless rankings.
    """
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
            f"give pooling, one of {', '.join(get_args(Pooling))}, if one of them suits it"
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
