"""Judgements of the answers of all methods, win rates, and what the UI shows of them."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from gsum_assets.evaluation.judges.judge import judge_answers
from gsum_assets.evaluation.judges.own_judge import own_judge_note
from gsum_assets.evaluation.judges.position_bias import position_bias
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.win_rates import to_markdown, win_rates
from gsum_assets.pipeline.result import Markdown, Picture, Result, Shown
from gsum_assets.pipeline.step import Inputs
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.plots.position_bias import position_bias as draw_position_bias
from gsum_assets.plots.win_rate_matrix import win_rate_matrix
from gsum_resources.protocols.models import LanguageModel
from gsum_resources.store.arrow import pc
from gsum_resources.text.vocabulary import n_words


def judgements_and_win_rates(
    inputs: Inputs,
    answers: Sequence[str],
    read: Sequence[str],
    model: LanguageModel,
    settings: JudgesSettings,
) -> Result:
    """Return the rows of `judgements` with those of `win_rates` beside them.

    Parameters
    ----------
    answers, read : tables of answers, and of what they were written from, in `inputs`.
    """
    summaries = of_methods(map(inputs.table, answers), "summaries", settings.methods)
    judged = judge_answers(
        inputs.table("queries"),
        summaries,
        of_methods(map(inputs.table, read), "contexts", settings.methods),
        model,
        settings,
        inputs.prompts("judges"),
        inputs.table("assertions"),
    )
    rates = win_rates(judged.rows, _n_words(summaries))
    shown = partial(_shown, inputs.corpus, judged.rows, rates)
    return Result(judged.rows, judged.failures, {"win_rates": rates}, shown)


def _n_words(summaries: pa.Table) -> dict[tuple[str, str], float]:
    """Return the mean words of the samples of each answer, by method and query id."""
    words: dict[tuple[str, str], list[int]] = defaultdict(list)
    for row in summaries.select(["method", "query_id", "text"]).to_pylist():
        words[row["method"], row["query_id"]].append(n_words(row["text"]))
    return {answer: sum(counts) / len(counts) for answer, counts in words.items()}


def of_methods(results: Iterable[pa.Table], table: str, methods: Sequence[str]) -> pa.Table:
    """Return the rows of some methods from the results of each family.

    Of refined contexts only the columns of `contexts` are kept.
    """
    columns = [*TABLES[table].schema.names, "method"]
    tables = [rows.select(columns) for rows in results]
    united = pa.concat_tables(tables, promote_options="default")  # nullability may differ
    return united.filter(pc.is_in(united["method"], value_set=pa.array(list(methods))))


def _shown(corpus: str, judgements: pa.Table, rates: pa.Table) -> Mapping[str, Shown]:
    """Return the metadata of each table."""
    note = own_judge_note(judgements)
    warning = {"own_judge": note} if note else {}
    matrix = Picture(win_rate_matrix(rates, corpus, None), "win rates") if rates.num_rows else None
    unparsed = pc.sum(pc.equal(judgements["verdict"], "unparsed")).as_py() or 0
    shown: dict[str, Any] = {"unparsed": unparsed}
    if (share := pc.mean(judgements["share_shown"]).as_py()) is not None:
        shown["share_of_passages_shown"] = share
    if (bias := position_bias(judgements)).num_rows:
        plot = Picture(draw_position_bias(bias, corpus), "position bias of the judge")
        shown = {"plot": plot, **shown}
    return {
        "judgements": {**shown, **warning},
        "win_rates": {
            **({"plot": matrix} if matrix else {}),
            "overall": Markdown(to_markdown(rates)),
            **warning,
        },
    }
