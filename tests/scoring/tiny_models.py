"""Small random causal models over bytes, whose probabilities differ plainly, and what they say."""

import math
from pathlib import Path
from typing import Any

from tests.servers.transformers_serve import write_causal_lm

CONTEXT = 512
KINDS = ("GPT2", "Llama", "Mistral")
"""Learned positions; rotary ones and shared keys; a window of 24 tokens that slides."""


def write_model(folder: Path, kind: str = "Llama", seed: int = 0) -> Path:
    """A model of two layers and 32 dimensions that begins every text with `<s>`, but GPT-2."""
    import torch
    import transformers
    from tokenizers.processors import TemplateProcessing

    write_causal_lm(folder, CONTEXT)
    namespace: Any = transformers  # its lazy names are unknown to the type checker
    tokenizer = namespace.PreTrainedTokenizerFast.from_pretrained(folder)
    sizes: dict[str, Any] = {"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2}
    sizes |= {"num_attention_heads": 4, "num_key_value_heads": 2}
    sizes |= {"max_position_embeddings": CONTEXT}
    if kind == "GPT2":
        sizes = {"n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": CONTEXT}
    else:
        tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 0)]
        )
        tokenizer.save_pretrained(folder)
    if kind == "Mistral":
        sizes["sliding_window"] = 24
    torch.manual_seed(seed)
    config = getattr(namespace, f"{kind}Config")(
        vocab_size=len(tokenizer), initializer_range=0.5, bos_token_id=0, eos_token_id=1, **sizes
    )
    name = "GPT2LMHeadModel" if kind == "GPT2" else f"{kind}ForCausalLM"
    getattr(namespace, name)(config).save_pretrained(folder)
    return folder


class Oracle:
    """One forward pass over a whole text, by itself."""

    def __init__(self, folder: Path) -> None:
        import transformers

        namespace: Any = transformers
        self.tokenizer = namespace.AutoTokenizer.from_pretrained(folder)
        self._model = namespace.AutoModelForCausalLM.from_pretrained(folder).eval()

    def log_probabilities(self, ids: list[int]) -> list[float]:
        """Of each token but the first, given those before it, nats."""
        import torch

        with torch.inference_mode():
            logits = self._model(input_ids=torch.tensor([ids])).logits[0, :-1]
        values = logits.log_softmax(1)[range(len(ids) - 1), ids[1:]]
        return values.tolist()

    def score(self, context: str, candidate: str) -> float:
        """Nats per token of the candidate; long texts are cut by bytes, which are tokens here."""
        before = self.tokenizer("a")["input_ids"][:-1]
        room = CONTEXT // 2 - len(before) - 2
        prefix = [*before, *self._bytes(context.strip())[-room:], *self._bytes("\n\n")]
        ids = self._bytes(candidate.strip())[: CONTEXT // 2]
        return math.fsum(self.log_probabilities([*prefix, *ids])[len(prefix) - 1 :]) / len(ids)

    def read(self, prompt: str) -> tuple[list[str], list[float | None]]:
        """A prompt's tokens as vLLM returns them: `<s>` among them, parts of letters as `�`."""
        ids = self.tokenizer(prompt)["input_ids"]
        return [self.tokenizer.decode([i]) for i in ids], [None, *self.log_probabilities(ids)]

    def _bytes(self, text: str) -> list[int]:
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]
