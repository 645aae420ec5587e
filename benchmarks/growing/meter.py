"""Wall time, CPU time and peak memory of each step of a process's runs."""

import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import dagster as dg
from dagster._core.events import DagsterEventType
from dagster._core.events.log import EventLogEntry

_EVERY_S = 0.1
_PAGE_MIB = os.sysconf("SC_PAGE_SIZE") / 2**20
OUTSIDE = "between steps"
_ENDS = (DagsterEventType.STEP_SUCCESS, DagsterEventType.STEP_FAILURE)


@dataclass
class Spent:
    """Cost of a step over all runs.

    Attributes
    ----------
    wall_s, cpu_s : seconds; of all threads.
    peak_mib : largest resident memory of the process meanwhile.
    """

    wall_s: float = 0.0
    cpu_s: float = 0.0
    peak_mib: float = 0.0


class StepMeter:
    """Charges what the process takes to the step that is running; steps run one at a time."""

    def __init__(self) -> None:
        self._spent: defaultdict[str, Spent] = defaultdict(Spent)
        self._step = OUTSIDE
        self._since = time.perf_counter(), time.process_time()
        self._over = threading.Event()

    @contextmanager
    def watching(self, instance: dg.DagsterInstance) -> Iterator[None]:
        """Record the events of `instance`, and sample the memory continuously."""
        stored = instance.handle_new_event

        def handle(event: EventLogEntry, **how) -> None:
            if event.dagster_event:
                self._on_event(event.dagster_event.event_type, event.step_key)
            stored(event, **how)

        instance.handle_new_event = handle  # type: ignore[method-assign]
        with self.sampling():
            yield

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Charge what happens here to a step."""
        self._charge(name)
        yield
        self._charge(OUTSIDE)

    @contextmanager
    def sampling(self) -> Iterator[None]:
        """Sample the memory continuously."""
        sampler = threading.Thread(target=self._sample, daemon=True)
        sampler.start()
        try:
            yield
        finally:
            self._over.set()
            sampler.join()
            self._charge(OUTSIDE)

    def report(self) -> dict[str, dict[str, float]]:
        """By step, as JSON holds it."""
        return {step: asdict(spent) for step, spent in self._spent.items()}

    def _on_event(self, kind: DagsterEventType, step: str | None) -> None:
        if kind == DagsterEventType.STEP_START and step:
            self._charge(step)
        elif kind in _ENDS:
            self._charge(OUTSIDE)

    def _charge(self, following: str) -> None:
        now = time.perf_counter(), time.process_time()
        spent = self._spent[self._step]
        spent.wall_s += now[0] - self._since[0]
        spent.cpu_s += now[1] - self._since[1]
        self._step, self._since = following, now

    def _sample(self) -> None:
        while not self._over.wait(_EVERY_S):
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            spent = self._spent[self._step]
            spent.peak_mib = max(spent.peak_mib, pages * _PAGE_MIB)
