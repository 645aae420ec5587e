"""Savings and costs of reflection and refinement: tokens and ROUGE against plain retrieval.

Run as `python -m benchmarks.gae refinement`; GSUM_DATASETS names the folder of datasets. Answers
are those of the extractive model; every step is the pipeline's own.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any, cast

import numpy as np
import pyarrow as pa

from benchmarks import Measurement
from benchmarks.gae.corpora import LANGUAGE, corpus, index
from benchmarks.results import COMPARED, compared
from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.corpus.embed import embed_questions, vector_column
from gsum_assets.corpus.prompts import PROMPTS_FOLDER, prompt_text
from gsum_assets.corpus.settings import CorpusSettings
from gsum_assets.evaluation.answer import answer_questions
from gsum_assets.evaluation.answer_steps import answer_steps
from gsum_assets.evaluation.score import score_answers
from gsum_assets.families import PROMPTS
from gsum_assets.gae.method import METHOD as GAE
from gsum_assets.gae.rank import Tables
from gsum_assets.gae.settings import GaeSettings
from gsum_assets.gae.variants import VARIANTS
from gsum_assets.method import Inputs, run
from gsum_assets.retrieval.collection import Collection
from gsum_assets.retrieval.contexts import top_contexts
from gsum_assets.retrieval.hybrid import hybrid
from gsum_assets.retrieval.ranking import rank_questions
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.embedder import LocalEmbedder
from gsum_resources.llm.extractive import ExtractiveModel
from gsum_resources.protocols import Embedder, LanguageModel, OnReply, Reply, Request
from gsum_resources.warehouse_io import Lazy

N_QUESTIONS = 40
METRICS = ("rouge1", "rouge2", "rougeL")
CONTROL = "hybrid, not refined"
K = GaeSettings().contexts.k


class _Remembering:
    """A model that sends equal requests once, as the pipeline's memo does."""

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
    """Default settings, and the prompts that are built in."""

    def section(self, _: str, name: str) -> Any:
        if name.startswith(f"{PROMPTS_FOLDER}."):
            family, prompt = name.split(".")[1:]
            return prompt_text(PROMPTS, family, prompt, [], LANGUAGE)
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
    """Return the tables of the family, and the first `n` questions of a split."""
    here = corpus(name).collection
    questions = [q for q in corpus(name).queries if q.split == split][:n]
    assert here.embeddings is not None
    rows = [{**asdict(q), "relevant_chunk_ids": []} for q in questions]
    queries = pa.Table.from_pylist(rows, TABLES["queries"].schema)
    return {
        "documents": pa.table({"document_id": here.document_ids, "text": here.document_texts}),
        "chunks": _chunks(here),
        "chunk_embeddings": pa.table(
            {"chunk_id": here.chunk_ids, "embedding": vector_column(here.embeddings)}
        ),
        "queries": queries,
        "query_embeddings": embed_questions(queries, _EMBEDDER),
        **tables._asdict(),
    }


def _contexts_of(variant: str, tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """Every table that the steps of a method make."""
    print(variant, file=sys.stderr, flush=True)
    read = {name: Lazy.of(one) for name, one in {**tables, "language_model": _MODEL}.items()}
    inputs = Inputs({**read, "corpus_settings": _Sections()}, "", variant)
    return {**tables, **run((*GAE.retrieval_steps, *answer_steps(GAE)), inputs)}


_EMBEDDER = cast(Embedder, LocalEmbedder())
_MODEL = _Remembering(ExtractiveModel(_EMBEDDER, cache_size=200_000))


def _control(tables: Mapping[str, pa.Table]) -> dict[str, pa.Table]:
    """As many passages of `hybrid`, and answers written from them as they are."""
    here = corpus("story")
    positions = {query_id: i for i, query_id in enumerate(here.questions.ids)}
    questions = here.questions.take(
        [positions[i] for i in tables["queries"]["query_id"].to_pylist()]
    )
    rankings = rank_questions(hybrid, questions, here.collection)
    contexts = top_contexts(rankings, tables["chunks"], K)
    max_words = CorpusSettings().answer.max_words
    answers = answer_questions(tables["queries"], contexts, _MODEL, max_words)
    pieces = pa.array([n_word_pieces(text) for text in contexts["text"].to_pylist()])
    read = pa.table({"tokens_before": pieces, "tokens_after": pieces})
    return {
        **tables,
        "rankings": rankings,
        "refined_contexts": read,
        "summaries": answers.rows,
    }


def measure() -> Iterator[Measurement]:
    """Tokens and scores of the method, its ablations and plain retrieval.

    Raises
    ------
    MissingDataError
        If ODSum-Story is not there.
    """
    tables = _tables("story", index("story", GaeSettings()), "dev", N_QUESTIONS)
    n = tables["queries"].num_rows
    by_variant = {
        CONTROL: _control(tables),
        **{name: _contexts_of(name, tables) for name in VARIANTS},
    }
    size = f"The first {n} questions of ODSum-Story dev, the extractive model, K = {K}. "
    yield Measurement(
        "gae: word pieces into the summarizer, and calls",
        size + "Means of a question: word pieces of the passages found, and of what the answer was "
        "written from; calls of all steps.",
        ["method", "found", "given", "calls"],
        [[name, *_spent(found, n)] for name, found in by_variant.items()],
    )
    scores = {name: _scores(found) for name, found in by_variant.items()}
    for metric in METRICS:
        values = {name: _of(rows, metric).tolist() for name, rows in scores.items()}
        yield Measurement(
            f"gae: {metric} beside plain retrieval",
            size + f"Percent; paired with as many passages of `{CONTROL}`; p adjusted (Holm).",
            ["method", *COMPARED],
            compared(values, CONTROL),
        )


def _spent(found: Mapping[str, pa.Table], n: int) -> list[str]:
    refined = found["refined_contexts"]
    return [
        *(f"{pc.sum(refined[c]).as_py() / n:,.0f}" for c in ("tokens_before", "tokens_after")),
        f"{pc.sum(found['summaries']['calls']).as_py() / n:.1f}",
    ]


def _scores(found: Mapping[str, pa.Table]) -> pa.Table:
    return score_answers(found["queries"], found["summaries"], found["rankings"], [1], None)


def _of(scores: pa.Table, metric: str) -> np.ndarray:
    """Values of a metric in the order of the questions' ids."""
    rows = scores.filter(pc.equal(scores["metric"], metric)).sort_by("query_id")
    return rows["value"].to_numpy()
