"""Requests to an instant server: gsum and the bare OpenAI client, 64 at once.

    python -m benchmarks.endpoint

The server runs in a process of its own. Each round sends the same number of prompts that nobody
has seen before, so that nothing comes from the memo.
"""

import asyncio
import itertools
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks import Measurement, median_ratio, take_turns
from benchmarks.results import main
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.endpoint import Endpoint
from gsum_resources.llm.ledger import Ledger
from gsum_resources.llm.ledgered_model import LedgeredModel
from gsum_resources.llm.openai_compatible import OpenAICompatibleModel
from gsum_resources.protocols.models import Completion, LanguageModel, Request
from gsum_resources.settings.schema import LlmSettings
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.scripted import scripted_process

CONCURRENT = 64
REQUESTS = 500
ROUNDS = 5
PASSAGE = "The harbour board discussed the dredging plan. " * 40  # about 2 kB


class BareClient:
    """AsyncOpenAI as its documentation uses it, with a semaphore, in one loop throughout."""

    def __init__(self, settings: LlmSettings) -> None:
        from openai import AsyncOpenAI

        self._model = settings.model
        self._client = AsyncOpenAI(base_url=settings.base_url, api_key="none")
        self._loop = asyncio.new_event_loop()

    def complete(self, requests: list[Request]) -> list[str]:
        """The text of each reply."""
        return self._loop.run_until_complete(self._complete(requests))

    async def _complete(self, requests: list[Request]) -> list[str]:
        slots = asyncio.Semaphore(CONCURRENT)

        async def send(request: Request) -> str:
            async with slots:
                reply = await self._client.chat.completions.create(
                    model=self._model,
                    messages=[
                        {"role": "system", "content": request.instructions},
                        {"role": "user", "content": request.render()},
                    ],
                    temperature=request.temperature,
                    seed=request.seed,
                    max_tokens=736,
                )
                return reply.choices[0].message.content or ""

        return await asyncio.gather(*map(send, requests))


def ask_all(complete: Callable, numbers: "itertools.count[int]", n_requests: int) -> None:
    """Send one round of new prompts; none may fail."""
    requests = [
        Request("answer", "Answer in short.", f"Question {next(numbers)}?", (PASSAGE,))
        for _ in range(n_requests)
    ]
    replies = complete(requests)
    assert all(isinstance(reply, Completion | str) for reply in replies), replies[0]


def measure(rounds: int = ROUNDS, n_requests: int = REQUESTS) -> Measurement:
    """Requests per second and processor seconds of three ways to ask the same server."""
    with tempfile.TemporaryDirectory() as folder, scripted_process(Path(folder, "log")) as server:
        settings = LlmSettings(
            backend="openai_compatible",
            model="m",
            base_url=server.base_url,
            api_key_env="",
            max_concurrent=CONCURRENT,
        )
        store = ParquetStore(folder)
        model: LanguageModel = OpenAICompatibleModel(settings, Endpoint(settings, store))
        ledger = Ledger(store, TABLES["llm_calls"], "benchmark", "benchmark")
        numbers = itertools.count()
        complete = {
            "AsyncOpenAI": BareClient(settings).complete,
            "gsum": model.complete,
            "gsum, memo and ledger": LedgeredModel(model, store, ledger).complete,
        }
        sides = {
            name: lambda send=send: ask_all(send, numbers, n_requests)
            for name, send in complete.items()
        }
        for side in sides.values():
            side()
        seconds = take_turns(sides, rounds)
        cpu = take_turns(sides, rounds, time.process_time)
    rows = []
    for name in sides:
        per_second = n_requests / statistics.median(seconds[name])
        milliseconds = 1000 * statistics.median(cpu[name]) / n_requests
        ratio = median_ratio(seconds["AsyncOpenAI"], seconds[name])
        rows.append([name, f"{per_second:.0f}", f"{milliseconds:.2f}", f"{ratio:.2f}"])
    return Measurement(
        f"Endpoint: gsum beside bare AsyncOpenAI, {CONCURRENT} concurrent calls, instant server",
        f"{n_requests} new prompts of {len(PASSAGE)} characters a round, the server in a process "
        f"of its own; medians of {rounds} rounds in turn. Ratio: AsyncOpenAI's time over this "
        "one's.",
        ["", "requests/s", "client CPU, ms/request", "ratio"],
        rows,
    )


if __name__ == "__main__":
    main("endpoint", __doc__, measure)
