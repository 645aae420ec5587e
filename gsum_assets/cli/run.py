"""The command `gsum run`."""

import sys
import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gsum_assets.cli.arguments import PassageNumbers, listed
from gsum_resources.settings.home import Home

if TYPE_CHECKING:
    from gsum_assets.cli.interrupts import Ending
    from gsum_assets.runner.pipeline import Pipeline


@click.command()
@click.argument("corpora", nargs=-1, metavar="CORPUS...")
@click.option(
    "--methods",
    help="Methods or families to run, separated by commas; 'default', 'all'.  [default: those "
    "requested before, or the defaults of a new corpus]",
)
@click.option(
    "--k",
    type=PassageNumbers(),
    help="Number of passages to read for an answer, '6', or several for curves, '1,3,6,10,20'; "
    "written to corpus.toml, so that later runs use it, too.",
)
@click.option(
    "--forget-methods",
    help="Methods whose requests end, separated by commas; their tables are removed first, and "
    "replies of models are kept.",
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
    k: Sequence[int] | None,
    forget_methods: str | None,
    retrain: str | None,
    over_budget: bool,
) -> None:
    """Bring each CORPUS up to date: compute what was requested and is missing or out of date.

    Methods requested once are kept up to date by every later run and by the daemon.
    """
    from gsum_assets.cli.interrupts import ended_by_signals, named

    with ended_by_signals(named(corpora)) as ending:  # before modules are imported
        withdrawn = listed(forget_methods) if forget_methods else []
        home = Home.from_environment()
        if not corpora:
            from gsum_assets.corpus.find import name_a_corpus

            raise click.UsageError(name_a_corpus(home.corpora))
        wanted = listed(methods) if methods else None
        pipeline, refreshed, is_complete = refreshed_in(
            home, corpora, wanted, ending, k, withdrawn, retrain, over_budget
        )
        from gsum_assets.cli.terminal import print_leaderboard, print_next

        for corpus in refreshed:
            print_leaderboard(pipeline, corpus)
        if refreshed:
            print_next(pipeline, refreshed[0])
    if not is_complete:
        sys.exit(1)


def refreshed_in(
    home: Home,
    corpora: Sequence[str],
    wanted: Sequence[str] | None,
    ending: "Ending",
    k: Sequence[int] | None = None,
    withdrawn: Sequence[str] = (),
    retrain: str | None = None,
    over_budget: bool = False,
    again: str = "",
) -> tuple["Pipeline", list[str], bool]:
    """Refresh corpora of a home.

    Parameters
    ----------
    again : printed when it is interrupted; "": that `gsum run` continues.

    Returns
    -------
    The pipeline, the corpora that could be read, and whether every one is up to date.
    """
    from gsum_assets.automation.processes import end_runs_of_this_process
    from gsum_assets.cli.interrupts import following, named
    from gsum_assets.cli.terminal import FOLLOWS, STOPPED, Console
    from gsum_assets.corpus.edit import write_k
    from gsum_assets.corpus.find import find_corpus
    from gsum_assets.corpus.intake import stored_intake
    from gsum_assets.definitions import pipeline_for
    from gsum_assets.pipeline.corpus_settings import CorpusError
    from gsum_assets.runner.retrain import discard_networks
    from gsum_assets.runner.run import refresh
    from gsum_resources.dagster_io.instance import open_instance
    from gsum_resources.state.leases import Leases

    pipeline = pipeline_for(home)
    failed, refreshed = False, []
    with open_instance(home) as instance:
        leases = Leases(pipeline.store)
        ending.tidy_up_by(lambda: end_runs_of_this_process(instance, leases))
        for corpus in corpora:  # an unreadable corpus does not stop the others
            with Console() as console:

                def start(
                    assets: Sequence[str], partitions: Sequence[Any], console: Console = console
                ) -> None:
                    ending.hold()
                    console.start(assets, partitions)

                def follow(is_followed: bool, console: Console = console) -> None:
                    ending.message = again or (following if is_followed else named)(corpora)
                    console.say(FOLLOWS if is_followed else STOPPED)

                ending.message = again or named(corpora)
                watch = start, console.ended, console.wait
                try:
                    if k:
                        folder = find_corpus(home.corpora, corpus)
                        console.say(f"{corpus}: corpus.toml: {write_k(folder, k)}")
                    if withdrawn:
                        done = pipeline.withdrawal.withdraw(instance, corpus, withdrawn)
                        console.say(f"{corpus}: {done}")
                        if not (wanted or pipeline.withdrawal.requested(corpus)):
                            continue  # without a request a refresh would add the defaults
                    if retrain:
                        networks = discard_networks(pipeline, corpus, listed(retrain))
                        console.say(f"{corpus}: networks to train again: {', '.join(networks)}")
                    report = refresh(
                        pipeline,
                        instance,
                        corpus,
                        wanted,
                        *watch,
                        on_step=console.step,
                        on_lost=ending.fail,
                        on_daemon=follow,
                        over_budget=over_budget,
                    )
                except CorpusError as error:
                    console.failed(corpus, error)
                    failed = True
                    continue
                console.done(corpus, report)
                console.say(f"{corpus}: {pipeline.withdrawal.described(corpus)}")
                console.say(f"{corpus}: {stored_intake(pipeline.store, corpus)}")
                failed |= not report.is_complete
                refreshed.append(corpus)
        if forgotten := pipeline.forgetting.forget_deleted(instance):
            click.echo(str(forgotten))
    for line in pipeline.reconciler.about_missing(time.time()):
        click.echo(line)
    return pipeline, refreshed, not failed
