"""A causal language model in this process: the packaged one, or one by path or hub id.

For small models and for machines without access to servers. Requests are not batched, since a reply
would depend on the others of its batch. For throughput, serve the model (vLLM, `transformers
serve`, llama.cpp) and use the backend `openai_compatible`.
"""

import json
import threading
import time
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from dataclasses import replace
from functools import cached_property, partial
from itertools import chain
from typing import Any

from pydantic import BaseModel

from gsum_resources.embedding.processor import physical_cores, single_threaded_pool, torch_threads
from gsum_resources.engine.blocks import Engine
from gsum_resources.llm.causal_model import CausalModel, Generated, PromptError, message
from gsum_resources.llm.causal_weights import PACKAGED, CausalWeights
from gsum_resources.llm.directions import json_directions
from gsum_resources.llm.reasoning import without_reasoning
from gsum_resources.llm.replies import Read, StructureError, correction, plain_text, read
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.settings.schema import LlmSettings

Sent = tuple[Reply, dict[str, Any] | None]
"""A reply without `parsed`, and the values of that: its class may exist in one process only."""
VERSION = "3"  # raise it with every change of prompts or decoding, so that memos expire


class TransformersModel:
    """A `LanguageModel` of the transformers library, loaded on first use.

    A reply may have `64 + 3 * max_words` tokens, a structured one 1,024 more as far as the context
    allows, within which a grammar closes it. A free text that reaches this length is accepted.
    Temperature 0 is greedy; otherwise each request is sampled with its own generator, seeded by the
    request. The packaged model, which fills any length, gets fewer tokens and a penalty on
    repetition. `threads` is by default the number of physical cores.

    Raises
    ------
    SettingsError
        If there is no such folder; from `complete`, if the model cannot be loaded.
    """

    def __init__(self, settings: LlmSettings, threads: int | None = None) -> None:
        self._settings = settings
        self._requested_threads = threads
        self._weights = CausalWeights(settings)
        self._name = self._weights.name
        self._constrained = settings.structured_output != "prompt"
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """Hub id, or a digest of weights, tokenizer, template and settings."""
        prompted = "" if self._constrained else "/structured=prompt"
        return f"{self._settings.backend}-{VERSION}/{self._weights.identity}{prompted}"

    @property
    def window(self) -> Window | None:
        """Context window of the packaged model by its tokenizer; None: as in the settings."""
        if self._settings.backend != PACKAGED:
            return None

        def count(texts: Sequence[str]) -> list[int]:
            ids = self._weights.tokenizer(list(texts), verbose=False)["input_ids"] if texts else []
            return [len(tokens) for tokens in ids]

        return Window(self._name, count, self._settings.context_tokens or self._weights.context)

    @property
    def structure(self) -> str:
        """Method of structured replies."""
        return "grammar" if self._constrained else "prompt"

    @property
    def failure_scope(self) -> str:
        """The number of re-asks."""
        return f"repairs={self._settings.max_repairs}"

    def unloaded(self, threads: int | None) -> "TransformersModel":
        """Return an equal model without weights, for another process."""
        return TransformersModel(self._settings, threads)

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order; prompts are never cut."""
        replies: dict[int, Reply] = {}
        with self._lock, closing(self._replies(requests)) as arriving:
            for index, reply in arriving:
                replies[index] = reply
                if on_reply:
                    on_reply(index, reply)
        return [replies[index] for index in range(len(requests))]

    def _replies(self, requests: Sequence[Request]) -> Generator[tuple[int, Reply], None, None]:
        """Yield index and reply as they arrive; closing it cancels requests that have not begun."""
        _ = self._loaded if requests else None  # loaded once, before threads need it
        if self._at_once == 1:
            with torch_threads(self._threads):
                yield from enumerate(map(self._reply, requests))
            return
        with single_threaded_pool(self._at_once) as pool:
            index_of = {pool.submit(self._reply, request): i for i, request in enumerate(requests)}
            try:
                for future in as_completed(index_of):
                    yield index_of[future], future.result()
            finally:
                for future in index_of:
                    future.cancel()

    @property
    def _at_once(self) -> int:
        """Number of concurrent requests: for the packaged model one per core, on one thread each.

        Threads of a small model that share a matrix product wait longer than they compute.
        """
        is_small = self._settings.backend == PACKAGED and self._weights.device == "cpu"
        return self._threads if is_small else 1

    @property
    def _threads(self) -> int:
        return self._requested_threads or physical_cores()

    @cached_property
    def _loaded(self) -> CausalModel:
        if self._settings.backend == PACKAGED:
            return CausalModel(
                self._weights,
                self._constrained,
                json_tokens=256,
                tokens_per_word=1.5,
                repetition_penalty=1.1,  # effect: see docs/models.md
            )
        return CausalModel(self._weights, self._constrained)

    def _reply(self, request: Request) -> Reply:
        started = time.perf_counter()
        generated: list[Generated] = []

        def account() -> dict[str, Any]:
            return {
                "calls": len(generated),
                "retries": max(0, len(generated) - 1),
                "tokens_in": sum(turn.tokens_in for turn in generated),
                "tokens_out": sum(turn.tokens_out for turn in generated),
                "latency_s": time.perf_counter() - started,
            }

        try:
            text, parsed = self._converse(request, generated)
        except (StructureError, PromptError) as problem:
            message = f"{self._name}: {request.described}: {problem}"
            text = generated[-1].text if generated else ""
            repeats = isinstance(problem, StructureError)
            return CompletionError(message, self._name, **account(), text=text, repeats=repeats)
        value, slips = parsed or (None, ())
        return Completion(text, self._name, **account(), parsed=value, slips=slips)

    def _converse(
        self, request: Request, generated: list[Generated]
    ) -> tuple[str, Read[BaseModel] | None]:
        """Return the first usable reply; all replies are appended to `generated`."""
        instructions, corrections = request.instructions, 0
        if request.schema:
            instructions += "\n\n" + json_directions(request.schema)
            corrections = self._settings.max_repairs
        messages = [message("system", instructions), message("user", request.render())]
        while True:
            turn = self._loaded.generate(messages, request)
            prompt = f"{request.instructions}\n{request.render()}"
            answer = without_reasoning(turn.text, prompt, request.schema is not None).strip()
            generated.append(replace(turn, text=answer, has_reasoning=answer != turn.text.strip()))
            try:
                return _usable(generated[-1], request)
            except StructureError as problem:
                if len(generated) > corrections:
                    raise
                messages += [
                    message("assistant", generated[-1].text),
                    message("user", correction(problem)),
                ]


def _usable(generated: Generated, request: Request) -> tuple[str, Read[BaseModel] | None]:
    text = generated.text
    if not text and generated.has_reasoning and generated.truncated:
        raise StructureError("the reply was cut off within its reasoning; take a model without")
    if not text:
        raise StructureError("the reply is empty")
    if not request.schema:
        return plain_text(text), None
    if generated.truncated:
        raise StructureError("it was cut off before its end")
    parsed = read(text, request.schema)
    return json.dumps(parsed.value.model_dump(mode="json"), ensure_ascii=False), parsed


class SpreadModel:
    """A `LanguageModel` with the identity and the replies of `model`, from an engine's processes.

    Each process loads the model and answers as many requests at once as it has threads.
    """

    def __init__(self, model: TransformersModel, engine: Engine) -> None:
        self._model, self._engine = model, engine
        self.identity, self.failure_scope = model.identity, model.failure_scope
        self.structure, self.window = model.structure, model.window

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """Return one completion or error for each request, in order."""
        threads = self._engine.threads
        size = threads or 1
        sent = self._engine.map_blocks(
            partial(_complete_of, self._model.unloaded(threads)),
            (requests[i : i + size] for i in range(0, len(requests), size)),
            step="requests answered",
            model=self.identity,
        )
        replies = []
        for index, (reply, values) in enumerate(chain.from_iterable(sent)):
            schema = requests[index].schema
            if isinstance(reply, Completion) and schema and values is not None:
                reply = replace(reply, parsed=schema.model_validate(values))
            replies.append(reply)
            if on_reply:
                on_reply(index, reply)
        return replies


def _complete_of(model: TransformersModel) -> Callable[[Sequence[Request]], list[Sent]]:
    """Return the function that answers a block of requests."""

    def answer(requests: Sequence[Request]) -> list[Sent]:
        sent: list[Sent] = []
        for reply in model.complete(requests):
            if isinstance(reply, Completion) and reply.parsed is not None:
                sent.append((replace(reply, parsed=None), reply.parsed.model_dump()))
            else:
                sent.append((reply, None))
        return sent

    return answer
