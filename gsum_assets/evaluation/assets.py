"""The four assets that every family of methods gives."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.settings import checked_section
from gsum_assets.evaluation.bertscore_f1 import PackageScorer, bertscore_f1
from gsum_assets.evaluation.comparisons import as_table
from gsum_assets.evaluation.family import Family, Inputs, Step
from gsum_assets.evaluation.score import BertScorer, ScoreSettings, score_answers
from gsum_assets.partitions import corpora, corpus_variants, to_corpus
from gsum_assets.plots.main_metrics import main_means
from gsum_assets.plots.score_spread import score_spread
from gsum_assets.presentation import plot_of
from gsum_assets.result import Result
from gsum_assets.tables import TABLES, table_of
from gsum_resources.memo import Memo
from gsum_resources.parquet_store import version_of
from gsum_resources.progress import reporter
from gsum_resources.warehouse_io import LAZY, WarehouseIO, as_tables, partition_of, step_of

INDEX = "index"
"""Name of the asset that stands for a family's index."""


def family_assets(family: Family) -> list[dg.AssetsDefinition]:
    """`index`, `rankings`, `contexts`, `summaries` and `scores` of a family."""
    index_tables = [table_of(dep.asset_key.path).name for dep in _index_deps(family)]
    index = {
        INDEX: dg.AssetIn(
            [family.name, INDEX], partition_mapping=to_corpus, metadata=as_tables(index_tables)
        )
    }
    index |= {n: dg.AssetIn([family.name, n], metadata=LAZY) for n in family.reads_by_variant}
    index["query_embeddings"] = dg.AssetIn(
        "query_embeddings", partition_mapping=to_corpus, metadata=LAZY
    )
    shared = {
        "queries": dg.AssetIn("queries", partition_mapping=to_corpus, metadata=LAZY),
        "corpus_settings": dg.AssetIn("corpus_settings", partition_mapping=to_corpus),
    }
    steps = (*family.retrieval_steps, *family.answer_steps, _scores(family))

    def asset_of(i: int, step: Step) -> dg.AssetsDefinition:
        before = {n.table: dg.AssetIn([family.name, n.table], metadata=LAZY) for n in steps[:i]}
        models = {name: dg.AssetIn(name) for name in step.models}
        read = {**shared, **before, **models, **(index if step.reads_index else {})}
        return _result_asset(family, step, read)

    assets = [asset_of(i, step) for i, step in enumerate(steps)]
    return [_index_asset(family, index_tables), *assets]


def _scores(family: Family) -> Step:
    return Step(
        "scores",
        _scorer(family),
        "The answer against its references: ROUGE, BERTScore, token F1, accuracy. The ranking: "
        "P, R, F1, nDCG and MRR by documents, and by passages where the source marks them. "
        "What the answer was written from: P, R, F1 and tokens.",
        models=(*family.models, "language_model"),
        pool=None,
        code_version="5",
    )


def _scorer(family: Family) -> Callable[[str, Inputs], Result]:
    def make(variant: str, inputs: Inputs) -> Result:
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
        return Result(pa.concat_tables(points))

    return make


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
    family: Family, step: Step, inputs: Mapping[str, dg.AssetIn]
) -> dg.AssetsDefinition:
    @dg.asset(
        name=step.table,
        key_prefix=family.name,
        partitions_def=corpus_variants(family.variants),
        ins=dict(inputs),
        group_name=family.name,
        pool=step.pool,
        required_resource_keys={"io_manager"},
        code_version=step.code_version,
        description=step.purpose,
    )
    def result(context: dg.AssetExecutionContext, **read: Any) -> pa.Table:
        partition = partition_of(context.partition_key)
        tables = {**read.pop(INDEX, {}), **read}
        variant, inputs = partition.method or "", Inputs(tables, partition.corpus)
        made = step.make(variant, family.questions(variant, inputs))
        for problem in made.problems:
            context.log.warning(problem)
        return made.rows

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
