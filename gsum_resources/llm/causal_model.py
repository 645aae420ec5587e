"""`CausalModel`: a causal language model that talks: a conversation in, its next turn out."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gsum_resources.embedding.processor import physical_cores, torch_threads
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.protocols import Request

if TYPE_CHECKING:
    import torch

_JSON_TOKENS = 1024  # for names, quotes and brackets, beside the words of a structured reply

Message = dict[str, str]  # role and content


class PromptError(ValueError):
    """A prompt that the model cannot be given."""


@dataclass(frozen=True)
class Generated:
    """A turn of the model; `truncated` where it reached its length before its end."""

    text: str
    tokens_in: int
    tokens_out: int
    truncated: bool


class CausalModel:
    """A causal language model that takes turns.

    Parameters
    ----------
    weights : loaded at once.
    """

    def __init__(self, weights: CausalWeights) -> None:
        self._device = weights.device
        self._tokenizer: Any = weights.tokenizer
        self._model: Any = weights.network
        self._context = weights.context  # of prompt and reply together, tokens
        self._greedy()

    def _greedy(self) -> None:
        """Take from the model's own way to generate what is decided here."""
        own = self._model.generation_config
        own.do_sample, own.num_beams, own.max_length = False, 1, None
        own.temperature = own.top_p = own.top_k = None
        ends = own.eos_token_id if own.eos_token_id is not None else self._tokenizer.eos_token_id
        self._ends: list[int] = ends if isinstance(ends, list) else [] if ends is None else [ends]
        own.eos_token_id = self._ends or None
        own.pad_token_id = self._ends[0] if self._ends else 0  # of no effect on a single prompt

    @cached_property
    def _special(self) -> list[str]:
        known = self._tokenizer.added_tokens_decoder.values()
        return [token.content for token in known if token.special and len(token.content) > 1]

    def generate(self, messages: Sequence[Message], request: Request) -> Generated:
        """The model's next turn.

        Raises
        ------
        PromptError
            If prompt and reply do not fit into the context or the memory.
        """
        import torch

        prompt = self._token_ids([message(m["role"], self._plain(m["content"])) for m in messages])
        wanted = 64 + 3 * request.max_words
        if len(prompt) + wanted > self._context:
            raise PromptError(
                f"{len(prompt):,} tokens of prompt and {wanted:,} of reply exceed the model's "
                f"context of {self._context:,}; give fewer or shorter passages, or take a model "
                "with a longer context"
            )
        if request.schema:
            wanted = min(wanted + _JSON_TOKENS, self._context - len(prompt))
        noise = [_GumbelNoise(request.temperature, request.seed)] if request.temperature else None
        ids = torch.tensor([prompt], device=self._device)  # (1, tokens)
        try:
            with torch_threads(physical_cores()), torch.inference_mode():
                whole = self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=wanted,
                    logits_processor=noise,
                )
        except torch.OutOfMemoryError:
            raise PromptError(
                f"{len(prompt):,} tokens of prompt do not fit into the memory of the "
                f"{self._device} beside the model; give fewer or shorter passages"
            ) from None
        reply = whole[0, len(prompt) :].tolist()
        truncated = not reply or reply[-1] not in self._ends
        text = self._tokenizer.decode(reply, skip_special_tokens=True)
        return Generated(text, len(prompt), len(reply), truncated)

    def _token_ids(self, messages: Sequence[Message]) -> list[int]:
        """The prompt, by the model's chat template where it has one."""
        from jinja2 import TemplateError

        if not self._tokenizer.chat_template:
            text = "".join(f"{m['content']}\n\n" for m in messages)
            return self._tokenizer(text)["input_ids"]
        how = {"add_generation_prompt": True, "return_dict": True, "enable_thinking": False}
        try:
            return self._tokenizer.apply_chat_template(messages, **how)["input_ids"]
        except TemplateError:  # some know no system role
            system, user, *rest = messages
            first = message("user", f"{system['content']}\n\n{user['content']}")
            return self._tokenizer.apply_chat_template([first, *rest], **how)["input_ids"]

    def _plain(self, text: str) -> str:
        """`text` in which no document can end its turn: special tokens are broken up."""
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


class _GumbelNoise:
    """Turns greedy choice into sampling: the largest of logits plus noise is a sample (Gumbel).

    The noise is drawn on the processor, so that a seed means the same on every device.
    """

    def __init__(self, temperature: float, seed: int) -> None:
        import torch

        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(seed & (2**63 - 1))

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Logits `(1, vocabulary)` to noisy ones of the same shape."""
        import torch

        noise = torch.empty(scores.shape).exponential_(generator=self._generator).log()
        return scores.float() / self._temperature - noise.to(scores.device)


def message(role: str, content: str) -> Message:
    """A turn of the conversation, by "system", "user" or "assistant"."""
    return {"role": role, "content": content}
