"""Leaderboard, comparisons and costs: what unites the results of all methods of a corpus."""

from collections.abc import Sequence

import dagster as dg
import pyarrow as pa

from gsum_assets.evaluation.comparisons import comparisons, groups
from gsum_assets.evaluation.costs import costs, shared_assets
from gsum_assets.evaluation.curves import curves, main_scores, of_kind
from gsum_assets.evaluation.family import Family
from gsum_assets.evaluation.judges.own_judge import own_judge_note
from gsum_assets.evaluation.judges.rating_scores import rating_scores
from gsum_assets.evaluation.leaderboard import leaderboard, ranked_by_kind, to_markdown
from gsum_assets.partitions import corpora, to_corpus
from gsum_assets.plots.method_ranking import method_ranking
from gsum_assets.plots.quality_cost import quality_cost, quality_read
from gsum_assets.presentation import picture, plot_of
from gsum_assets.tables import TABLES
from gsum_resources.appended import read_appended
from gsum_resources.warehouse_io import WarehouseIO, step_of

GROUP = "evaluation"
_PURPOSE = {
    "leaderboard": "Unites the scores of all methods that were asked for: the mean over the "
    "questions with its 95% interval, and whether it can be told from the best.",
    "curves": "The same with each number of passages to read, where `k` in [retrieval] is a list.",
    "comparisons": "Every difference of two methods over the same questions, by sign-flip "
    "permutation tests.",
    "costs": "Language model calls, tokens, seconds and money, for index and questions apart.",
}


def leaderboard_assets(families: Sequence[Family]) -> dg.AssetsDefinition:
    """`leaderboard`, `comparisons` and `costs` over all families; they unite whatever exists."""
    ins = {
        f"{family.name}_{table}": dg.AssetIn([family.name, table], partition_mapping=to_corpus)
        for family in families
        for table in ("scores", "summaries")
    }

    @dg.multi_asset(
        name="leaderboard",
        outs={
            name: dg.AssetOut(
                description=purpose, group_name=GROUP, code_version="4", is_required=False
            )
            for name, purpose in _PURPOSE.items()
        },
        can_subset=True,  # each can be asked for alone in the UI, though all are computed
        partitions_def=corpora,
        ins={
            "queries": dg.AssetIn("queries"),
            "judgements": dg.AssetIn("judgements"),
            **ins,
        },
        required_resource_keys={"io_manager"},
    )
    def unite(
        context: dg.AssetExecutionContext,
        queries: pa.Table,
        judgements: pa.Table,
        **results: pa.Table,
    ):
        corpus = context.partition_key
        scores = united(results, "scores")
        rated = rating_scores(judgements)
        measured = main_scores(scores).select(rated.column_names)
        values = pa.concat_tables([measured, rated], promote_options="default")
        grouped = groups(queries, values)
        compared = comparisons(grouped)
        seconds = _seconds(main_scores(scores))
        board = leaderboard(grouped, compared, seconds)
        warehouse: WarehouseIO = context.resources.io_manager
        store = warehouse.store
        # a document more or less may change no score, and yet stands in the costs
        n_documents = store.count(TABLES["documents"], corpus)
        key = f"rows:documents/corpus={corpus}"
        warehouse.reads.other(step_of(context), key, str(n_documents))
        summaries = united(results, "summaries")
        spent = costs(
            summaries,
            seconds,
            read_appended(store, TABLES["llm_calls"], corpus),
            read_appended(store, TABLES["embedding_calls"], corpus),
            {m: shared_assets(store, corpus, m) for m in set(summaries["method"].to_pylist())},
            n_documents,
        )
        curve = curves(queries, scores)
        made = {"leaderboard": board, "curves": curve, "comparisons": compared, "costs": spent}
        shown = _shown(corpus, board, curve, spent, own_judge_note(judgements))
        for name in sorted(context.op_execution_context.selected_output_names):
            yield dg.Output(made[name], name, metadata=shown.get(name))

    return unite


def united(results: dict[str, pa.Table], table: str) -> pa.Table:
    """One table of all families' results, `<family>_<table>` each."""
    return pa.concat_tables(rows for name, rows in results.items() if name.endswith(f"_{table}"))


def _seconds(scores: pa.Table) -> dict[tuple[str, str], float]:
    """From question to answer, by method and question."""
    columns = (scores[name].to_pylist() for name in ("method", "query_id", "latency_s"))
    return {(method, query_id): s for method, query_id, s in zip(*columns, strict=True)}


def _shown(
    corpus: str, board: pa.Table, curve: pa.Table, spent: pa.Table, note: str | None
) -> dict[str, dict[str, dg.MarkdownMetadataValue]]:
    """What there is to look at, by output."""
    title = f"{corpus}, all splits"
    ranked = ranked_by_kind(board)
    scatter = {
        f"quality_and_cost_{kind}": picture(
            quality_cost(methods, spent.to_pylist(), f"{title}: {kind} questions"),
            f"quality against cost of {kind} questions",
        )
        for kind, methods in ranked.items()
    }
    read = {
        f"quality_and_tokens_read_{kind}": picture(
            quality_read(methods, of_kind(curve, kind), f"{title}: {kind} questions"),
            f"quality against tokens read for {kind} questions",
        )
        for kind, methods in ranked.items()
    }
    bars = plot_of(board, lambda: method_ranking(ranked, title), "methods by score")
    table = dg.MetadataValue.md("\n".join(filter(None, [to_markdown(board), note])))
    return {
        "leaderboard": {**bars, "leaderboard": table, **read, **scatter},
        "curves": read if curve.num_rows else {},
        "costs": scatter,
    }
