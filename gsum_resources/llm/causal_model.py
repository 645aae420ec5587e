"""`CausalModel`: a causal language model for conversations."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.llm.grammar import Grammars, RequestError, n_repeated
from gsum_resources.llm.reasoning import delimits_reasoning, opens_reasoning, without_reasoning
from gsum_resources.protocols.models import Request
from gsum_resources.store.locked_property import locked_property

if TYPE_CHECKING:
    import torch

_LONGEST_MARK = 8  # tokens of a mark that opens reasoning

Message = dict[str, str]  # role (system, user or assistant) and content


class Generated(NamedTuple):
    """A turn of the model, without reasoning; `fault`: why it is useless, "" if it is not."""

    text: str
    tokens_in: int
    tokens_out: int
    fault: str


class CausalModel:
    """A causal language model that generates the next turn of a conversation.

    Parameter `constrained`: whether a grammar restricts the tokens of a structured reply.
    """

    def __init__(self, weights: CausalWeights, constrained: bool) -> None:
        self._weights = weights
        self._tokenizer: Any = weights.tokenizer
        self._model: Any = weights.network
        # The packaged model fills any length; effect of the penalty on tokens that a free text
        # already contains (Keskar et al. 2019, 4.1): see docs/models.md.
        self._tokens_per_word, self._json_tokens, self._penalty = (
            (1.5, 256, 1.1) if weights.is_packaged else (3, 1024, 1.0)
        )
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
        known = self._tokenizer.added_tokens_decoder.items()
        self._special = {i: token.content for i, token in known if token.special}

    def generate(self, messages: Sequence[Message], request: Request) -> Generated:
        """Return the model's next turn.

        Raises `RequestError` if prompt and reply do not fit into the context or the memory, or no
        grammar can be built for the request's schema.
        """
        import torch

        device, context = self._weights.device, self._weights.context
        prompt = self._token_ids(messages)
        max_new_tokens = 64 + round(self._tokens_per_word * request.max_words)
        if len(prompt) + max_new_tokens > context:
            raise RequestError(
                f"{len(prompt):,} tokens of prompt and {max_new_tokens:,} of reply exceed the "
                f"model's context of {context:,}; give fewer or shorter passages, or use a "
                "model with a longer context"
            )
        if request.schema:
            max_new_tokens = min(max_new_tokens + self._json_tokens, context - len(prompt))
        has_grammar = request.schema is not None and self._constrained

        def is_loop(input_ids: "torch.Tensor", scores: Any, **_: Any) -> "torch.Tensor":
            repeated = n_repeated(input_ids[0, len(prompt) :].tolist())
            return torch.tensor([repeated > 0], device=device)

        ids = torch.tensor([prompt], device=device)  # (1, tokens)
        try:
            with torch.inference_mode():
                whole = self._model.generate(
                    input_ids=ids,
                    attention_mask=torch.ones_like(ids),
                    max_new_tokens=max_new_tokens,
                    logits_processor=self._processors(request, len(prompt), max_new_tokens),
                    stopping_criteria=None if has_grammar else [is_loop],
                )
        except torch.OutOfMemoryError:
            raise RequestError(
                f"{len(prompt):,} tokens of prompt do not fit into the memory of the "
                f"{device} together with the model; give fewer or shorter passages"
            ) from None
        reply = whole[0, len(prompt) :].tolist()
        truncated = not reply or reply[-1] not in self._ends
        if has_grammar:  # it permits no reasoning
            text = self._decoded(reply)
        else:
            text = opens_reasoning(self._tokenizer.decode(prompt[-_LONGEST_MARK:]))
            text += self._decoded(reply[: len(reply) - n_repeated(reply)])
        sent = f"{request.instructions}\n{request.render()}"
        answer = without_reasoning(text, sent, request.schema is not None).strip()
        fault = ""
        if truncated and request.schema:
            fault = "it was cut off before its end"
        if not answer:
            fault = "the reply is empty"
            if truncated and text.strip():
                fault = "the reply was cut off within its reasoning; take a model without"
        return Generated(answer, len(prompt), len(reply), fault)

    def _decoded(self, reply: Sequence[int]) -> str:
        """Return the text of a reply, with those special tokens only that delimit reasoning."""
        special = {i: self._special[i] for i in set(reply) & self._special.keys()}
        marks = delimits_reasoning(special.values())
        return self._tokenizer.decode([i for i in reply if special.get(i) in marks | {None}])

    def _processors(self, request: Request, start: int, room: int) -> list[Callable]:
        from transformers import RepetitionPenaltyLogitsProcessor

        processors: list[Callable] = []
        if request.schema and self._constrained:
            mask = self._grammars.mask(request.schema, request.max_words, start, room)
            processors.append(mask)
        elif self._penalty != 1:
            processors.append(RepetitionPenaltyLogitsProcessor(self._penalty, start))
        if request.temperature:
            processors.append(gumbel_noise(request.temperature, request.seed))
        return processors

    @locked_property
    def _grammars(self) -> Grammars:
        n_logits = self._model.get_output_embeddings().weight.shape[0]
        return Grammars(self._tokenizer, n_logits, self._ends)

    def _token_ids(self, messages: Sequence[Message]) -> list[int]:
        """Return the tokens of the prompt, by the model's chat template if it has one."""
        from jinja2 import TemplateError

        turns = [m | {"content": self._plain(m["content"])} for m in messages]
        if not self._tokenizer.chat_template:
            text = "".join(f"{turn['content']}\n\n" for turn in turns)
            return self._tokenizer(text)["input_ids"]
        how = {"add_generation_prompt": True, "return_dict": True, "enable_thinking": False}
        try:
            return self._tokenizer.apply_chat_template(turns, **how)["input_ids"]
        except TemplateError:  # no system role
            system, user, *following = turns
            first = user | {"content": f"{system['content']}\n\n{user['content']}"}
            return self._tokenizer.apply_chat_template([first, *following], **how)["input_ids"]

    def _plain(self, text: str) -> str:
        """Return `text` with special tokens broken up, so that no document can end its turn."""
        for token in self._special.values():
            if len(token) > 1:
                text = text.replace(token, f"{token[0]} {token[1:]}")
        return text


def gumbel_noise(temperature: float, seed: int) -> Callable[..., "torch.Tensor"]:
    """Return a logits processor for samples (Gumbel-max trick), equal on every device."""
    import torch

    generator = torch.Generator().manual_seed(seed & (2**63 - 1))

    def add_noise(input_ids: "torch.Tensor", scores: "torch.Tensor") -> "torch.Tensor":
        noise = torch.empty(scores.shape).exponential_(generator=generator).log()
        return scores.float() / temperature - noise.to(scores.device)

    return add_noise
