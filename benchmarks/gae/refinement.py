"""What reflection and refinement save and cost: tokens, ROUGE-2 and BERTScore of every ablation.

Run as `python -m benchmarks.gae.refinement`; GSUM_DATASETS names the folder of datasets. Answers
are those of the extractive model; every step is the pipeline's own.
"""

import argparse
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.bertscore import DictMemo
from benchmarks.gae.corpora import LANGUAGE, corpus, index
from gsum.statistics import compare, intervals
from gsum_assets.corpus.embed import vector_column
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.evaluation.bertscore_f1 import bertscore_f1
from gsum_assets.evaluation.family import Inputs, answered
from gsum_assets.evaluation.score import ScoreSettings, score_answers
from gsum_assets.gae.family import GAE
from gsum_assets.gae.rank import Tables
from gsum_assets.gae.settings import GaeSettings
from gsum_assets.gae.variants import VARIANTS
from gsum_assets.retrieval.collection import Collection
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import Embedder, LanguageModel, OnReply, Reply, Request
from gsum_resources.token_embeddings import LocalTokenEmbedder, RecentTokenEmbedder
from gsum_resources.warehouse_io import Lazy

N_MEETING_QUERIES = 50
METRICS = ("rouge2", "bertscore_f1")
K = GaeSettings().contexts.k


class _Remembering:
    """A model that is asked the same once, as the pipeline's memo has it."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = model
        self._known: dict[Request, Reply] = {}
        self.identity = model.identity

    def complete(self, requests: Sequence[Request], on_reply: OnReply | None = None) -> list[Reply]:
        """One result for each request, in order."""
        new = list(dict.fromkeys(request for request in requests if request not in self._known))
        self._known.update(zip(new, self._model.complete(new, on_reply), strict=True))
        return [self._known[request] for request in requests]


class _Sections:
    """Default settings."""

    def section(self, _: str, name: str) -> Any:
        if name == "language":
            return LANGUAGE
        if name == "answer":
            return CorpusSettings().answer.model_dump()
        return getattr(GaeSettings(), name.removeprefix("gae.")).model_dump()


def _chunks(collection: Collection) -> pa.Table:
    lengths = np.diff(collection.starts)
    return pa.table(
        {
            "chunk_id": collection.chunk_ids,
            "document_id": np.repeat(np.array(collection.document_ids, object), lengths),
            "position": pa.array(np.concatenate([np.arange(n) for n in lengths]), pa.int32()),
            "text": collection.chunk_texts,
        }
    )


def _tables(name: str, tables: Tables, split: str, n: int | None) -> dict[str, pa.Table]:
    """What the family reads, and the first `n` questions of a split."""
    here = corpus(name).collection
    asked = [q for q in corpus(name).asked if q.split == split][:n]
    assert here.embeddings is not None
    return {
        "documents": pa.table({"document_id": here.document_ids, "text": here.document_texts}),
        "chunks": _chunks(here),
        "chunk_embeddings": pa.table(
            {"chunk_id": here.chunk_ids, "embedding": vector_column(here.embeddings)}
        ),
        "queries": pa.Table.from_pylist(
            [{**asdict(q), "relevant_chunk_ids": []} for q in asked], TABLES["queries"].schema
        ),
        **tables._asdict(),
    }


def _made(variant: str, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Every table that the steps of a method make."""
    print(variant, file=sys.stderr, flush=True)
    found = dict(tables)
    models = {"embedding_model": _EMBEDDER, "language_model": _MODEL}

    def inputs() -> Inputs:
        lazy = {name: Lazy(lambda one=one: one) for name, one in {**found, **models}.items()}
        return Inputs({**lazy, "corpus_settings": _Sections()}, "")

    found["rankings"] = GAE.rank(variant, inputs())
    found["contexts"] = GAE.contexts(variant, inputs())
    for step in GAE.refinements:
        found[step.table] = step.make(variant, inputs()).rows
    found["summaries"] = answered(GAE, inputs()).rows
    return found


_EMBEDDER = cast(Embedder, LocalEmbedder())
_MODEL = _Remembering(ExtractiveModel(_EMBEDDER, cache_size=200_000))


def measure() -> Measurement:
    """Tokens and scores of the method and its ablations, on stories of dev and on 50 meetings.

    Raises
    ------
    MissingDataError
        If ODSum is not there.
    """
    rows = []
    for name, n in (("story", None), ("meeting", N_MEETING_QUERIES)):
        tables = _tables(name, index(name, GaeSettings()), "dev", n)
        rows += _rows(name, tables)
    return Measurement(
        "gae: tokens into the summarizer, ROUGE-2 and BERTScore of the ablations",
        f"All questions of ODSum-Story dev, the first {N_MEETING_QUERIES} of ODSum-Meeting; the "
        f"extractive model, K = {K}. Passages: word pieces found, and given to the summarizer; "
        "calls of all steps a question. Percent with 95% bootstrap intervals; the last column is "
        "the paired difference of ROUGE-2 from gae.",
        [
            "questions",
            "method",
            "tokens found",
            "tokens given",
            "calls",
            "rouge2",
            "bertscore",
            "rouge2 - gae's",
        ],
        rows,
    )


def _rows(name: str, tables: Mapping[str, pa.Table]) -> Iterator[list[str]]:
    token_embedder = RecentTokenEmbedder(LocalTokenEmbedder(ScoreSettings().bertscore_model))
    baseline: np.ndarray | None = None
    n = tables["queries"].num_rows
    for variant in VARIANTS:
        found = _made(variant, tables)
        scores = score_answers(
            found["queries"],
            found["summaries"],
            found["rankings"],
            [1],
            lambda answers: bertscore_f1(answers, token_embedder, DictMemo()),
        )
        values = {metric: _of(scores, metric) for metric in METRICS}
        baseline = values["rouge2"] if baseline is None else baseline
        difference = compare(values["rouge2"], baseline)
        refined = found["refined_contexts"]
        yield [
            f"{name}, {n}",
            variant,
            *(f"{pc.sum(refined[c]).as_py() / n:,.0f}" for c in ("tokens_before", "tokens_after")),
            f"{pc.sum(found['summaries']['calls']).as_py() / n:.1f}",
            *(
                _interval(values[metric].mean(), *intervals(values[metric])[0])
                for metric in METRICS
            ),
            "" if variant == "gae" else _interval(*difference[:3]),
        ]


def _of(scores: pa.Table, metric: str) -> np.ndarray:
    """Values of a metric in the order of the questions' ids."""
    rows = scores.filter(pc.equal(scores["metric"], metric)).sort_by("query_id")
    return rows["value"].to_numpy()


def _interval(mean: float, low: float, high: float) -> str:
    return f"{100 * mean:.2f} [{100 * low:.2f}, {100 * high:.2f}]"


def main() -> None:
    """Print the table."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    measure().show()


if __name__ == "__main__":
    main()
