"""Estimates of `gsum plan` compared with a server's counts, for both sample corpora.

    python -m benchmarks.growing plan [METHOD ...]

A home for each sample: planned and run as a whole, then with one document edited. The server
replies as the extractive model does over the packaged embedder, and with a word more, another for
each prompt: a real model does not say the same to two prompts, while the extractive one often does.
It counts a token for four bytes. All methods take half an hour on two cores.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple
from unittest import mock

import tomlkit

from benchmarks import Measurement
from benchmarks.results import parser_of, publish
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.planning.plan import plan
from gsum_assets.registry.families import METHODS
from gsum_assets.runner.run import pipeline_for, refresh
from gsum_resources.dagster_io.instance import open_instance
from gsum_resources.models.by_work import Models
from gsum_resources.settings.home import Home
from gsum_resources.settings.schema import Settings
from gsum_resources.store.content_hash import hash_texts
from gsum_resources.store.parquet_store import ParquetStore
from tests.servers.extractive import extractive_says
from tests.servers.replies import tokens_of
from tests.servers.scripted import Says, scripted_server

SAMPLES = Path(__file__).parents[2] / "data" / "corpora"
EDITED = {"sample-meetings": "07-the-hatch.txt", "sample-stories": "06-eleven-minutes.md"}
_LETTERS = str.maketrans("0123456789", "ghijklmnop")  # digits might be read as a reference
_PARAGRAPH = (
    "\n\nMarit: One more thing before we close. The county wants the rear hatch inspected again in "
    "September, and Ines will be aboard when they come.\n\nBram: I'll bring the keys.\n"
)
_SETTINGS = {
    "scores": {"bertscore": False},
    "jerr": {"chunking": {"ablations": [600, 1000, 4000]}},
    "gor": {"training": {"epochs": 2}},
    "gae": {"training": {"epochs": 2}},
}
_SERVED = """\
[llm]
backend = "openai_compatible"
model = "served"
api_key_env = ""
base_url = "{base_url}"
"""


class Usage(NamedTuple):
    """Calls of a language model, and tokens."""

    calls: int = 0
    tokens_in: int = 0
    tokens_out: int = 0


class Compared(NamedTuple):
    """A plan and the run that followed it."""

    corpus: str
    what: str
    planned: Usage
    used: Usage


def differing(says: Says) -> Says:
    """The same, with a last word that hangs on the prompt; JSON as it is."""

    def differs(body: dict) -> str:
        text = says(body)
        if body.get("response_format"):
            return text
        digest = hash_texts(message["content"] for message in body["messages"])
        return f"{text} {digest[:4].translate(_LETTERS)}"

    return differs


class Counting:
    """Counts the replies of a server."""

    def __init__(self, says: Says) -> None:
        self._says = says
        self.usage = Usage()

    def __call__(self, body: dict) -> str:
        text = self._says(body)
        tokens_in = sum(tokens_of(message["content"]) for message in body["messages"])
        calls, before_in, before_out = self.usage
        self.usage = Usage(calls + 1, before_in + tokens_in, before_out + tokens_of(text))
        return text

    def taken(self) -> Usage:
        """Return and reset the usage since the last call."""
        taken, self.usage = self.usage, Usage()
        return taken


def main(arguments: Sequence[str]) -> None:
    """Print the table, of all methods unless some are named."""
    parser = parser_of(__doc__, "python -m benchmarks.growing plan")
    parser.add_argument("methods", nargs="*", choices=METHODS.known, help="all unless named")
    chosen = parser.parse_args(arguments)
    publish("growing-plan", measure(chosen.methods or METHODS.known), chosen.store)


def measure(methods: Sequence[str]) -> Measurement:
    """One row for a whole sample corpus, and one for an edit of it."""
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        embedder = Models(Settings(), ParquetStore(str(root / "served")), TABLES["llm_calls"])
        server = Counting(differing(extractive_says(embedder.embedder)))
        with scripted_server(root / "requests.jsonl", server) as running:
            rows = []
            for corpus in EDITED:
                home = Home(root / corpus, str(root / corpus / "warehouse"))
                for one in _of_corpus(home, corpus, methods, running.base_url, server):
                    print(one, file=sys.stderr, flush=True)  # all of it takes a while
                    rows.append(one)
    return Measurement(
        "gsum plan beside what a server then counted",
        "Planned over used; calls, tokens in, tokens out.",
        ["corpus", "", *_header("calls"), *_header("tokens in"), *_header("tokens out")],
        [[one.corpus, one.what, *_cells(one)] for one in rows],
    )


def _of_corpus(
    home: Home, corpus: str, methods: Sequence[str], base_url: str, server: Counting
) -> Iterator[Compared]:
    folder = home.corpora / corpus
    shutil.copytree(SAMPLES / corpus, folder)
    settings = tomlkit.parse((folder / "corpus.toml").read_text())
    (folder / "corpus.toml").write_text(
        tomlkit.dumps({**settings, "methods": list(methods), **_SETTINGS})
    )
    (home.root / "gsum.toml").write_text(_SERVED.format(base_url=base_url))
    foreign = {name: "" for name in os.environ if name.startswith(("GSUM_", "DAGSTER_"))}
    with mock.patch.dict(os.environ, foreign):
        yield _compared(home, corpus, "all", server)
        edited = folder / EDITED[corpus]
        edited.write_text(edited.read_text() + _PARAGRAPH)
        yield _compared(home, corpus, "an edit", server)


def _compared(home: Home, corpus: str, what: str, server: Counting) -> Compared:
    total = plan(home, corpus).total()
    pipeline = pipeline_for(home, presented=False)
    with open_instance(home) as instance:
        report = refresh(pipeline, instance, corpus)
    if not report.is_complete:
        raise RuntimeError(f"{corpus}, {what}: {report.errors or report.gaps}")
    return Compared(corpus, what, Usage(total.n, total.tokens_in, total.tokens_out), server.taken())


def _header(unit: str) -> list[str]:
    return [f"{unit}: planned", "used", "ratio"]


def _cells(one: Compared) -> Iterator[str]:
    for planned, used in zip(one.planned, one.used, strict=True):
        yield from (f"{planned:,}", f"{used:,}", f"{planned / used:.2f}" if used else "")
