"""The command `gsum reproduce`."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from gsum_assets.cli.run import listed, refreshed_in
from gsum_resources.settings.home import Home

if TYPE_CHECKING:
    from gsum_assets.reproduce.homes import Part
    from gsum_assets.reproduce.preset import Preset

_AGAIN = "interrupted; finished tables are kept; the same command continues"


@click.command()
@click.argument("names", nargs=-1, metavar="[METHOD [DATASET] [PATH]]")
@click.option("--plan", "only_plan", is_flag=True, help="Show calls, tokens and cost; run nothing.")
@click.option("--yes", is_flag=True, help="Do not ask before served models are paid for.")
@click.option(
    "--embedder",
    "embedders",
    multiple=True,
    metavar="NAME=MODEL",
    help="Path or hub id of an embedder of the paper, such as contriever=/models/contriever; may "
    "be repeated.",
)
@click.option("--methods", help="Methods of the rows to run, separated by commas.  [default: all]")
@click.option(
    "--preset",
    "file",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A changed preset instead of the one that METHOD and DATASET name.",
)
@click.option("--show", is_flag=True, help="Print the preset, to be read and changed.")
@click.option("--over-budget", is_flag=True, help="Let this run exceed [budget] of gsum.toml.")
def reproduce(
    names: Sequence[str],
    only_plan: bool,
    yes: bool,
    embedders: Sequence[str],
    methods: str | None,
    file: Path | None,
    show: bool,
    over_budget: bool,
) -> None:
    """Reproduce the table of a paper from the official files of DATASET at PATH.

    Without arguments, all presets are listed. The authors' sample and settings are a preset, the
    models those of gsum.toml. Everything is written below GSUM_HOME/reproduce; the same command
    continues what was interrupted, and prints the published figures beside ours.
    """
    import tomlkit

    from gsum_assets.reproduce import preset as presets

    if not names:
        for name in presets.names():
            click.echo(f"{name:<24} {presets.load(name).title}")
        click.echo("next: gsum reproduce METHOD DATASET PATH, such as gor qmsum qmsum/jsonl")
        return
    name, path = _named(names, presets.names(), show)
    if show:
        click.echo(tomlkit.dumps(presets.values_of(name)), nl=False)
        return
    preset = presets.load(name, file)
    models: dict[str, str] = {}
    for text in embedders:
        embedder, _, model = text.partition("=")
        if not (embedder and model):
            raise click.UsageError(f"--embedder {text}: give NAME=MODEL, such as dpr=/models/dpr")
        models[embedder] = str(Path(model).resolve()) if Path(model).exists() else model
    from gsum_assets.cli.interrupts import ended_by_signals

    with ended_by_signals(_AGAIN) as ending:
        home = Home.from_environment()
        parts = _written(preset, name, home, models, listed(methods or ""), path)
        if not _planned(parts, only_plan, yes):
            return
        complete = []
        for part in parts:
            os.environ["DAGSTER_HOME"] = str(part.home.root / "dagster")  # each home has its own
            *_, is_complete = refreshed_in(
                part.home, [part.corpus], ending, _AGAIN, list(part.rows), over_budget=over_budget
            )
            complete.append(is_complete)
        _print(preset, parts)
    if not all(complete):
        sys.exit(1)


def _named(names: Sequence[str], known: Sequence[str], show: bool) -> tuple[str, Path]:
    """Return the name of the preset and the path that arguments stand for."""
    *named, path = [*names, ""] if show else names
    if len(named) not in (1, 2):
        raise click.UsageError(
            "give METHOD, DATASET and the PATH of the official files; without arguments, all "
            "presets are listed"
        )
    name = "-".join(named)
    of_method = [preset for preset in known if preset.startswith(f"{name}-")]
    if len(of_method) > 1:
        datasets = ", ".join(preset.removeprefix(f"{name}-") for preset in of_method)
        raise click.UsageError(f"'{name}' has the datasets {datasets}; name one, then its PATH")
    return of_method[0] if of_method else name, Path(path)


def _written(
    preset: "Preset",
    name: str,
    home: Home,
    models: dict[str, str],
    methods: Sequence[str],
    path: Path,
) -> "list[Part]":
    from gsum_assets.reproduce.homes import parts_of, write

    parts, notes = parts_of(preset, name, home, models, methods)
    report = write(parts, preset, path, home)
    click.echo(f"{preset.title} ({preset.paper})")
    click.echo(f"{name}: {report.n_documents:,} documents, {report.n_queries:,} questions")
    for line in (*report.notes, *notes):
        click.echo(f"  {line}")
    for part in parts:
        click.echo(f"  {', '.join(part.rows)}: GSUM_HOME={part.home.root}")
    return parts


def _planned(parts: "Sequence[Part]", only_plan: bool, yes: bool) -> bool:
    """Show what the parts would request and cost; return whether to run them."""
    from gsum_assets.cli.plan import print_plan, print_total
    from gsum_assets.planning.plan import plan

    is_served = any(part.home.settings().has_served_model for part in parts)
    if not (only_plan or is_served):
        click.echo("nothing to pay: no model is on a server")
        return True
    plans = []
    for part in parts:
        plans.append(plan(part.home, part.corpus, list(part.rows)))
        print_plan(plans[-1])
    print_total(plans)
    if only_plan:
        return False
    if sum(one.total().n for one in plans) and not yes:
        click.confirm("Run it?", abort=True)
    return True


def _print(preset: "Preset", parts: "Sequence[Part]") -> None:
    from gsum_assets.cli.terminal import print_grid
    from gsum_assets.reproduce.table import read_scores, read_wins, side_by_side

    scores, wins = read_scores(parts), read_wins(parts, preset.headline)
    for grid in side_by_side(preset, scores, wins):
        print_grid(grid.title, grid.header, grid.rows, n_texts=2)
    click.echo("departures:")
    for departure in preset.departures:
        click.echo(f"  - {departure}")
