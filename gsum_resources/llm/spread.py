"""`SpreadModel`: a local language model whose requests are answered by processes of an engine."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any

from gsum_resources.engine.blocks import Engine
from gsum_resources.llm.tokens import Window
from gsum_resources.llm.transformers_local import TransformersModel
from gsum_resources.protocols.models import Completion, OnReply, Reply, Request

Sent = tuple[Reply, dict[str, Any] | None]
"""A reply without `parsed`, and the values of that: its class may exist in one process only."""


class SpreadModel:
    """A `LanguageModel` with the identity and the replies of `model`.

    Each process of the engine loads the model and answers as many requests at once as it has
    threads.
    """

    def __init__(self, model: TransformersModel, engine: Engine) -> None:
        self._model = model
        self._engine = engine

    @property
    def identity(self) -> str:
        """Identity of the model."""
        return self._model.identity

    @property
    def window(self) -> Window | None:
        """Context window of the model; see `TransformersModel`."""
        return self._model.window

    @property
    def structure(self) -> str:
        """Method of structured replies."""
        return self._model.structure

    @property
    def failure_scope(self) -> str:
        """What a failure depends on besides identity and request."""
        return self._model.failure_scope

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
