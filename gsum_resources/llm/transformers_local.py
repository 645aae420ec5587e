"""A causal language model that runs in this process: the packaged one, or by path or hub id.

Meant for small models and for machines that may reach no server. Requests are not put into
batches: in a batch of eight, logits of the same prompt differed in their last bits from those of
the prompt alone (by 1e-6, float32), and so did padded ones from unpadded ones, so that a reply
would depend on what else is asked. For throughput, serve the model (vLLM, `transformers serve`,
llama.cpp) and use the backend `openai_compatible`.
"""

import json
import threading
import time
from collections.abc import Generator, Sequence
from concurrent.futures import as_completed
from contextlib import closing
from functools import cached_property

from pydantic import BaseModel

from gsum_resources.embedding.processor import one_thread_each, physical_cores, torch_threads
from gsum_resources.llm.causal_model import CausalModel, Generated, PromptError, message
from gsum_resources.llm.packaged import PACKAGED, causal_weights
from gsum_resources.llm.structure import (
    Read,
    StructureError,
    correction,
    json_directions,
    read,
    without_reasoning,
)
from gsum_resources.llm.tokens import Window
from gsum_resources.protocols import Completion, CompletionError, OnReply, Reply, Request
from gsum_resources.settings import LlmSettings

VERSION = "3"  # raise it with every change of prompts or decoding, so that memos expire


class TransformersModel:
    """A `LanguageModel` of the transformers library, loaded when first asked.

    A reply gets `64 + 3 * max_words` tokens (English takes 1.3 a word, other scripts two or
    three), a structured one 1,024 more as far as the context has room, within which a grammar
    closes it. A free text that reaches this length is taken as it is. Temperature 0 is greedy;
    else each request is sampled with a generator of its own, seeded by the request. The packaged
    model, which knows English and fills what room it gets, gets less, and a penalty on repetition.

    Parameters
    ----------
    settings : `model` is a folder or a hub id, `version` part of the identity, `max_repairs` the
        re-asks after a reply of wrong structure.

    Raises
    ------
    SettingsError
        If there is no such folder; from `complete`, if the model cannot be loaded.
    """

    def __init__(self, settings: LlmSettings) -> None:
        self._settings = settings
        self._weights = causal_weights(settings)
        self._name = self._weights.name
        self._constrained = settings.structured_output != "prompt"
        self._lock = threading.Lock()

    @property
    def identity(self) -> str:
        """The hub id, or a digest of weights, tokenizer, template and settings."""
        prompted = "" if self._constrained else "/structured=prompt"
        return f"{self._settings.backend}-{VERSION}/{self._weights.identity}{prompted}"

    @property
    def window(self) -> Window | None:
        """What the packaged model takes at once, by its own tokens; None: as settings say."""
        if self._settings.backend != PACKAGED:
            return None
        return Window(
            self._name, self._count, self._settings.context_tokens or self._weights.context
        )

    def _count(self, texts: Sequence[str]) -> list[int]:
        ids = self._weights.tokenizer(list(texts), verbose=False)["input_ids"] if texts else []
        return [len(one) for one in ids]

    @property
    def structure(self) -> str:
        """How a structured reply comes about."""
        return "grammar" if self._constrained else "prompt"

    @property
    def failure_scope(self) -> str:
        """The number of re-asks."""
        return f"repairs={self._settings.max_repairs}"

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """One completion or error for each request, in order; prompts are never cut."""
        replies: dict[int, Reply] = {}
        with self._lock, closing(self._replies(requests)) as said:
            for place, reply in said:
                replies[place] = reply
                if on_reply:
                    on_reply(place, reply)
        return [replies[place] for place in range(len(requests))]

    def _replies(self, requests: Sequence[Request]) -> Generator[tuple[int, Reply], None, None]:
        """Place and reply as they come; what was not begun is cancelled when this is closed."""
        _ = self._loaded if requests else None  # once, before threads need it
        if self._at_once == 1:
            with torch_threads(physical_cores()):
                yield from enumerate(map(self._reply, requests))
            return
        with one_thread_each(self._at_once) as pool:
            places = {pool.submit(self._reply, one): i for i, one in enumerate(requests)}
            try:
                for future in as_completed(places):
                    yield places[future], future.result()
            finally:
                for future in places:
                    future.cancel()

    @property
    def _at_once(self) -> int:
        """Requests in flight: of the packaged model one a core, on one thread each.

        A small model waits longer for threads that share a matrix product than it computes: on a
        busy machine of two cores a token took 0.4 s on one thread and 4.5 s on two.
        """
        is_small = self._settings.backend == PACKAGED and self._weights.device == "cpu"
        return physical_cores() if is_small else 1

    @cached_property
    def _loaded(self) -> CausalModel:
        if self._settings.backend == PACKAGED:
            return CausalModel(
                self._weights,
                self._constrained,
                json_tokens=256,
                tokens_per_word=1.5,
                repetition_penalty=1.1,  # docs/models.md has what it changes
            )
        return CausalModel(self._weights, self._constrained)

    def _reply(self, request: Request) -> Reply:
        started = time.perf_counter()
        generated: list[Generated] = []
        try:
            text, said = self._converse(request, generated)
        except (StructureError, PromptError) as problem:
            where = f"the {request.task} request for document '{request.document_id}'"
            return CompletionError(
                f"{self._name}: {where}: {problem}",
                self._name,
                calls=len(generated),
                retries=max(0, len(generated) - 1),
                tokens_in=sum(one.tokens_in for one in generated),
                tokens_out=sum(one.tokens_out for one in generated),
                latency_s=time.perf_counter() - started,
                text=generated[-1].text if generated else "",
                repeats=isinstance(problem, StructureError),
            )
        return Completion(
            text,
            self._name,
            sum(one.tokens_in for one in generated),
            sum(one.tokens_out for one in generated),
            time.perf_counter() - started,
            said.value if said else None,
            calls=len(generated),
            retries=len(generated) - 1,
            slips=said.slips if said else (),
        )

    def _converse(
        self, request: Request, generated: list[Generated]
    ) -> tuple[str, Read[BaseModel] | None]:
        """The first reply that can be used; all are appended to `generated`."""
        instructions, corrections = request.instructions, 0
        if request.schema:
            instructions += "\n\n" + json_directions(request.schema)
            corrections = self._settings.max_repairs
        messages = [message("system", instructions), message("user", request.render())]
        while True:
            generated.append(self._loaded.generate(messages, request))
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
    text = without_reasoning(generated.text).strip()
    if not text:
        raise StructureError("the reply is empty")
    if not request.schema:
        return text, None
    said = read(text, request.schema, generated.truncated)
    return json.dumps(said.value.model_dump(mode="json"), ensure_ascii=False), said
