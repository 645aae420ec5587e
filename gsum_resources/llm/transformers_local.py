"""A causal language model in this process: the packaged one, or one by path or hub id.

For small models and for machines without access to servers. Requests are not batched, since a reply
would depend on the others of its batch. For throughput, serve the model (vLLM, `transformers
serve`, llama.cpp) and use the backend `openai_compatible`.
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import as_completed
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from pydantic import BaseModel

from gsum_resources.embedding.processor import physical_cores, single_threaded_pool, torch_threads
from gsum_resources.engine.blocks import Engine
from gsum_resources.llm.causal_model import CausalModel, Generated
from gsum_resources.llm.causal_weights import CausalWeights
from gsum_resources.llm.grammar import RequestError
from gsum_resources.llm.openai_compatible import opening
from gsum_resources.llm.replies import Read, StructureError, correction, plain_text, read
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols.models import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.locked_property import locked_property

VERSION = "3"  # raise it with every change of prompts or decoding, so that memos expire


class TransformersModel:
    """A `LanguageModel` of the transformers library, loaded on first use.

    A reply may have `64 + 3 * max_words` tokens, a structured one 1,024 more as far as the context
    allows, within which a grammar closes it. A free text that reaches this length is accepted.
    Temperature 0 is greedy; otherwise each request is sampled with its own generator, seeded by the
    request. The packaged model gets fewer tokens and a penalty on repetition. `threads` is by
    default the number of physical cores.

    Raises `SettingsError` if there is no such folder; from `complete`, if the model cannot be
    loaded.
    """

    def __init__(self, settings: LlmSettings, threads: int | None = None) -> None:
        self._settings = settings
        self._threads = threads
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
        if not self._weights.is_packaged:
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

        def store(index: int, reply: Reply) -> None:
            replies[index] = reply
            if on_reply:
                on_reply(index, reply)

        threads = self._threads or physical_cores()
        with self._lock:
            if not self._runs_together:
                with torch_threads(threads):
                    for index, request in enumerate(requests):
                        store(index, self._reply(request))
            else:
                with single_threaded_pool(threads) as pool:
                    index_of = {pool.submit(self._reply, r): i for i, r in enumerate(requests)}
                    try:
                        for future in as_completed(index_of):
                            store(index_of[future], future.result())
                    finally:
                        pool.shutdown(cancel_futures=True)
        return [replies[index] for index in range(len(requests))]

    @property
    def _runs_together(self) -> bool:
        """Whether requests run at once, each on one thread: threads of a small model wait."""
        return self._weights.is_packaged and self._weights.device == "cpu"

    @locked_property
    def _loaded(self) -> CausalModel:
        return CausalModel(self._weights, self._constrained)

    def _reply(self, request: Request) -> Reply:
        started = time.perf_counter()
        turns: list[Generated] = []
        text, parsed, problem = "", None, None
        try:
            text, parsed = self._converse(request, turns)
        except (StructureError, RequestError) as error:
            problem = error
        account: dict[str, Any] = {
            "calls": len(turns),
            "retries": max(0, len(turns) - 1),
            "tokens_in": sum(turn.tokens_in for turn in turns),
            "tokens_out": sum(turn.tokens_out for turn in turns),
            "latency_s": time.perf_counter() - started,
        }
        if problem:
            message = f"{self._name}: {request.described}: {problem}"
            text = turns[-1].text if turns else ""
            repeats = isinstance(problem, StructureError)
            return CompletionError(message, self._name, **account, text=text, repeats=repeats)
        value, slips = parsed or (None, ())
        return Completion(text, self._name, **account, parsed=value, slips=slips)

    def _converse(
        self, request: Request, turns: list[Generated]
    ) -> tuple[str, Read[BaseModel] | None]:
        """Return the first usable reply; all replies are appended to `turns`."""
        messages = opening(request, "prompt")
        while True:
            turn = self._loaded.generate(messages, request)
            turns.append(turn)
            try:
                if turn.fault:
                    raise StructureError(turn.fault)
                if not request.schema:
                    return plain_text(turn.text), None
                parsed = read(turn.text, request.schema)
                values = parsed.value.model_dump(mode="json")
                return json.dumps(values, ensure_ascii=False), parsed
            except StructureError as problem:
                if not request.schema or len(turns) > self._settings.max_repairs:
                    raise
                messages += [
                    {"role": "assistant", "content": turn.text},
                    {"role": "user", "content": correction(problem)},
                ]


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
        blocks = self._engine.map_blocks(
            partial(_complete_of, self._model.unloaded(threads)),
            (requests[i : i + size] for i in range(0, len(requests), size)),
            step="requests answered",
            model=self.identity,
        )
        replies = []
        for index, reply in enumerate(chain.from_iterable(blocks)):
            schema = requests[index].schema
            if isinstance(reply, Completion) and schema:
                reply = replace(reply, parsed=schema.model_validate_json(reply.text))
            replies.append(reply)
            if on_reply:
                on_reply(index, reply)
        return replies


def _complete_of(model: TransformersModel) -> Callable[[Sequence[Request]], list[Reply]]:
    """Return the function that answers a block; `parsed`, whose class may be local, is left out."""

    def answer(requests: Sequence[Request]) -> list[Reply]:
        replies = model.complete(requests)
        return [replace(r, parsed=None) if isinstance(r, Completion) else r for r in replies]

    return answer
