"""Answers of the extractive default and of the packaged model, from equal contexts.

    python -m benchmarks.answers --home HOME [--corpora qmsum-val] [--methods dense,lightpal]

HOME has the corpora with the methods run by the embedded defaults. What a method chose to read
stays; its answers, of equal length, are written by each model. `python -m benchmarks.methods` shows
how to make such a home; the sample corpora are those of `make demo`. A control copies the first
words of the same contexts.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.results import COMPARED, compared, parser_of, publish
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.models import Models
from gsum_resources.parquet_store import ParquetStore
from gsum_resources.protocols import Completion, LanguageModel, OnReply, Reply, Request
from gsum_resources.settings import LlmSettings, Settings

BASELINE, PACKAGED, CONTROL = "extractive", "packaged", "first words"
METHODS = ("bm25", "dense", "lightpal", "gor-untrained")
WORDS = 130


class FirstWords:
    """A model that repeats the beginning of what it is given."""

    identity = CONTROL

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """The first `max_words` words of the passages of each request."""
        return [
            Completion(" ".join(" ".join(r.passages).split()[: r.max_words]), CONTROL, 0, 0, 0.0)
            for r in requests
        ]


class Watched:
    """A model whose replies are counted as they come."""

    def __init__(self, model: LanguageModel, name: str) -> None:
        self._model, self.identity = model, model.identity
        self._name = name
        self.window = getattr(model, "window", None)

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """As the model does."""
        done = 0

        def record(position: int, reply: Reply) -> None:
            nonlocal done
            done += 1
            print(f"{self._name}: {done} of {len(requests)}", file=sys.stderr, flush=True)

        return self._model.complete(requests, record)


def bare(store: ParquetStore, settings: Settings) -> LanguageModel:
    """The language model of settings, without memo and ledger."""
    models = Models(settings, store, TABLES["llm_calls"])
    return cast(LanguageModel, models.bare("language_model"))


def rows_of(store: ParquetStore, name: str, corpus: str, methods: Sequence[str] = ()) -> pa.Table:
    """Rows of a table of a corpus, of these methods where it has methods.

    Raises
    ------
    SystemExit
        If there is no such row.
    """
    table = TABLES[name]
    partitions = store.partitions(table, corpus)
    chosen = [partition for partition in partitions if not methods or partition.method in methods]
    if not chosen:
        raise SystemExit(
            f"corpus '{corpus}' has no {name}; run: gsum run {corpus} --methods {','.join(methods)}"
        )
    return store.read(table, chosen)[0]


def measure(
    store: ParquetStore,
    corpus: str,
    methods: Sequence[str],
    most: int,
    models: dict[str, LanguageModel],
) -> Measurement:
    """ROUGE-1 of each model's answers to the corpus's general questions, paired by question."""
    queries = rows_of(store, "queries", corpus)
    queries = queries.filter(pc.equal(queries["kind"], "general")).slice(0, most)
    references = {row["query_id"]: row["references"] for row in queries.to_pylist()}
    rows = []
    for method in methods:
        contexts = rows_of(store, "contexts", corpus, [method])
        scored = {}
        for name, model in models.items():
            answers = answer_questions(queries, contexts, model, WORDS).rows.to_pylist()
            written = {row["query_id"]: row["text"] for row in answers}
            scores = [rouge(written.get(q, ""), texts)["rouge1"] for q, texts in references.items()]
            words = np.mean([len(text.split()) for text in written.values()])
            scored[name] = (scores, len(written), words)
        cells = compared({name: scores for name, (scores, _, _) in scored.items()}, BASELINE)
        rows += [
            [method, *row, f"{scored[row[0]][1]}", f"{scored[row[0]][2]:.0f}"] for row in cells
        ]
    return Measurement(
        f"{corpus}, general questions, by who writes the answer",
        f"ROUGE-1 F1 in percent, {WORDS} words wanted, from equal contexts; 95% intervals; p of "
        f"sign-flip tests against {BASELINE}, adjusted for the models of a method (Holm).",
        ["contexts of", "answers by", *COMPARED, "answered", "words"],
        rows,
    )


def main() -> None:
    """Print a table a corpus."""
    parser = parser_of(__doc__)
    parser.add_argument("--home", type=Path, required=True)
    parser.add_argument("--corpora", nargs="+", default=["qmsum-val"])
    parser.add_argument("--methods", default=",".join(METHODS), help="separated by commas")
    parser.add_argument("--most", type=int, default=35, help="questions of a corpus")
    parser.add_argument("--name", default="answers", help="of the result file")
    chosen = parser.parse_args()
    store = ParquetStore(str(chosen.home / "warehouse"))
    packaged = bare(store, Settings(llm=LlmSettings(backend="packaged")))
    models = {
        BASELINE: bare(store, Settings()),
        CONTROL: FirstWords(),
        PACKAGED: Watched(packaged, PACKAGED),
    }
    methods = chosen.methods.split(",")
    tables = (measure(store, one, methods, chosen.most, models) for one in chosen.corpora)
    publish(chosen.name, tables, chosen.store)


if __name__ == "__main__":
    main()
