"""Grows homes at random until the time is over; see `machine.py`.

    python -m tests.growing --minutes 10 [--seed N] [--steps N] [--by-hand] [--verbose]

Says every minute what was done; on a failure, the steps that lead to it, and ends with status 1.
"""

import argparse
import os
import sys
import time
import traceback
import warnings

import hypothesis
from hypothesis import HealthCheck, Phase, Verbosity, settings
from hypothesis.stateful import run_state_machine_as_test

from tests.fast_runs import without_records
from tests.growing.home import MisfitError
from tests.growing.machine import BY_HAND, WAYS, Growing

_BATCH = 6  # examples with one seed


class _TimeIsOver(KeyboardInterrupt):
    """Ends the example in which it is raised."""


def main(minutes: float, seed: int, steps: int, by_hand: bool, verbose: bool) -> int:
    """Run until the time is over, or something is found; the exit status."""
    how = settings(
        max_examples=_BATCH,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=[*HealthCheck],  # type: ignore[arg-type]
        verbosity=Verbosity.quiet,
    )
    began = reported = time.monotonic()
    over = False
    trace: list[str] = []

    def report(line: str) -> None:
        nonlocal reported, over
        if line.startswith("begin "):
            trace.clear()
        trace.append(line)
        if verbose:
            print(line, flush=True)
        if time.monotonic() - reported > 60:
            reported = time.monotonic()
            print(f"{reported - began:.0f} s: {_summary()}", flush=True)
        if time.monotonic() - began > minutes * 60:
            over = True
            raise _TimeIsOver

    Growing.ways = BY_HAND if by_hand else WAYS
    Growing.report = staticmethod(report)  # type: ignore[method-assign]
    try:
        while True:
            hypothesis.seed(seed)(Growing)
            run_state_machine_as_test(Growing, settings=how)
            seed += 1
    except BaseException as problem:
        if over and not isinstance(problem, MisfitError):  # hypothesis takes it for a failure, too
            print(f"nothing found: {_summary()}")
            return 0
        traceback.print_exc()
        print(f"seed {seed}; the last example:", *trace, sep="\n  ")
        print(_summary())
        return 1
    finally:
        Growing.leave()


def _summary() -> str:
    counts = ", ".join(f"{n} {kind}" for kind, n in Growing.counts.most_common())
    return f"{counts}; {time.process_time():.0f} s of CPU"


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for name in [name for name in os.environ if name.startswith("GSUM_")]:
        del os.environ[name]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--steps", type=int, default=15, help="steps of an example")
    parser.add_argument(
        "--by-hand", action="store_true", help="without Dagster: ten times the steps"
    )
    parser.add_argument("--verbose", action="store_true", help="tell each step as it is done")
    given = parser.parse_args()
    with without_records():
        sys.exit(main(given.minutes, given.seed, given.steps, given.by_hand, given.verbose))
