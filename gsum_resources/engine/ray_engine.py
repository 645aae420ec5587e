"""`RayEngine`: blocks as calls of Ray actors, each of which keeps its models loaded.

A call is not retried by Ray (`max_task_retries`), since it would then wait for the restart of its
own actor, for ever where the cluster lost the room for it. Instead a block whose actor was lost
goes to another actor that is ready.
"""

import heapq
import itertools
import logging
import os
import signal
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import Any

from gsum_resources.engine.blocks import Block, BlockError, Engine, MakeFunction, Output
from gsum_resources.settings.schema import EngineSettings, SettingsError, resources_of

_LOG = logging.getLogger(__name__)
_AHEAD = 3  # blocks per actor that are computed, or wait, before their turn
_IDLE_S = 60.0  # without blocks, after which actors make room for other runs
_ATTEMPTS = 4  # actors that may be lost with one block: it may be the reason
_calls = itertools.count()


class RayEngine(Engine):
    """Computes blocks on a Ray cluster that runs already; connects at the first block.

    The actors serve all steps of the process, and are ended after a minute without blocks.
    """

    spreads = True

    def __init__(self, settings: EngineSettings) -> None:
        self._settings, self.threads = settings, settings.num_cpus  # processors of an actor
        self._lock = threading.Lock()
        self._actors: list[Any] = []
        self._n_calls = 0
        self._end: threading.Timer | None = None

    def map_blocks(
        self,
        make_function: MakeFunction[Block, Output],
        blocks: Iterable[Block],
        step: str,
        model: str = "",
    ) -> Iterator[Output]:
        """Yield the result of each block; see `Engine`."""
        with self._held() as actors:
            name = model or f"call {next(_calls)}"
            function = [_ray().put(make_function)]  # in a list: fetched only where it is missing

            def send(actor: Any, block: Block) -> Any:
                return actor.compute.remote(name, bool(model), function, block)

            call = _Call(actors, send, step, self._settings)
            yield from call.results(blocks)

    @contextmanager
    def _held(self) -> Iterator[list[Any]]:
        """Yield the actors, which Ray may still be starting; none is ended meanwhile."""
        with self._lock:
            if self._end:
                self._end.cancel()
            self._actors = self._actors or self._started()
            self._n_calls += 1
        try:
            yield self._actors
        finally:
            with self._lock:
                self._n_calls -= 1
                if self._end:
                    self._end.cancel()
                self._end = threading.Timer(_IDLE_S, self._release)
                self._end.daemon = True
                self._end.start()

    def _release(self) -> None:
        """End the actors unless they are in use."""
        with self._lock:
            if not self._n_calls:
                for actor in self._actors:
                    _ray().kill(actor)
                self._actors = []

    def _started(self) -> list[Any]:
        settings = self._settings
        ray = connected(settings)
        options = {
            "num_cpus": settings.num_cpus,
            "num_gpus": settings.num_gpus,
            "resources": resources_of(settings.resources),
            "max_restarts": -1,
            "max_task_retries": 0,
        }
        worker = ray.remote(_Worker).options(**options)
        n_actors = settings.actors or _room(ray.cluster_resources(), _needs(settings))
        return [worker.remote() for _ in range(n_actors)]


class _Worker:
    """The actor: computes blocks by functions that it keeps loaded."""

    def __init__(self) -> None:
        self._models: dict[str, Callable[[Any], Any]] = {}
        self._latest: tuple[str, Callable[[Any], Any]] = ("", lambda _: None)

    def ready(self) -> str:
        """Return the version of gsum on this node."""
        return version("gsum")

    def compute(self, name: str, keeps: bool, function: list[Any], block: Any) -> Any:
        """Return the result of a block by the function of this name, created on first use."""
        ray = _ray()
        if keeps and name not in self._models:
            self._models[name] = ray.get(function[0])()
        elif not keeps and self._latest[0] != name:
            self._latest = name, ray.get(function[0])()
        return (self._models[name] if keeps else self._latest[1])(block)


@dataclass
class _Call:
    """One call of `map_blocks`: results arrive in any order, and are returned in that of blocks.

    Attributes
    ----------
    actors : all actors; each works for one block of this call at a time.
    send : sends a block to an actor and returns the future of its result.
    starting : actors by the future that ends when they answer.
    idle : actors that have answered and have no block.
    running : actor and number of a block, by the future of its result.
    unsent : numbers of blocks that no actor has, in order.
    blocks : blocks without a result, by number.
    done : results that wait for their turn, by number.
    """

    actors: list[Any]
    send: Callable[[Any, Any], Any]
    step: str
    settings: EngineSettings
    starting: dict[Any, Any] = field(default_factory=dict)
    idle: list[Any] = field(default_factory=list)
    running: dict[Any, tuple[Any, int]] = field(default_factory=dict)
    unsent: list[int] = field(default_factory=list)
    blocks: dict[int, Any] = field(default_factory=dict)
    done: dict[int, Any] = field(default_factory=dict)
    n_lost: Counter[int] = field(default_factory=Counter)

    def results(self, blocks: Iterable[Any]) -> Iterator[Any]:
        """Yield the results in the order of the blocks."""
        for actor in self.actors:
            self._await_ready(actor)
        most = _AHEAD * len(self.actors)
        numbered = enumerate(blocks)
        n_taken = turn = 0
        while True:
            for number, block in itertools.islice(numbered, turn + most - n_taken):
                self.blocks[number] = block
                heapq.heappush(self.unsent, number)
                n_taken += 1
            if turn == n_taken:
                return
            while turn not in self.done:
                while self.unsent and self.idle:
                    actor, number = self.idle.pop(0), heapq.heappop(self.unsent)
                    self.running[self.send(actor, self.blocks[number])] = actor, number
                self._wait()
            yield self.done.pop(turn)
            turn += 1

    def _await_ready(self, actor: Any) -> None:
        """Count an actor as starting until it answers, for which it may need another node."""
        self.starting[actor.ready.options(max_task_retries=-1).remote()] = actor

    def _wait(self) -> None:
        """Wait for a result or an actor; raise `BlockError` if no node has what an actor needs."""
        ray = _ray()
        futures = [*self.running, *self.starting]
        patience = None if self.running else self.settings.start_timeout_s
        finished, _ = ray.wait(futures, timeout=patience) if futures else ([], [])
        if not finished and futures and _has_room(ray.nodes(), _needs(self.settings)):
            _LOG.warning("%s: other runs use the Ray cluster; waits for their end", self.step)
        elif not finished:
            raise BlockError(self._no_actor())
        for future in finished:
            if future in self.running:
                self._on_result(future)
            else:
                self._on_ready(future)

    def _on_ready(self, future: Any) -> None:
        """Count an actor as idle, or leave it out; raise if its node has another gsum."""
        ray = _ray()
        actor = self.starting.pop(future)
        try:
            theirs, ours = ray.get(future), version("gsum")
        except ray.exceptions.RayError as error:
            _LOG.warning("%s: a Ray actor cannot be started: %s", self.step, _first_line(error))
            return
        if theirs != ours:
            raise BlockError(
                f"{self.step}: a Ray node has gsum {theirs}, this process {ours}; install the same "
                "version on all nodes"
            )
        self.idle.append(actor)

    def _on_result(self, future: Any) -> None:
        """Keep a result, or count its block as lost; raise an exception of the function itself."""
        ray = _ray()
        actor, number = self.running.pop(future)
        try:
            self.done[number] = ray.get(future)
        except ray.exceptions.RayTaskError as error:
            cause = error.cause
            raise (cause if isinstance(cause, Exception) else error) from None
        except ray.exceptions.RayError as error:
            self._await_ready(actor)
            self._on_loss(number, error)
        else:
            self.idle.append(actor)
            del self.blocks[number]

    def _on_loss(self, number: int, error: Exception) -> None:
        self.n_lost[number] += 1
        lost = f"{self.step}: block {number + 1} was lost with its Ray actor"
        if self.n_lost[number] >= _ATTEMPTS:
            raise BlockError(
                f"{lost} {self.n_lost[number]} times (last: {_first_line(error)}); if the actors "
                "run out of memory, set fewer actors or more num_cpus for each in [engine]"
            )
        _LOG.warning("%s and is computed again (%s)", lost, _first_line(error))
        heapq.heappush(self.unsent, number)

    def _no_actor(self) -> str:
        """Return the reason why nothing can be computed."""
        ray = _ray()
        number, needs = min(self.blocks) + 1, _needs(self.settings)
        return (
            f"{self.step}: block {number}: no Ray actor was ready within "
            f"{self.settings.start_timeout_s:.0f} s; each needs {_named(needs)}, and "
            f"{_named(ray.available_resources(), needs)} of "
            f"{_named(ray.cluster_resources(), needs)} in the cluster are free; add a node, end "
            "other runs, or lower num_cpus, num_gpus or resources in [engine]"
        )


def _ray() -> Any:
    """Return the module `ray`, which is optional and slow to import."""
    return import_module("ray")


def _has_room(nodes: Iterable[dict[str, Any]], needs: dict[str, float]) -> bool:
    """Return whether a node could hold an actor if nothing else ran there."""
    return any(
        all(node["Resources"].get(name, 0.0) >= amount for name, amount in needs.items())
        for node in nodes
        if node["Alive"]
    )


def _needs(settings: EngineSettings) -> dict[str, float]:
    """Return the resources of one actor."""
    needs = {"CPU": settings.num_cpus, "GPU": settings.num_gpus}
    needs |= resources_of(settings.resources)
    return {name: amount for name, amount in needs.items() if amount}


def connected(settings: EngineSettings) -> Any:
    """Return the module `ray`, connected to the cluster of the settings.

    A cluster is never started here: it would listen on all interfaces of this machine. Raise
    `SettingsError` if ray is not installed, no address is set, or no cluster answers there.
    """
    try:
        ray = _ray()
    except ImportError:
        raise SettingsError(
            "[engine] kind is 'ray', which is not installed; pip install 'gsum[ray]'"
        ) from None
    if ray.is_initialized():  # a caller of the library has connected
        return ray
    address = settings.address or os.environ.get("RAY_ADDRESS", "")
    if not address:
        raise SettingsError(
            "[engine] kind is 'ray' without an address; set address in [engine] or the variable "
            "RAY_ADDRESS to that of a running cluster such as '10.0.0.1:6379', or 'auto'"
        )
    _LOG.warning(
        "Ray at %s: without a token, everyone who reaches its ports can run code and read the "
        "data; keep its network closed (docs/cluster.md)",
        address,
    )
    try:
        with _own_sigterm():
            ray.init(address, logging_level=logging.WARNING, log_to_driver=False)
    except (ConnectionError, RuntimeError, ValueError) as error:
        raise SettingsError(
            f"[engine] no Ray cluster answers at '{address}' ({_first_line(error)}); start it with "
            "`ray start`, or correct address"
        ) from None
    return ray


@contextmanager
def _own_sigterm() -> Iterator[None]:
    """Keep the handler of SIGTERM, which Ray would replace by its own."""
    handler = signal.getsignal(signal.SIGTERM)
    try:
        yield
    finally:
        if handler is not None and threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, handler)


def _room(total: dict[str, float], needs: dict[str, float]) -> int:
    """Return how many actors a cluster holds; raise `SettingsError` if it holds none."""
    room = min(int(total.get(name, 0.0) // amount) for name, amount in needs.items())
    if not room:
        raise SettingsError(
            f"[engine] an actor needs {_named(needs)}, but the Ray cluster has "
            f"{_named(total, needs)}; lower num_cpus, num_gpus or resources, or set actors if the "
            "cluster adds nodes by itself"
        )
    return room


def _named(amounts: dict[str, float], names: Iterable[str] | None = None) -> str:
    """Return resources as "2 CPU and 1 GPU"."""
    chosen = amounts if names is None else names
    return " and ".join(f"{amounts.get(name, 0.0):g} {name}" for name in chosen)


def _first_line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}"
