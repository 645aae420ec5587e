"""The four assets that every family of methods gives."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.settings import checked_section
from gsum_assets.evaluation.bertscore_f1 import PackageScorer, bertscore_f1
from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.evaluation.family import Family, Inputs, ModelStep, Step, answered
from gsum_assets.evaluation.score import BertScorer, ScoreSettings, score_answers
from gsum_assets.partitions import corpora, corpus_variants, to_corpus
from gsum_assets.plots.main_metrics import main_means
from gsum_assets.plots.score_spread import score_spread
from gsum_assets.presentation import plot_of
from gsum_assets.tables import TABLES, table_of
from gsum_resources.memo import Memo
from gsum_resources.parquet_store import version_of
from gsum_resources.progress import reporter
from gsum_resources.warehouse_io import LAZY, WarehouseIO, as_tables, partition_of, step_of

INDEX = "index"
"""Name of the asset that stands for a family's index."""

_POOLS = {"rankings": "compute", "contexts": None, "scores": None}  # see `dagster.yaml`
_VERSIONS = {"rankings": "2", "summaries": "3", "scores": "5", "partial_answers": "3"}
_VERSIONS |= dict.fromkeys(("keywords", "look_ups", "topics", "reflections"), "2")
_VERSIONS |= {"refined_contexts": "2"}


def family_assets(family: Family) -> list[dg.AssetsDefinition]:
    """`index`, `rankings`, `contexts`, `summaries` and `scores` of a family."""
    index_tables = [table_of(dep.asset_key.path).name for dep in _index_deps(family)]
    index = {
        INDEX: dg.AssetIn(
            [family.name, INDEX], partition_mapping=to_corpus, metadata=as_tables(index_tables)
        )
    }
    index |= {n: dg.AssetIn([family.name, n], metadata=LAZY) for n in family.reads_by_variant}
    shared = {
        "queries": dg.AssetIn("queries", partition_mapping=to_corpus, metadata=LAZY),
        "corpus_settings": dg.AssetIn("corpus_settings", partition_mapping=to_corpus),
    }

    def made(table: str, step: Step, purpose: str, inputs: Mapping) -> dg.AssetsDefinition:
        return _result_asset(family, table, step, purpose, {**inputs, **shared})

    prepared = [step.table for step in family.preparations]
    refined = [step.table for step in family.refinements]
    mine = {
        n: dg.AssetIn([family.name, n], metadata=LAZY)
        for n in (*prepared, "rankings", "contexts", *refined, "summaries")
    }
    language_model = {"language_model": dg.AssetIn("language_model")}
    before_ranking = index | {n: mine[n] for n in prepared}

    def index_of(step: ModelStep) -> dict[str, dg.AssetIn]:
        return index if step.reads_index else {}

    return [
        _index_asset(family, index_tables),
        *(
            made(
                step.table,
                _logged(step),
                step.purpose,
                index_of(step) | {n: mine[n] for n in prepared[:i]} | language_model,
            )
            for i, step in enumerate(family.preparations)
        ),
        made(
            "rankings",
            family.rank,
            "What the method finds, best first.",
            before_ranking | {n: dg.AssetIn(n) for n in family.models},
        ),
        made(
            "contexts",
            family.contexts,
            "All that the answer may rest on, in the order in which the model reads it.",
            before_ranking
            | {"rankings": mine["rankings"]}
            | {n: dg.AssetIn(n) for n in family.context_models},
        ),
        *(
            made(
                step.table,
                _logged(step),
                step.purpose,
                index_of(step)
                | {n: mine[n] for n in (*prepared, "contexts", *refined[:i])}
                | language_model,
            )
            for i, step in enumerate(family.refinements)
        ),
        made(
            "summaries",
            _answerer(family),
            "The answer, and what it cost in calls, tokens and seconds.",
            {n: mine[n] for n in (*prepared, "contexts", *refined)} | language_model,
        ),
        made(
            "scores",
            _scorer(family),
            "The answer against its references: ROUGE, BERTScore, token F1, accuracy. The ranking: "
            "P, R, F1, nDCG and MRR by documents, and by passages where the source marks them. "
            "What the answer was written from: P, R, F1 and tokens.",
            before_ranking
            | {n: mine[n] for n in ("rankings", "contexts", *refined, "summaries")}
            | {n: dg.AssetIn(n) for n in (*family.models, *family.context_models)}
            | language_model,
        ),
    ]


def _logged(model_step: ModelStep) -> Step:
    def step(variant: str, inputs: Inputs) -> pa.Table:
        return _warned(*model_step.make(variant, inputs))

    return step


def _answerer(family: Family) -> Step:
    def step(_: str, inputs: Inputs) -> pa.Table:
        return _warned(*answered(family, inputs))

    return step


def _warned(rows: pa.Table, problems: Sequence[str]) -> pa.Table:
    log = dg.AssetExecutionContext.get().log
    for problem in problems:
        log.warning(problem)
    return rows


def _scorer(family: Family) -> Step:
    def step(variant: str, inputs: Inputs) -> pa.Table:
        settings = checked_section(ScoreSettings, "scores", inputs.settings("scores"))
        bertscorer = _bertscorer(settings) if settings.bertscore else None
        log = dg.AssetExecutionContext.get().log

        def scores_of(there: Inputs, k: int | None) -> pa.Table:
            return score_answers(
                there.table("queries"),
                there.table("summaries"),
                there.table("rankings"),
                settings.cut_offs,
                bertscorer,
                family.texts_read(variant, there),
                k,
            )

        scores = scores_of(inputs, None)
        points = [scores]
        for k in family.sweep(variant, inputs):
            log.info(f"answers from {k} passages each")
            points.append(scores_of(family.made_with(variant, inputs, k), k))
        title = f"{inputs.corpus}, {variant}"
        plot = plot_of(scores, lambda: score_spread(scores, title), "spread of the scores")
        # the means as numbers: the UI draws those over partitions and time
        dg.AssetExecutionContext.get().add_asset_metadata({**plot, **main_means(scores)})
        return pa.concat_tables(points)

    return step


def _bertscorer(settings: ScoreSettings) -> BertScorer:
    context = dg.AssetExecutionContext.get()
    scorer = _pair_scorer(settings.bertscore_model, settings.bertscore_layer)
    memo = Memo(context.resources.io_manager.store, "bertscore", scorer.identity)
    asset = context.asset_key.to_user_string()
    told = reporter(f"{asset}: answers compared with their references", context.log.info)
    return lambda answered: bertscore_f1(answered, scorer, memo, told)


@lru_cache(maxsize=2)  # methods come one after the other: the model is loaded once
def _pair_scorer(model: str, layer: int | None) -> PackageScorer:
    return PackageScorer(model, layer)


def _result_asset(
    family: Family, table: str, step: Step, purpose: str, inputs: Mapping[str, dg.AssetIn]
) -> dg.AssetsDefinition:
    @dg.asset(
        name=table,
        key_prefix=family.name,
        partitions_def=corpus_variants(family.variants),
        ins=dict(inputs),
        group_name=family.name,
        pool=_POOLS.get(table, "llm"),
        required_resource_keys={"io_manager"},
        code_version=_VERSIONS.get(table, "1"),
        description=purpose,
    )
    def result(context: dg.AssetExecutionContext, **read: Any) -> pa.Table:
        partition = partition_of(context.partition_key)
        tables = {**read.pop(INDEX, {}), **read}
        variant, inputs = partition.method or "", Inputs(tables, partition.corpus)
        return step(variant, family.questions(variant, inputs))

    return result


def _index_deps(family: Family) -> list[dg.AssetDep]:
    """The assets whose tables are the index of a family."""
    own = [dg.AssetDep([family.name, name]) for name in family.reads_by_corpus]
    by_document = [
        dg.AssetDep(path.split("/"), partition_mapping=to_corpus) for path in family.reads
    ]
    return by_document + own


def _index_asset(family: Family, tables: Sequence[str]) -> dg.AssetsDefinition:
    """One node for the index in the lineage graph, between its tables and the steps of a question.

    The steps read the tables and record those that they read: a new row of `index` puts nothing
    out of date.
    """

    @dg.asset(
        name=INDEX,
        key_prefix=family.name,
        partitions_def=corpora,
        deps=_index_deps(family),
        group_name=family.name,
        required_resource_keys={"io_manager"},
        code_version="1",
        description="Stands for all tables that the answers to questions are found in: each "
        "method reads some of them.",
    )
    def index(context: dg.AssetExecutionContext) -> pa.Table:
        warehouse: WarehouseIO = context.resources.io_manager
        rows = []
        for name in tables:
            footers = warehouse.footers(step_of(context), TABLES[name], context.partition_key)
            version = version_of({p: footer.content_hash for p, footer in footers.items()})
            rows.append((name, sum(footer.rows for footer in footers.values()), version))
        return as_table(f"{family.name}.{INDEX}", rows)

    return index
