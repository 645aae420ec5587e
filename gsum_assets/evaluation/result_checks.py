"""Checks of rankings, contexts, answers, scores and the leaderboard."""

from collections.abc import Callable

import pyarrow as pa

from gsum_assets.evaluation.attribution import Speakers, Verdict
from gsum_assets.pipeline.finding import Finding, count, found, together
from gsum_assets.plots.main_metrics import CONTEXT_TOKENS
from gsum_resources.store.arrow import pc, rows_at
from gsum_resources.text.speech import names_speaker

ROUNDING = 1e-9


def ranks_consecutive(rankings: pa.Table) -> Finding:
    """Check that the ranks of each question and level are 1, 2, 3, …"""
    groups = rankings.group_by(["query_id", "level"], use_threads=False).aggregate(
        [("rank", "min"), ("rank", "max"), ("rank", "count_distinct")]
    )
    complete = pc.and_(
        pc.equal(groups["rank_min"], 1), pc.equal(groups["rank_max"], groups["rank_count_distinct"])
    )
    wrong = groups.filter(pc.invert(complete)).rename_columns(
        ["query_id", "level", "first_rank", "last_rank", "n_ranks"]
    )
    checked = count(groups.num_rows, "ranking")
    return found(checked, wrong, "do not count up from 1; materialize rankings again")


def cite_what_exists(contexts: pa.Table, chunks: pa.Table) -> Finding:
    """Check that passages that are chunks exist, with the same text.

    Parameters
    ----------
    chunks : `chunk_id` and `text` of the whole corpus.
    """
    cited = contexts.filter(pc.equal(contexts["node_kind"], "chunk")).select(
        ["query_id", "rank", "node_id", "text"]
    )
    named = pc.is_in(chunks["chunk_id"], value_set=cited["node_id"].combine_chunks())
    chunks = chunks.filter(named)  # few of many
    index = pc.index_in(cited["node_id"], value_set=chunks["chunk_id"].combine_chunks())
    unknown, known = cited.filter(pc.is_null(index)), cited.filter(pc.is_valid(index))
    texts = rows_at(chunks.select(["text"]), pc.drop_null(index))["text"]
    other = known.filter(pc.not_equal(known["text"], texts))
    checked = count(cited.num_rows, "cited chunk")
    remedy = "materialize contexts again"
    return together(
        [
            found(checked, unknown.drop_columns("text"), f"do not exist; {remedy}"),
            found(checked, other.drop_columns("text"), f"have another text; {remedy}"),
        ]
    )


def every_question_answered(queries: pa.Table, summaries: pa.Table, corpus: str) -> Finding:
    """Check that each question has an answer."""
    answered = pc.is_in(queries["query_id"], value_set=summaries["query_id"].combine_chunks())
    open_ = queries.select(["query_id", "text"]).filter(pc.invert(answered))
    checked = count(queries.num_rows, "question")
    return found(checked, open_, f"have no answer; `gsum run {corpus}` answers them")


def speakers_are_right(summaries: pa.Table, documents: Callable[[], pa.Table]) -> Finding:
    """Check that no sentence of an answer is shown under the name of a speaker who did not say it.

    A sentence that a model has put in its own words is not judged.

    Parameters
    ----------
    documents : returns the `text` of each document; called if an answer names speakers.
    """
    answers = [row for row in summaries.to_pylist() if names_speaker(row["text"])]
    speakers = Speakers(documents()["text"].to_pylist() if answers else [])
    n_attributed, wrong = 0, []
    for row in answers:
        for sentence in speakers.shown(row["text"]):
            n_attributed += bool(sentence.labels)
            if speakers.verdict(sentence) == Verdict.WRONG:
                shown = {"speaker": sentence.labels[-1], "sentence": sentence.text}
                wrong.append({"query_id": row["query_id"], **shown})
    columns = {n: [row[n] for row in wrong] for n in ("query_id", "speaker", "sentence")}
    checked = count(
        n_attributed, "sentence under a speaker's name", "sentences under speakers' names"
    )
    return found(checked, pa.table(columns), "are said by others in the documents")


def in_range(scores: pa.Table) -> Finding:
    """Check that scores are finite and between 0 and 1, and tokens finite and not negative."""
    value = scores["value"]
    most = pc.if_else(pc.equal(scores["metric"], CONTEXT_TOKENS), float("inf"), 1 + ROUNDING)
    fine = pc.and_(pc.greater_equal(value, -ROUNDING), pc.less_equal(value, most))
    fine = pc.and_(fine, pc.is_finite(value))
    wrong = scores.select(["query_id", "metric", "value"]).filter(pc.invert(fine))
    return found(count(scores.num_rows, "score"), wrong, "are not between 0 and 1")


def mean_in_interval(leaderboard: pa.Table) -> Finding:
    """Check that the mean lies within its 95% interval."""
    return _in_interval(leaderboard, "mean", ["method"])


def difference_in_interval(comparisons: pa.Table) -> Finding:
    """Check that the mean difference of two methods lies within its 95% interval."""
    return _in_interval(comparisons, "difference", ["method", "opponent"])


def _in_interval(rows: pa.Table, name: str, of: list[str]) -> Finding:
    low, mean, high = (rows[column] for column in ("low", name, "high"))
    fine = pc.and_(
        pc.less_equal(low, pc.add(mean, ROUNDING)), pc.less_equal(mean, pc.add(high, ROUNDING))
    )
    wrong = rows.select([*of, "split", "kind", "metric", "low", name, "high"])
    wrong = wrong.filter(pc.invert(fine))
    checked = count(rows.num_rows, name)
    return found(checked, wrong, "lie outside their interval; materialize leaderboard again")
