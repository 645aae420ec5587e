"""Step for leaderboard, comparisons and costs over all methods of a corpus."""

from collections.abc import Iterator, Sequence
from functools import partial

import pyarrow as pa

from gsum_assets.evaluation.comparisons import comparisons, groups
from gsum_assets.evaluation.costs import costs, shared_assets
from gsum_assets.evaluation.judges.bias import own_judge_note
from gsum_assets.evaluation.judges.ratings import rating_scores
from gsum_assets.evaluation.leaderboard import leaderboard, ranked_by_kind, to_markdown
from gsum_assets.pipeline.family import Family
from gsum_assets.pipeline.result import Markdown, Result
from gsum_assets.pipeline.step import Inputs, Step
from gsum_assets.plots import figure
from gsum_assets.plots.quality_cost import quality_cost
from gsum_resources.store.appended import LEDGERS

_FOR_COSTS = ("documents", *LEDGERS)  # of the documents only the number
_PURPOSE = {
    "leaderboard": "Scores of all requested methods: the mean over the questions with its 95% "
    "interval, and whether it differs significantly from the best.",
    "comparisons": "Every difference of two methods over the same questions, by sign-flip "
    "permutation tests.",
    "costs": "Language model calls, tokens, seconds and money, separately for index and questions.",
}


def uniting(families: Sequence[Family]) -> Step:
    """Return the step of `leaderboard`, `comparisons` and `costs` over all methods."""
    scores = [f"{family.name}/scores" for family in families]
    answers = [f"{family.name}/summaries" for family in families]
    return Step(
        partial(_united, scores=scores, answers=answers),
        _PURPOSE,
        ("queries", "judgements", *scores, *answers, *_FOR_COSTS),
        pool=None,
        code_version="4",
        optional=_FOR_COSTS,
        aggregates_methods=True,
    )


def _united(inputs: Inputs, scores: Sequence[str], answers: Sequence[str]) -> Result:
    corpus, store, queries = inputs.corpus, inputs.warehouse, inputs.table("queries")
    judgements = inputs.table("judgements")
    scored = pa.concat_tables(map(inputs.table, scores))
    values = scored.select(["method", "query_id", "metric", "value"])
    note = None
    if judgements.num_rows:
        rated = rating_scores(judgements)
        values = pa.concat_tables([values, rated], promote_options="default")
        note = own_judge_note(judgements)
    grouped = groups(queries, values)
    compared = comparisons(grouped)
    rows = scored.select(["method", "query_id", "latency_s"]).to_pylist()
    seconds = {(row["method"], row["query_id"]): row["latency_s"] for row in rows}
    board = leaderboard(grouped, compared, seconds)
    summaries = pa.concat_tables(map(inputs.table, answers))
    spent = costs(
        summaries,
        seconds,
        inputs.table("llm_calls"),
        inputs.table("embedding_calls"),
        {m: shared_assets(store, corpus, m) for m in set(summaries["method"].to_pylist())},
        # a document may be added without a change of scores, but the costs have the number
        inputs.count("documents"),
    )
    return Result(
        board,
        beside={"comparisons": compared, "costs": spent},
        shown=lambda: {"leaderboard": dict(_shown(corpus, board, spent, note))},
    )


def _shown(
    corpus: str, board: pa.Table, spent: pa.Table, note: str | None
) -> Iterator[tuple[str, Markdown]]:
    """Yield the table, then the plot of each kind of question whose costs are known, by label."""
    yield "leaderboard", Markdown("\n".join(filter(None, [to_markdown(board, costs=spent), note])))
    for kind, methods in ranked_by_kind(board).items():
        title = f"{corpus}, all splits: {kind} questions"
        if plot := quality_cost(methods, spent.to_pylist(), title):
            alt = f"quality against cost of {kind} questions"
            yield f"quality_and_cost_{kind}", Markdown(figure.to_markdown(plot, alt))
