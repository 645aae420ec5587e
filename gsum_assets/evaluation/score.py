"""Scores of answers and rankings, one row per question and metric."""

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain

import numpy as np
import pyarrow as pa
from pydantic import Field, field_validator

from gsum_assets.corpus.chunk import n_word_pieces
from gsum_assets.evaluation.bertscore_f1 import LocalBertScorer, bertscore_f1
from gsum_assets.evaluation.retrieval_metrics import reading_rows, retrieval_metrics
from gsum_assets.evaluation.rouge import rouge
from gsum_assets.evaluation.short_answers import exact_match, is_right, token_f1
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_assets.pipeline.family import Family, Read
from gsum_assets.pipeline.result import Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.plots.main_metrics import main_means
from gsum_resources.settings.table import SettingsTable
from gsum_resources.store.arrow import pc

Row = tuple[str, str, float]  # query id, metric, value
BertScorer = Callable[[Sequence[tuple[str, Sequence[str]]]], np.ndarray]
"""Function from answers with their references to BERTScore F1, `(n_answers,)`."""


class ScoreSettings(SettingsTable):
    """Table `[scores]` of `corpus.toml`: what is measured."""

    cut_offs: list[int] = Field(
        default=[1, 3, 6, 8, 10],
        description="K of P, R, F1 and nDCG at K; the papers': gor 6, gae 3, 8, 10, lightpal 10",
    )
    bertscore: bool = Field(default=True, description="whether BERTScore is computed")
    bertscore_model: str = Field(
        default="packaged",
        description="model whose token vectors BERTScore compares: packaged, a path or a hub id",
    )
    bertscore_layer: int | None = Field(
        default=None, ge=1, description="layer of the model, `num_layers`; unset: the last"
    )

    @field_validator("cut_offs")
    @classmethod
    def _are_ranks(cls, cut_offs: list[int]) -> list[int]:
        if not cut_offs or min(cut_offs) < 1:
            raise ValueError("give at least one cut-off, each at least 1")
        return sorted(set(cut_offs))


@dataclass(frozen=True)
class _Answer:
    """An answer to a question with references; the text is empty if there is no answer."""

    query_id: str
    text: str
    references: Sequence[str]
    form: str
    options: Sequence[str]


def score_answers(
    queries: pa.Table,
    summaries: pa.Table,
    rankings: pa.Table,
    cut_offs: Sequence[int],
    bertscorer: BertScorer | None = None,
    read: Read | None = None,
    sources: pa.Table | None = None,
) -> pa.Table:
    """Return rows of the table `scores`.

    Answers to questions with references are scored by the form of the question (a summary by ROUGE
    and BERTScore, a short answer also by token F1 and exact match, a choice by accuracy), averaged
    over the samples of the answer. A question without an answer scores 0, so that abstaining raises
    no mean; `coverage` is the fraction of answered questions, including answers that the documents
    do not say. Rankings are scored by documents if the question is on the whole corpus, and by
    passages if the source marks them. For the texts that answers were written from see
    `reading_rows`.
    """
    questions = {row["query_id"]: row for row in queries.to_pylist()}
    answers = list(_answers(questions, summaries))
    of_samples = chain(
        _answer_rows(answers),
        _bertscore_rows(answers, bertscorer),
        reading_rows(questions, read, n_word_pieces) if read else (),
        _evidence_rows(questions, sources) if sources else (),
        _retrieval_rows(questions, rankings, cut_offs),
    )
    values: dict[tuple[str, str], list[float]] = defaultdict(list)
    for query_id, metric, value in of_samples:
        values[query_id, metric].append(value)
    rows = sorted((*key, sum(of_key) / len(of_key)) for key, of_key in values.items())
    best = rankings.filter(pc.equal(rankings["rank"], 1))
    seconds = dict(zip(best["query_id"].to_pylist(), best["latency_s"].to_pylist(), strict=True))
    for row in summaries.select(["query_id", "latency_s"]).to_pylist():
        seconds[row["query_id"]] = seconds.get(row["query_id"], 0.0) + row["latency_s"]
    return pa.table(
        [
            [query_id for query_id, _, _ in rows],
            [metric for _, metric, _ in rows],
            [value for _, _, value in rows],
            [seconds.get(query_id, 0.0) for query_id, _, _ in rows],
        ],
        schema=TABLES["scores"].schema,
    )


def _answers(questions: Mapping[str, dict], summaries: pa.Table) -> Iterator[_Answer]:
    texts: dict[str, list[str]] = defaultdict(list)
    for row in summaries.select(["query_id", "text"]).to_pylist():
        texts[row["query_id"]].append(row["text"].strip())
    for query_id, question in questions.items():
        if question["references"]:
            of_question = question["references"], question["form"], question["options"]
            for text in texts.get(query_id, [""]):
                yield _Answer(query_id, text, *of_question)


def _answer_rows(answers: Sequence[_Answer]) -> Iterator[Row]:
    for answer in answers:
        yield answer.query_id, "coverage", float(bool(answer.text))
        if answer.form == "choice":
            right = is_right(answer.text, answer.options, answer.references)
            yield answer.query_id, "accuracy", right
            continue
        for metric, value in rouge(answer.text, answer.references).items():
            yield answer.query_id, metric, value
        if answer.form == "short":
            yield answer.query_id, "token_f1", token_f1(answer.text, answer.references)
            yield answer.query_id, "exact_match", exact_match(answer.text, answer.references)


def _bertscore_rows(answers: Sequence[_Answer], scorer: BertScorer | None) -> Iterator[Row]:
    if scorer is None:
        return
    prose = [answer for answer in answers if answer.form != "choice"]
    yield from ((answer.query_id, "bertscore_f1", 0.0) for answer in prose if not answer.text)
    measured = [answer for answer in prose if answer.text]
    if not measured:
        return
    values = scorer([(answer.text, answer.references) for answer in measured])
    for answer, value in zip(measured, values, strict=True):
        # slightly negative for dissimilar texts
        yield answer.query_id, "bertscore_f1", max(0.0, float(value))


def _evidence_rows(questions: Mapping[str, dict], sources: pa.Table) -> Iterator[Row]:
    """Yield the share of each answer's sentences that are from passages with marked evidence."""
    is_evidence: dict[tuple[str, int], dict[int, bool]] = defaultdict(dict)
    for row in sources.select(["query_id", "sample", "sentence", "chunk_id"]).to_pylist():
        if relevant := questions[row["query_id"]]["relevant_chunk_ids"]:
            answer = is_evidence[row["query_id"], row["sample"]]
            found = row["chunk_id"] in relevant
            answer[row["sentence"]] = answer.get(row["sentence"], False) or found
    for (query_id, _), of_sentence in is_evidence.items():
        yield query_id, "answer_p", sum(of_sentence.values()) / len(of_sentence)


def _retrieval_rows(
    questions: Mapping[str, dict], rankings: pa.Table, cut_offs: Sequence[int]
) -> Iterator[Row]:
    ranked: dict[tuple[str, str], list[tuple[int, str]]] = defaultdict(list)
    for row in rankings.select(["query_id", "level", "rank", "item_id"]).to_pylist():
        ranked[row["level"], row["query_id"]].append((row["rank"], row["item_id"]))
    for (level, query_id), items in ranked.items():
        question = questions.get(query_id)
        if question is None:
            continue
        if level == "node":
            relevant, prefix = question["relevant_chunk_ids"], "chunk_"
        elif question["document_id"] is None:
            relevant, prefix = question["relevant_document_ids"], ""
        else:
            continue
        metrics = retrieval_metrics([item for _, item in sorted(items)], relevant, cut_offs)
        for metric, value in (metrics or {}).items():
            yield query_id, f"{prefix}{metric}", value


def scores_step(family: Family) -> Step:
    """Return the step that scores all answers."""
    return Step(
        partial(_scored, family=family),
        {
            "scores": "The answer against its references: ROUGE, BERTScore, token F1, accuracy "
            "(ROUGE and token F1 by words, of scripts without blanks by characters). The ranking: "
            "P, R, F1, nDCG and MRR by documents, and by passages if the source marks them. The "
            "texts that the answer was written from: P, R, F1 and tokens. Its sentences: the share "
            "from marked evidence."
        },
        family.read_by_questions,
        pool=None,
        code_version="9",
    )


def _scored(inputs: Inputs, family: Family) -> Result:
    settings = checked_section(ScoreSettings, "scores", inputs.settings("scores"))
    bertscorer = None
    if settings.bertscore:
        scorer = _pair_scorer(settings.bertscore_model, settings.bertscore_layer)
        bertscorer = partial(
            bertscore_f1,
            scorer=scorer,
            memo=inputs.memo("bertscore", scorer.identity),
            on_progress=inputs.progress("answers compared with their references"),
        )

    scores = score_answers(
        inputs.table("queries"),
        inputs.table("summaries"),
        inputs.table("rankings"),
        settings.cut_offs,
        bertscorer,
        family.texts_read(inputs),
        inputs.table("answer_sources"),
    )
    # means as numbers, which the UI plots over partitions and time
    return Result(scores, shown=lambda: {"scores": main_means(scores)})


_pair_scorer = lru_cache(maxsize=2)(LocalBertScorer)  # loads the model once for all methods
