"""Requests and input tokens of an index of GraphRAG: gsum beside the `graphrag` package.

    GSUM_DATASETS=../shared/datasets GSUM_MS_GRAPHRAG_PYTHON=DIR/bin/python \\
        python -m benchmarks.extraction [--stories 3]

Stories of SQuALITY dev. Both sides talk to one scripted server, which tells them the same entities
and relationships of a passage, found by rules: names, and pairs of them in a sentence. It counts
one token for four bytes of messages and schema. Gleanings of the package are sent for every
passage; those of gsum where rules find names that the reply lacks, so the server also leaves out
every third name of first replies, which gleanings then list. The package needs an environment of
its own: python3.11 -m venv DIR && DIR/bin/pip install graphrag==3.3.0
"""

import gzip
import json
import os
import re
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from benchmarks import Measurement, MissingDataError, required
from benchmarks.growing.measured import Usage, run_measured
from benchmarks.results import parser_of, publish
from gsum_assets.corpus.chunk import n_word_pieces
from gsum_resources.text.entities import proper_names
from gsum_resources.text.sentences import read_sentences
from tests.servers.replies import tokens_of, wanted_schema
from tests.servers.scripted import scripted_server

VARIABLE = "GSUM_MS_GRAPHRAG_PYTHON"
STAGES = ("extraction", "gleaning", "merging", "reports")
_CORPUS = "stories"
_MOST_PAIRS = 30
_PACKAGE_TEXT = re.compile(r"-Real Data-\n#+\nEntity_types: .*\nText: (.*)\n#+\nOutput:", re.DOTALL)
_OWN_TEXT = re.compile(r"^\[1\][^\n]*\n(.*?)(?:\n\nThese entities (?:and pairs )?of|\Z)", re.DOTALL)


class Spent(NamedTuple):
    """Requests and input tokens of one side, by stage."""

    requests: Counter[str]
    tokens: Counter[str]


class Server:
    """Replies to either client, and what they cost.

    Parameters
    ----------
    leaves_out : whether first replies lack every third name, by a hash.
    """

    def __init__(self, leaves_out: bool) -> None:
        self._leaves_out = leaves_out
        self.spent = Spent(Counter(), Counter())

    def says(self, body: dict) -> str:
        """Return the reply to a request, and count it."""
        messages = [message["content"] for message in body["messages"]]
        stage, reply = self._reply(messages, wanted_schema(body) or {})
        self.spent.requests[stage] += 1
        form = body.get("response_format")
        texts = [*messages, *([json.dumps(form)] if form else [])]
        self.spent.tokens[stage] += sum(map(tokens_of, texts))
        return reply

    def _reply(self, messages: Sequence[str], schema: dict) -> tuple[str, str]:
        if passage := _PACKAGE_TEXT.search(messages[0]):
            is_gleaning = len(messages) > 1
            stage = "gleaning" if is_gleaning else "extraction"
            return stage, _tuples(*self._graph(passage[1], is_gleaning))
        fields = schema.get("properties", {})
        if "findings" in fields:
            return "reports", _report(messages, "references" in json.dumps(schema))
        if "entities" in fields:
            passage = _OWN_TEXT.search(messages[1])
            assert passage, messages[1][:200]
            is_gleaning = "are listed already:" in messages[1]
            stage = "gleaning" if is_gleaning else "extraction"
            return stage, _json(*self._graph(passage[1], is_gleaning))
        return "merging", f"{_mark(messages)} is told of in several passages."

    def _graph(
        self, text: str, is_gleaning: bool
    ) -> tuple[dict[str, str], list[tuple[str, str, str]]]:
        """Return descriptions by name, and pairs of names with the sentence that has both."""
        sentences = read_sentences([text])
        where = proper_names(sentences)
        missed = {name for name in where if self._leaves_out and zlib.crc32(name.encode()) % 3 == 0}
        names = {name for name in where if (name in missed) is is_gleaning}
        described = {name: sentences[where[name][0]].text for name in where if name in names}
        pairs = [
            (source, target, sentences[min(shared)].text)
            for source, target in combinations(where, 2)
            if (shared := {*where[source]} & {*where[target]})
            and ({source, target} <= names or (is_gleaning and {source, target} & names))
        ]
        return described, pairs[:_MOST_PAIRS]


def run_package(folder: Path, texts: dict[str, str], size: int, overlap: int, base: str) -> Usage:
    """Index `texts` by file name with the package's standard method.

    Parameters
    ----------
    size, overlap : of its chunks, in tokens of cl100k_base.
    base : address of the server.
    """
    (folder / "input").mkdir(parents=True)
    for name, text in texts.items():
        (folder / "input" / f"{name}.txt").write_text(text)
    served = {"model_provider": "openai", "api_base": base, "api_key": "none"}
    settings = {
        "completion_models": {"default_completion_model": {**served, "model": "gpt-4.1"}},
        "embedding_models": {
            "default_embedding_model": {**served, "model": "text-embedding-3-large"}
        },
        "input": {"type": "text"},
        "chunking": {
            **{"type": "tokens", "size": size, "overlap": overlap},
            "encoding_model": "cl100k_base",
        },
        "vector_store": {"type": "lancedb", "db_uri": "output/lancedb", "vector_size": 8},
    }
    (folder / "settings.yaml").write_text(json.dumps(settings))  # JSON is YAML
    command = [os.environ[VARIABLE], "-m", "graphrag", "index", "--root", str(folder)]
    # its validation sends two requests; the prices of litellm would come from the network
    command += ["--method", "standard", "--skip-validation"]
    environment = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    return run_measured(command, environment, folder, folder / "output.log")


def run_gsum(folder: Path, texts: dict[str, str], settings: str, base: str) -> Usage:
    """Index `texts` by document with gsum, in the home `folder`."""
    corpus = folder / "corpora" / _CORPUS
    corpus.mkdir(parents=True)
    for name, text in texts.items():
        (corpus / f"{name}.txt").write_text(text)
    (corpus / "corpus.toml").write_text(f"methods = []\n{settings}")
    model = (
        f'[llm]\nbackend = "openai_compatible"\nmodel = "m"\napi_key_env = ""\nbase_url = "{base}"'
    )
    (folder / "gsum.toml").write_text(model)
    command = [sys.executable, "-m", "gsum_assets.cli.main", "run", _CORPUS]
    environment = {name: "" for name in os.environ if name.startswith("GSUM_")}
    environment |= {"GSUM_HOME": str(folder), "DAGSTER_HOME": str(folder / "dagster")}
    command += ["--methods", "graphrag-c0"]
    return run_measured(command, environment, Path.cwd(), folder / "output.log")


def stories(number: int) -> dict[str, str]:
    """Return the first stories of SQuALITY dev."""
    with gzip.open(required("squality", "dev.jsonl.gz"), "rt") as file:
        rows = [json.loads(line) for line in file]
    return {f"story-{n:02d}": row["document"] for n, row in enumerate(rows[:number])}


def measure(number: int) -> Iterator[Measurement]:
    """A table for complete first replies, and one for replies that lack every third name."""
    if not Path(os.environ.get(VARIABLE, "")).is_file():
        raise MissingDataError(
            f"needs the graphrag package in an environment that {VARIABLE} names"
        )
    texts = stories(number)
    n_tokens = sum(n_word_pieces(list(texts.values())))
    sides = {
        "graphrag 3.3.0, chunks of 1,200": lambda *at: run_package(at[0], texts, 1200, 100, at[1]),
        "graphrag 3.3.0, chunks of 256": lambda *at: run_package(at[0], texts, 256, 32, at[1]),
        "gsum": lambda *at: run_gsum(at[0], texts, "", at[1]),
        "gsum, each chunk alone": lambda *at: run_gsum(
            at[0], texts, "[graphrag.extraction]\npassage_tokens = 0", at[1]
        ),
    }
    for leaves_out in (False, True):
        rows = []
        for name, side in sides.items():
            server = Server(leaves_out)
            with (
                tempfile.TemporaryDirectory() as root,
                scripted_server(Path(root, "log"), says=server.says) as running,
            ):
                used = side(Path(root, "side"), running.base_url)
            rows += list(_rows(name, server.spent, used.cpu_s, n_tokens))
        what = "lack every third name" if leaves_out else "are complete"
        yield Measurement(
            f"GraphRAG: requests and input tokens of an index whose first replies {what}",
            f"{number} stories of SQuALITY dev, {n_tokens:,} word pieces; per million of these. A "
            "scripted server gives both sides the names and pairs that rules find in a passage; a "
            "token is four bytes of messages and schema. One gleaning, no claims. Processor "
            "seconds are of the whole run, its start included, and not per million; they are the "
            "time without the model, which answers at once.",
            ["side", "", *STAGES, "all"],
            rows,
        )


def _rows(name: str, spent: Spent, cpu_s: float, n_tokens: int) -> Iterator[list[str]]:
    scale = 1e6 / n_tokens
    for what, counts, unit in (
        ("requests", spent.requests, scale),
        ("input tokens, millions", spent.tokens, scale / 1e6),
    ):
        form = "{:,.0f}" if what == "requests" else "{:.2f}"
        cells = [form.format(unit * counts[stage]) for stage in STAGES]
        yield [name, what, *cells, form.format(unit * counts.total())]
    yield [name, "processor seconds", *[""] * len(STAGES), f"{cpu_s:.1f}"]


def _json(described: dict[str, str], pairs: Sequence[tuple[str, str, str]]) -> str:
    keys = ("source", "target", "description")
    entities = [{"name": n, "type": "person", "description": d} for n, d in described.items()]
    return json.dumps(
        {"entities": entities, "relationships": [dict(zip(keys, p, strict=True)) for p in pairs]}
    )


def _tuples(described: dict[str, str], pairs: Sequence[tuple[str, str, str]]) -> str:
    rows = [('"entity"', name, "PERSON", text) for name, text in described.items()]
    rows += [('"relationship"', *pair, "5") for pair in pairs]
    plain = [[re.sub(r"[()<>|#]", " ", cell) for cell in row] for row in rows]
    return "##\n" + "\n##\n".join(f"({'<|>'.join(row)})" for row in plain)


def _report(messages: Sequence[str], cites: bool) -> str:
    finding = {"summary": "They act together.", "explanation": "They are named together."}
    report = {
        "title": _mark(messages),
        "summary": f"{_mark(messages)} holds together by what its members did.",
        "rating": 5,
        "rating_explanation": "It matters as much as others.",
        "findings": [finding | ({"references": [1]} if cites else {})] * 5,
    }
    return json.dumps(report)


def _mark(messages: Sequence[str]) -> str:
    """Return a name that differs from prompt to prompt, so that no two texts are the same."""
    return f"Group {zlib.crc32(' '.join(messages).encode()):08x}"


def main() -> None:
    """Print the tables."""
    parser = parser_of(__doc__, "python -m benchmarks.extraction")
    parser.add_argument("--stories", type=int, default=3, help="number of stories")
    chosen = parser.parse_args()
    publish("extraction", list(measure(chosen.stories)), chosen.store)


if __name__ == "__main__":
    main()
