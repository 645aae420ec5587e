"""Step that scores the answers of a family."""

from dataclasses import replace
from functools import lru_cache, partial

import pyarrow as pa

from gsum_assets.evaluation.answer_steps import with_k
from gsum_assets.evaluation.bertscore_f1 import PackageScorer, bertscore_f1
from gsum_assets.evaluation.score import ScoreSettings, score_answers
from gsum_assets.evaluation.statement_scores import statement_rows
from gsum_assets.evaluation.support import Support
from gsum_assets.pipeline.corpus_settings import checked_section
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Picture, Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.plots.main_metrics import main_means
from gsum_assets.plots.score_spread import score_spread


def scores_step(family: Family) -> Step:
    """Return the step that scores all answers, including those of a curve."""
    models = [n for step in family.retrieval_steps for n in step.reads if n == "passage_scorer"]
    named = dict.fromkeys([*family.read_by_questions, "query_embeddings", *models])
    return Step(
        partial(_scored, family=family),
        {
            "scores": "The answer against its references: ROUGE, BERTScore, token F1, accuracy "
            "(ROUGE and token F1 by words, of scripts without blanks by characters). The ranking: "
            "P, R, F1, nDCG and MRR by documents, and by passages if the source marks them. The "
            "texts that the answer was written from: P, R, F1 and tokens. Its sentences: the share "
            "from marked evidence; the assertions that it meets; its claims."
        },
        [*named, "assertions", "language_model", "embedding_model"],
        pool=None,
        costs=[replace(cost, times="retrieval.sweep") for cost in family.costs if family.k],
        code_version="8",
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

    assertions: dict[str, list[str]] = {}
    for row in inputs.table("assertions").to_pylist():
        assertions.setdefault(row["query_id"], []).append(row["text"])
    support = Support(lambda: inputs.model("embedding_model"))

    def scores_of(step_inputs: Inputs, k: int | None) -> pa.Table:
        return score_answers(
            step_inputs.table("queries"),
            step_inputs.table("summaries"),
            step_inputs.table("rankings"),
            settings.cut_offs,
            bertscorer,
            family.texts_read(step_inputs),
            k,
            step_inputs.table("answer_sources") if k is None else None,
            statement_rows(
                step_inputs.table("queries"),
                step_inputs.table("summaries"),
                assertions,
                support,
                settings.claims,
            ),
        )

    scores = scores_of(inputs, None)
    points = [scores]
    for k in family.sweep(inputs):
        inputs.log(f"answers from {k} passages each")
        points.append(scores_of(with_k(family, inputs, k), k))

    def shown() -> dict:
        plot = Picture(score_spread(scores, inputs.title), "spread of the scores")
        # means as numbers, which the UI plots over partitions and time
        return {"scores": {"plot": plot, **main_means(scores)} if scores.num_rows else {}}

    return Result(pa.concat_tables(points), shown=shown)


@lru_cache(maxsize=2)  # load the model once for all methods
def _pair_scorer(model: str, layer: int | None) -> PackageScorer:
    return PackageScorer(model, layer)
