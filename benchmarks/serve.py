"""Latency and throughput of `gsum serve` over HTTP, on a home that has indexes.

    GSUM_HOME=… python -m benchmarks.serve CORPUS --methods bm25,evidence

A process of its own serves the home. Each question differs from all others, so that no stored reply
answers it; `--warm` of them are asked before the measurement, in which sentences of passages get
the vectors that later questions use again.

`--generated` serves a home of `python -m benchmarks.serve_home` with the embedder of its vectors.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from http.client import HTTPConnection
from urllib.parse import urlsplit

import psutil

_ABOUT = ("budget", "design", "schedule", "people", "costs", "problem", "plan", "team", "price")
_FORMS = (
    "What was said about the {0} and the {1} of part {2}?",
    "Who decided on the {0} of part {2}, and why?",
    "How did the {0} change after the {1} of part {2}?",
    "Why was the {0} discussed with part {2}?",
    "When was the {1} of the {0} settled in part {2}?",
)


def questions(seed: str) -> Iterator[str]:
    """Yield distinct questions."""
    for i in range(1_000_000):
        words = _ABOUT[i % 9], _ABOUT[(i // 9 + i + 1) % 9]
        yield _FORMS[i % 5].format(*words, f"{seed}-{i}")


def serve_generated() -> None:
    """Serve a generated home until the process is ended."""
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as `gsum serve`
    from benchmarks.serve_home import models_of
    from gsum_assets.serve.access import access_for
    from gsum_assets.serve.app import new_app
    from gsum_assets.serve.limits import Limits
    from gsum_assets.serve.server import Server, address_of, listening_at
    from gsum_assets.serve.service import Service
    from gsum_resources.settings.home import Home

    home = Home.from_environment()
    service = Service.over(home, models_of(home, home.open_store()))
    with listening_at("127.0.0.1", 0) as listening:
        app, address = (
            new_app(service, access_for("127.0.0.1", {})),
            address_of(*listening.getsockname()[:2]),
        )
        Server(app, Limits(), lambda: print(f"{address} answers", flush=True)).run([listening])


@contextmanager
def served(is_generated: bool) -> Iterator[tuple[str, psutil.Process, float]]:
    """Yield the address of a service, its process, and when it was started."""
    started = time.perf_counter()
    command = [sys.executable, "-m", "gsum_assets.cli.main", "serve", "--port", "0"]
    if is_generated:
        command = [sys.executable, "-c", f"from {__spec__.name} import serve_generated as s; s()"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            match = re.search(r"http://\S+", process.stdout.readline())
            if match is None:
                raise SystemExit("the service did not start")
            yield match[0], psutil.Process(process.pid), started
        finally:
            process.terminate()


class Client:
    """One connection that is kept."""

    def __init__(self, address: str, corpus: str) -> None:
        place = urlsplit(address)
        self._connection = HTTPConnection(place.hostname or "", place.port, timeout=120)
        self._corpus = corpus
        self.n_refused = 0

    def ask(self, method: str, question: str) -> float:
        """Return the seconds until an answer has arrived."""
        body = json.dumps({"corpus": self._corpus, "question": question, "method": method})
        began = time.perf_counter()
        self._connection.request("POST", "/api/ask", body, {"Content-Type": "application/json"})
        reply = self._connection.getresponse()
        content = reply.read()
        seconds = time.perf_counter() - began
        if reply.status != 200:
            raise RuntimeError(f"{method}: {reply.status} {content[:300]!r}")
        self.n_refused += json.loads(content)["is_refusal"]
        return seconds


def generated_questions(address: str) -> Iterator[str]:
    """Return questions on the documents of a generated home."""
    from benchmarks.serve_home import questions_on

    with urllib.request.urlopen(f"{address}/api/corpora", timeout=120) as reply:
        (corpus,) = json.load(reply)["corpora"]
    return questions_on(corpus["n_documents"], os.getpid())


def shown(seconds: Sequence[float]) -> str:
    """Return median, 99th percentile and largest, in milliseconds."""
    ordered = sorted(seconds)
    p99 = ordered[min(len(ordered) - 1, int(0.99 * len(ordered)))]
    median = statistics.median(ordered)
    return f"median {median * 1e3:.0f} ms, p99 {p99 * 1e3:.0f} ms, most {ordered[-1] * 1e3:.0f} ms"


def cpu_s(process: psutil.Process) -> float:
    """Return the seconds of CPU that a process has used."""
    times = process.cpu_times()
    return times.user + times.system


def memory(process: psutil.Process) -> str:
    """Return the memory of a process, and what of it are mapped files."""
    used = process.memory_info()
    return f"{used.rss / 2**20:.0f} MiB, of which mapped files {used.shared / 2**20:.0f} MiB"


def many(
    new: Callable[[], Client], asked: Iterator[str], method: str, n_clients: int, for_s: float
) -> str:
    """Return what clients that ask at the same time experience."""
    until, errors = time.monotonic() + for_s, []
    lock = threading.Lock()

    def run(_: int) -> list[float]:
        client, times = new(), []
        while time.monotonic() < until:
            with lock:
                question = next(asked)
            try:
                times.append(client.ask(method, question))
            except (OSError, RuntimeError) as error:
                errors.append(error)
                client = new()
        return times

    with ThreadPoolExecutor(n_clients) as pool:
        times = [t for of_client in pool.map(run, range(n_clients)) for t in of_client]
    rate = len(times) / for_s
    return f"{len(times)} answers, {len(errors)} errors, {rate:.1f} a second; {shown(times)}"


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus")
    parser.add_argument("--methods", default="bm25")
    parser.add_argument("--warm", type=int, default=60, help="questions before the measurement")
    parser.add_argument("--questions", type=int, default=200)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--generated", action="store_true", help="the home has vectors of words")
    parser.add_argument("--seconds", type=float, default=60, help="of many clients; 0: none")
    arguments = parser.parse_args()
    methods = arguments.methods.split(",")
    with served(arguments.generated) as (address, process, started):
        asked = questions(f"{os.getpid()}")
        if arguments.generated:
            asked = generated_questions(address)
        client = Client(address, arguments.corpus)
        client.ask(methods[0], next(asked))
        first_s = time.perf_counter() - started
        print(f"start to first answer: {first_s:.2f} s; memory then: {memory(process)}")
        for method in methods:
            first = [client.ask(method, next(asked)) for _ in range(arguments.warm)]
            before, client.n_refused = cpu_s(process), 0
            times = [client.ask(method, next(asked)) for _ in range(arguments.questions)]
            each = (cpu_s(process) - before) / len(times) * 1e3
            print(f"{method:16} first {arguments.warm}: {shown(first)}", flush=True)
            print(
                f"{'':16} then {arguments.questions}: {shown(times)}; CPU {each:.0f} ms each, "
                f"{client.n_refused} refused"
            )
        if arguments.seconds:
            new = partial(Client, address, arguments.corpus)
            told = many(new, asked, methods[0], arguments.clients, arguments.seconds)
            print(f"{arguments.clients} clients, {methods[0]}, {arguments.seconds:.0f} s: {told}")
        print(f"memory of the service: {memory(process)}")
        with urllib.request.urlopen(f"{address}/health", timeout=10) as reply:
            assert reply.status == 200


if __name__ == "__main__":
    main()
