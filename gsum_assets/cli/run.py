"""The command `gsum run`."""

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from gsum_resources.settings.home import Home

if TYPE_CHECKING:
    from gsum_assets.cli.interrupts import Ending
    from gsum_assets.runner.run import Pipeline

_INTERRUPTED = "interrupted; finished tables are kept; `gsum run {}` continues"
_FOLLOWING = (
    "interrupted; the daemon goes on with what was requested; `gsum run {}` follows it again"
)


def listed(names: str) -> list[str]:
    """Return names that are separated by commas."""
    return [name.strip() for name in names.split(",") if name.strip()]


@click.command()
@click.argument("corpora", nargs=-1, metavar="CORPUS...")
@click.option(
    "--methods",
    help="Methods or families to keep up to date from now on, separated by commas; 'default', "
    "'all'. They are written to corpus.toml.  [default: those of corpus.toml]",
)
@click.option(
    "--k",
    type=click.IntRange(min=1),
    help="Number of passages to read for an answer; written to corpus.toml, so that later runs "
    "use it, too.",
)
@click.option(
    "--forget-methods",
    help="Methods that are no longer kept up to date, separated by commas: they leave corpus.toml, "
    "and their tables are removed first. Replies of models are kept.",
)
@click.option(
    "--retrain",
    is_flag=False,
    flag_value="all",
    metavar="[METHODS]",
    help="Train the networks of these methods again, separated by commas, or all networks of the "
    "corpus; new documents alone do not.",
)
@click.option(
    "--over-budget", is_flag=True, help="Let each CORPUS exceed [budget] of gsum.toml in this run."
)
def run(
    corpora: Sequence[str],
    methods: str | None,
    k: int | None,
    forget_methods: str | None,
    retrain: str | None,
    over_budget: bool,
) -> None:
    """Bring each CORPUS up to date: compute what is missing or out of date.

    The methods of corpus.toml are kept up to date, by every run and by the daemon.
    """
    from gsum_assets.cli.interrupts import ended_by_signals

    interrupted = _INTERRUPTED.format(" ".join(corpora))
    with ended_by_signals(interrupted) as ending:  # before modules are imported
        home = Home.from_environment()
        if not corpora:
            from gsum_assets.corpus.find import name_a_corpus

            raise click.UsageError(name_a_corpus(home.corpora))
        pipeline, refreshed, is_complete = refreshed_in(
            home,
            corpora,
            ending,
            methods=listed(methods) if methods else None,
            k=k,
            forgotten=listed(forget_methods or ""),
            retrain=listed(retrain or ""),
            over_budget=over_budget,
        )
        from gsum_assets.cli.terminal import next_steps, print_leaderboard

        for corpus in refreshed:
            print_leaderboard(pipeline, corpus)
        if is_complete:  # after a failure, what it would offer may fail as well
            corpus = refreshed[0]
            for line in next_steps(pipeline.store, corpus, home.corpora / corpus):
                click.echo(line)
    if not is_complete:
        sys.exit(1)


def refreshed_in(
    home: Home,
    corpora: Sequence[str],
    ending: "Ending",
    again: str = "",
    methods: Sequence[str] | None = None,
    k: int | None = None,
    forgotten: Sequence[str] = (),
    retrain: Sequence[str] = (),
    over_budget: bool = False,
) -> tuple["Pipeline", list[str], bool]:
    """Refresh corpora of a home; parameters are those of `gsum run`.

    Return the pipeline, the corpora that could be read, and whether every one is up to date.
    `again` is printed after an interruption; "": that `gsum run` continues.
    """
    from gsum_assets.cli.terminal import Console
    from gsum_assets.corpus.find import find_corpus
    from gsum_assets.corpus.intake import stored_intake
    from gsum_assets.corpus.settings_file import write_k
    from gsum_assets.pipeline.corpus_settings import CorpusError
    from gsum_assets.refresh.forget import forget_deleted
    from gsum_assets.runner.methods import drop_methods, require_networks
    from gsum_assets.runner.run import (
        cancel_own_runs,
        forget_missing,
        pipeline_for,
        refresh,
    )
    from gsum_resources.dagster_io.instance import open_instance

    class Shown(Console):
        """The console of a command whose run a daemon may execute."""

        def followed(self, is_followed: bool) -> None:
            ending.message = again or (_FOLLOWING if is_followed else _INTERRUPTED).format(names)
            super().followed(is_followed)

    names, pipeline = " ".join(corpora), pipeline_for(home)
    workspace = pipeline.workspace
    failed, refreshed = False, []
    with open_instance(home) as instance:
        ending.tidy_up_by(lambda: cancel_own_runs(instance))
        for corpus in corpora:  # an unreadable corpus does not stop the others
            with Shown(ending=ending) as console:
                ending.message = again or _INTERRUPTED.format(names)
                try:
                    if k:
                        folder = find_corpus(home.corpora, corpus)
                        console.says(f"{corpus}: corpus.toml: {write_k(folder, k)}")
                    if forgotten:
                        console.says(f"{corpus}: {drop_methods(workspace, corpus, forgotten)}")
                    if retrain:
                        networks = require_networks(workspace, corpus, retrain)
                        console.says(f"{corpus}: networks to train again: {', '.join(networks)}")
                    report = refresh(
                        pipeline,
                        instance,
                        corpus,
                        methods,
                        console,
                        retrain=retrain,
                        over_budget=over_budget,
                    )
                except CorpusError as error:
                    console.failed(corpus, error)
                    failed = True
                    continue
                console.done(corpus, report)
                console.says(f"{corpus}: {stored_intake(pipeline.store, corpus)}")
                failed |= not report.is_complete
                refreshed.append(corpus)
        if deleted := forget_deleted(workspace):
            click.echo(str(deleted))
        for line in forget_missing(pipeline, instance):
            click.echo(line)
    return pipeline, refreshed, not failed
