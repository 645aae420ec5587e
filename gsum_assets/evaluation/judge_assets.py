"""Judgements of answers and what they add up to, and the questions that have no reference."""

from collections.abc import Mapping, Sequence
from typing import Any

import dagster as dg
import pyarrow as pa

from gsum_assets.corpus.prompts import prompts_of
from gsum_assets.corpus.settings import CorpusError, checked_section
from gsum_assets.evaluation.family import Family
from gsum_assets.evaluation.generate_questions import (
    QuestionsSettings,
    generate_questions,
    questions_skipped,
)
from gsum_assets.evaluation.judges.judge import judge_answers, judges_skipped
from gsum_assets.evaluation.judges.own_judge import own_judge_note
from gsum_assets.evaluation.judges.position_bias import position_bias
from gsum_assets.evaluation.judges.settings import JudgesSettings
from gsum_assets.evaluation.judges.win_rates import to_markdown, win_rates
from gsum_assets.partitions import corpora, to_corpus
from gsum_assets.plots.position_bias import position_bias as draw_position_bias
from gsum_assets.plots.win_rate_matrix import win_rate_matrix
from gsum_assets.presentation import plot_of
from gsum_assets.tables import TABLES
from gsum_resources.arrow import pc
from gsum_resources.settings_io import SettingsReader
from gsum_resources.suggest import did_you_mean
from gsum_resources.warehouse_io import LAZY, Lazy

GROUP = "evaluation"
_READ = "read"  # what answers are written from
_PURPOSE = {
    "judgements": "What a language model says of the answers: which of two is better, shown in "
    "both orders, and how well one does by itself. Asked for in [judges] of corpus.toml.",
    "win_rates": "How often a method wins against another, with its 95% interval.",
}


def judge_assets(families: Sequence[Family]) -> dg.AssetsDefinition:
    """`judgements` and `win_rates` over all families; they unite whatever exists."""
    ins = {
        f"{family.name}_{kind}": dg.AssetIn(
            [family.name, table], partition_mapping=to_corpus, metadata=LAZY
        )
        for family in families
        for kind, table in (("summaries", "summaries"), (_READ, family.answered_from))
    }
    known = [method for family in families for method in family.variants]

    @dg.multi_asset(
        name="judgements",
        outs={
            name: dg.AssetOut(
                description=purpose, group_name=GROUP, code_version="3", is_required=False
            )
            for name, purpose in _PURPOSE.items()
        },
        can_subset=True,  # each can be asked for alone in the UI, though both are computed
        partitions_def=corpora,
        ins={
            "queries": dg.AssetIn("queries", metadata=LAZY),
            "corpus_settings": dg.AssetIn("corpus_settings"),
            "judge_model": dg.AssetIn("judge_model"),
            **ins,
        },
        pool="llm",
    )
    def judge(
        context: dg.AssetExecutionContext,
        queries: Lazy,
        corpus_settings: SettingsReader,
        judge_model: Lazy,
        **results: Lazy,
    ):
        section = corpus_settings.section(context.partition_key, "judges")
        settings = checked_section(JudgesSettings, "judges", section)
        if strangers := sorted(set(settings.methods) - set(known)):
            nearest = did_you_mean(strangers[0], known)
            raise CorpusError(f"[judges] methods: unknown method '{strangers[0]}'{nearest}")
        model = judge_model.get() if settings.methods else None
        skipped = judges_skipped(settings, model.identity if model else "")
        rows = TABLES["judgements"].empty()
        if skipped is None and model is not None:
            found = judge_answers(
                queries.get(),
                _of_methods(results, "summaries", settings.methods),
                _of_methods(results, _READ, settings.methods),
                model,
                settings,
                prompts_of(corpus_settings, context.partition_key, "judges"),
            )
            for problem in found.problems:
                context.log.warning(problem)
            rows = found.rows
        made = {"judgements": rows, "win_rates": win_rates(rows)}
        key = "skipped" if settings.methods else "not_asked_for"
        for name in sorted(context.op_execution_context.selected_output_names):
            shown = {key: skipped} if skipped else _shown(name, context.partition_key, made)
            yield dg.Output(made[name], name, metadata=shown)

    return judge


def _of_methods(results: dict[str, Lazy], kind: str, methods: Sequence[str]) -> pa.Table:
    """The rows of some methods, from the families' inputs `<family>_<kind>`.

    Of refined contexts the columns of `contexts` are kept, which all families have.
    """
    shared = TABLES["contexts" if kind == _READ else "summaries"].schema.names
    columns = [*shared, "method"]
    found = [
        lazy.get().select(columns) for name, lazy in results.items() if name.endswith(f"_{kind}")
    ]
    rows = pa.concat_tables(found, promote_options="default")  # which columns may be null differs
    return rows.filter(pc.is_in(rows["method"], value_set=pa.array(list(methods))))


def _shown(name: str, corpus: str, made: Mapping[str, pa.Table]) -> dict[str, Any]:
    """What there is to look at with each output."""
    note = own_judge_note(made["judgements"])
    own = {"own_judge": note} if note else {}
    if name == "win_rates":
        return {
            **plot_of(made[name], lambda: win_rate_matrix(made[name], corpus, None), "win rates"),
            "overall": dg.MetadataValue.md(to_markdown(made[name])),
            **own,
        }
    rows = made[name]
    shown: dict[str, Any] = {"unparsed": pc.sum(pc.equal(rows["verdict"], "unparsed")).as_py() or 0}
    if (share := pc.mean(rows["share_shown"]).as_py()) is not None:
        shown["share_of_passages_shown"] = share
    bias = position_bias(rows)
    plot = plot_of(bias, lambda: draw_position_bias(bias, corpus), "position bias of the judge")
    return {**plot, **shown, **own}


@dg.asset(
    partitions_def=corpora,
    group_name=GROUP,
    pool="llm",
    code_version="2",
    ins={"corpus_settings": dg.AssetIn(), "language_model": dg.AssetIn()},
    description="Global questions that people of different interests would ask of the corpus as "
    "[questions] in corpus.toml describes it; they join `queries` as split 'generated'.",
)
def generated_questions(
    context: dg.AssetExecutionContext, corpus_settings: SettingsReader, language_model: Lazy
) -> pa.Table:
    section = corpus_settings.section(context.partition_key, "questions")
    settings = checked_section(QuestionsSettings, "questions", section)
    if not settings.n:
        return TABLES["generated_questions"].empty()
    model = language_model.get()
    if skipped := questions_skipped(model.identity):
        context.log.warning(skipped)
        context.add_asset_metadata({"skipped": skipped})
        return TABLES["generated_questions"].empty()
    prompts = prompts_of(corpus_settings, context.partition_key, "questions")
    found = generate_questions(settings, model, prompts)
    for problem in found.problems:
        context.log.warning(problem)
    return found.rows
