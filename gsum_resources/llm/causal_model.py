"""`CausalModel`: a causal language model for conversations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.llm.grammar import GrammarError, Grammars, Repetition
from gsum_resources.llm.reasoning import delimits_reasoning, opens_reasoning
from gsum_resources.protocols.models import Request

if TYPE_CHECKING:
    import torch

_LONGEST_MARK = 8  # tokens of a mark that opens reasoning

Message = dict[str, str]  # role and content


class PromptError(ValueError):
    """A prompt that the model cannot process."""


@dataclass(frozen=True)
class Generated:
    """A turn of the model; `has_reasoning`: whether reasoning was removed from the text."""

    text: str
    tokens_in: int
    tokens_out: int
    truncated: bool
    has_reasoning: bool = False


class CausalModel:
    """A causal language model that generates the next turn of a conversation.

    Parameters
    ----------
    constrained : whether a grammar restricts the tokens of a structured reply.
    json_tokens : additional tokens of a structured reply, for names, quotes and brackets.
    tokens_per_word : maximum length of a reply, tokens per requested word.
    repetition_penalty : divisor of the logits of tokens that a free text already contains (Keskar
        et al. 2019, 4.1), except those of the prompt; 1 is none.
    """

    def __init__(
        self,
        weights: CausalWeights,
        constrained: bool = True,
        json_tokens: int = 1024,
        tokens_per_word: float = 3,
        repetition_penalty: float = 1.0,
    ) -> None:
        self._device = weights.device
        self._tokenizer: Any = weights.tokenizer
        self._model: Any = weights.network
        self._context = weights.context  # of prompt and reply together, tokens
        self._json_tokens = json_tokens
        self._tokens_per_word = tokens_per_word
        self._repetition_penalty = repetition_penalty
        config = self._model.generation_config  # greedy, whatever the model's own settings are
        config.do_sample, config.num_beams, config.max_length = False, 1, None
        config.temperature = config.top_p = config.top_k = None
        ends = config.eos_token_id
        if ends is None:
            ends = self._tokenizer.eos_token_id
        self._ends: list[int] = ends if isinstance(ends, list) else [] if ends is None else [ends]
        config.eos_token_id = self._ends or None
        config.pad_token_id = self._ends[0] if self._ends else 0  # no effect on a single prompt
        self._constrained = constrained and self._tokenizer.is_fast and bool(self._ends)
        known = self._tokenizer.added_tokens_decoder.values()
        self._special = [t.content for t in known if t.special and len(t.content) > 1]

    def generate(self, messages: Sequence[Message], request: Request) -> Generated:
        """Return the model's next turn.

        Raises
        ------
        PromptError
            If prompt and reply do not fit into the context or the memory, or no grammar can be
            built for the request's schema.
        """
        import torch

        turns = [message(m["role"], self._plain(m["content"])) for m in messages]
        prompt = self._token_ids(turns)
        max_new_tokens = 64 + round(self._tokens_per_word * request.max_words)
        if len(prompt) + max_new_tokens > self._context:
            raise PromptError(
                f"{len(prompt):,} tokens of prompt and {max_new_tokens:,} of reply exceed the "
                f"model's context of {self._context:,}; give fewer or shorter passages, or use a "
                "model with a longer context"
            )
        if request.schema:
            max_new_tokens = min(max_new_tokens + self._json_tokens, self._context - len(prompt))
        processors = self._processors(request, len(prompt), max_new_tokens)
        loop = _Loop(len(prompt))
        ids = torch.tensor([prompt], device=self._device)  # (1, tokens)
        try:
            with torch.inference_mode():
                whole = self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=max_new_tokens,
                    logits_processor=processors,
                    stopping_criteria=None if request.schema and self._constrained else [loop],
                )
        except torch.OutOfMemoryError:
            raise PromptError(
                f"{len(prompt):,} tokens of prompt do not fit into the memory of the "
                f"{self._device} together with the model; give fewer or shorter passages"
            ) from None
        reply = whole[0, len(prompt) :].tolist()
        truncated = not reply or reply[-1] not in self._ends
        unrepeated = reply[: len(reply) - loop.repeated]  # without the repetitions of a loop
        text = self._decoded(unrepeated)
        if not (request.schema and self._constrained):  # a grammar permits no reasoning
            text = opens_reasoning(self._tokenizer.decode(prompt[-_LONGEST_MARK:])) + text
        return Generated(text, len(prompt), len(reply), truncated)

    def _decoded(self, reply: Sequence[int]) -> str:
        """Return the text of a reply, with those special tokens only that delimit reasoning."""
        known = self._tokenizer.added_tokens_decoder
        special = {i: known[i].content for i in set(reply) if i in known and known[i].special}
        if not (marks := delimits_reasoning(special.values())):
            return self._tokenizer.decode(reply, skip_special_tokens=True)
        ids = [i for i in reply if i not in special or special[i] in marks]
        return self._tokenizer.decode(ids, skip_special_tokens=False)

    def _processors(self, request: Request, start: int, room: int) -> list[Callable] | None:
        """Return the logits processors of a reply to a prompt of `start` tokens."""
        processors: list[Callable] = []
        if request.schema and self._constrained:
            try:
                mask = self._grammars.mask(request.schema, request.max_words, start, room)
            except GrammarError as error:
                raise PromptError(str(error)) from error
            processors.append(mask)
        elif self._repetition_penalty != 1:
            from transformers import RepetitionPenaltyLogitsProcessor

            processors.append(RepetitionPenaltyLogitsProcessor(self._repetition_penalty, start))
        if request.temperature:
            processors.append(_GumbelNoise(request.temperature, request.seed))
        return processors or None

    @cached_property
    def _grammars(self) -> Grammars:
        n_logits = self._model.get_output_embeddings().weight.shape[0]
        return Grammars(self._tokenizer, n_logits, self._ends)

    def _token_ids(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of the prompt, by the model's chat template if it has one."""
        from jinja2 import TemplateError

        if not self._tokenizer.chat_template:
            text = "".join(f"{m['content']}\n\n" for m in messages)
            return self._tokenizer(text)["input_ids"]
        how = {"add_generation_prompt": True, "return_dict": True, "enable_thinking": False}
        try:
            return self._tokenizer.apply_chat_template(messages, **how)["input_ids"]
        except TemplateError:  # no system role
            system, user, *following = messages
            first = message("user", f"{system['content']}\n\n{user['content']}")
            return self._tokenizer.apply_chat_template([first, *following], **how)["input_ids"]

    def _plain(self, text: str) -> str:
        """Return `text` with special tokens broken up, so that no document can end its turn."""
        for token in self._special:
            text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


class _Loop(Repetition):
    """Stops a reply to a prompt of `start` tokens that only repeats itself."""

    def __init__(self, start: int) -> None:
        super().__init__()
        self._start = start

    def __call__(
        self, input_ids: "torch.Tensor", scores: "torch.Tensor", **_: Any
    ) -> "torch.Tensor":
        """Return whether to stop, `(1,)`."""
        import torch

        self.read(input_ids[0, self._start + self.length :].tolist())
        return torch.tensor([self.repeated > 0], device=input_ids.device)


class _GumbelNoise:
    """Turns greedy choice into sampling: the maximum of logits plus Gumbel noise is a sample.

    The noise is drawn on the CPU, so that a seed has the same effect on every device.
    """

    def __init__(self, temperature: float, seed: int) -> None:
        import torch

        self._temperature = temperature
        self._generator = torch.Generator().manual_seed(seed & (2**63 - 1))

    def __call__(self, input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        """Return noisy logits, `(1, vocabulary)`."""
        import torch

        noise = torch.empty(scores.shape).exponential_(generator=self._generator).log()
        return scores.float() / self._temperature - noise.to(scores.device)


def message(role: str, content: str) -> Message:
    """Return a turn of a conversation; the role is "system", "user" or "assistant"."""
    return {"role": role, "content": content}
