"""The command line `gsum`, one function for each command."""

import os
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from gsum_assets.cli.ask import ask
from gsum_assets.cli.reproduce import reproduce
from gsum_assets.cli.run import listed, run
from gsum_assets.cli.serve import serve
from gsum_resources.settings.home import Home

# commands whose long work a signal ends
_ENDED_AT_ONCE = ("run", "plan", "ask", "forget", "reproduce")
_SHOW_TABLES = re.compile(r"\s*show\s+all\s+tables\s*;?\s*", re.IGNORECASE)


class _Shown(click.Group):
    """A group that shows an error that the user can fix as one message, without a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except Exception as error:
            from gsum_resources.protocols.models import ModelUnavailableError  # loads NumPy

            if isinstance(error, (ValueError, ModelUnavailableError)):
                raise click.ClickException(str(error)) from error
            from gsum_resources.state.database import unwritable

            if reason := unwritable(error):
                raise click.ClickException(
                    f"{reason}; make {Home.from_environment().root} writable with space on its "
                    "disk, or set GSUM_HOME to another folder, and repeat the command: what was "
                    "written stays"
                ) from error
            raise


@click.group(cls=_Shown, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="gsum")
def main() -> None:
    """Turn collections of long documents into graphs, and answer global questions over them.

    All files are below the folder that GSUM_HOME names (default: data).
    """


main.add_command(run)
main.add_command(ask)
main.add_command(reproduce)
main.add_command(serve)


@main.command("import")
@click.argument("benchmark")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--corpus", help="Name of the corpus.  [default: the benchmark's name]")
def import_(benchmark: str, path: Path, corpus: str | None) -> None:
    """Import a BENCHMARK from its official files at PATH, gzip or not.

    Benchmarks: qmsum, squality, odsum-story, odsum-meeting, quality, musique, narrativeqa, wcep,
    booksum, govreport, academiceval, multihop-rag, graphrag-bench. The name graphrag imports an
    index of Microsoft's package from its folder PATH, with its graph and reports, and lightrag a
    working directory of LightRAG.
    """
    from gsum_assets.corpus.importers import import_benchmark

    home = Home.from_environment()
    report = import_benchmark(benchmark, path, home.corpora, corpus)
    click.echo(f"{report.corpus}: {report.n_documents:,} documents, {report.n_queries:,} questions")
    for note in report.notes:
        click.echo(f"  {note}")
    click.echo(f"next: gsum run {report.corpus}")


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--corpus", help="Name of the corpus.  [default: derived from the folder's name]")
def init(folder: Path, corpus: str | None) -> None:
    """Make FOLDER a corpus: write its commented corpus.toml, and link it below GSUM_HOME.

    A home without gsum.toml, the settings of models, gets one whose keys are all commented out.
    Existing settings and the documents are not changed.
    """
    from gsum_assets.corpus.find import init_corpus
    from gsum_assets.registry.families import SETTINGS_TABLES
    from gsum_resources.dagster_io.instance import write_settings

    home = Home.from_environment()
    name, lines = init_corpus(folder, home, corpus, SETTINGS_TABLES)
    for line in lines:
        click.echo(line)
    if write_settings(home):
        click.echo(f"{home.settings_file}: written; every key is commented out")
    click.echo(f"next: gsum run {name}")


@main.command()
@click.argument("corpora", nargs=-1, metavar="CORPUS...")
@click.option(
    "--methods",
    help="Methods or families to plan for, separated by commas, as `gsum run` takes them.",
)
def plan(corpora: Sequence[str], methods: str | None) -> None:
    """Show what `gsum run` would request of models on each CORPUS: calls, tokens and money.

    It is an estimate: what is stale, times the requests and tokens of earlier calls or of the
    sample corpora. No server is called, and nothing is written.
    """
    from gsum_assets.cli.interrupts import NOTHING_CHANGED, ended_by_signals

    with ended_by_signals(NOTHING_CHANGED):  # before modules are imported
        from gsum_assets.cli.plan import print_plan, print_total
        from gsum_assets.corpus.find import name_a_corpus
        from gsum_assets.pipeline.corpus_settings import CorpusError
        from gsum_assets.planning.plan import plan as plan_of

        home, plans = Home.from_environment(), []
        if not corpora:
            raise click.UsageError(name_a_corpus(home.corpora, "plan"))
        for corpus in corpora:  # an unreadable corpus does not stop the others
            try:
                plans.append(plan_of(home, corpus, listed(methods) if methods else None))
                print_plan(plans[-1])
            except CorpusError as error:
                click.echo(f"Error: {error}", err=True)
        print_total(plans)
        if plans:
            command = f"next: gsum run {' '.join(done.corpus for done in plans)}"
            click.echo(f"{command} --methods {methods}" if methods else command)
    if len(plans) < len(corpora):
        sys.exit(1)


@main.command()
def models() -> None:
    """Show which models are set, and send each a tiny request.

    The exit status is 1 if a model does not answer.
    """
    from gsum_assets.answering.workspace import open_workspace
    from gsum_assets.cli.terminal import print_models
    from gsum_resources.models.models_check import check_models

    workspace = open_workspace(Home.from_environment())
    checked = list(check_models(workspace.models))
    print_models(checked)
    if any(model.failure for model in checked):
        sys.exit(1)


@main.command()
@click.argument("corpus")
@click.argument("document")
@click.option("--retrain", is_flag=True, help="Retrain the networks that were trained with it.")
@click.option("--yes", is_flag=True, help="Do not ask before the document is deleted.")
@click.option(
    "--check",
    "original",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Delete nothing; search again for a document that was deleted before, by the sentences of "
    "FILE, a copy of it.",
)
def forget(corpus: str, document: str, retrain: bool, yes: bool, original: Path | None) -> None:
    """Delete DOCUMENT, an id, from CORPUS, with everything that depends on it.

    Its file or line is removed from the corpus folder, tables are recomputed without it, replies
    of models about it are removed, and all files are then searched for its sentences.
    The exit status is 1 if one is found, or a place cannot be searched.
    """
    from gsum_assets.cli.interrupts import NOTHING_CHANGED, ended_by_signals

    with ended_by_signals(NOTHING_CHANGED):
        from gsum_assets.cli import terminal
        from gsum_assets.runner import forget as runner
        from gsum_assets.runner.run import cancel_own_runs, pipeline_for
        from gsum_resources.dagster_io.instance import open_instance

        home = Home.from_environment()
        pipeline = pipeline_for(home)
        if original:
            with open_instance(home) as instance, terminal.Console() as console:
                console.waits(f"the search for {document}")
                done = runner.check_forgotten(pipeline, instance, corpus, document, original)
            terminal.print_search(done)
            if not done.is_clean:
                sys.exit(1)
            return
        runner.require_document(pipeline, corpus, document)
        question = f"Delete document '{document}' from the folder of '{corpus}'?"
        if not yes:
            click.confirm(question, abort=True)
    interrupted = (
        f"interrupted; nothing else was lost, but '{document}' may be deleted only in part; "
        f"`gsum forget {corpus} {document}` continues"
    )
    with (
        ended_by_signals(interrupted) as ending,
        open_instance(home) as instance,
        terminal.Console(ending=ending) as console,
    ):
        ending.tidy_up_by(lambda: cancel_own_runs(instance))
        done = runner.forget(pipeline, instance, corpus, document, retrain, console)
    terminal.print_forget_report(done, corpus, document)
    if not done.is_clean or done.problem:
        sys.exit(1)


@main.command()
@click.argument("corpus")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write.  [default: CORPUS-report.html in the current folder]",
)
@click.option("--split", default="all", show_default=True, help="Only questions of this split.")
@click.option("--methods", help="Methods to show, separated by commas.  [default: all]")
@click.option(
    "--questions",
    type=click.IntRange(min=0),
    default=200,
    show_default=True,
    help="How many questions to show with every answer and passage.",
)
def report(
    corpus: str, output: Path | None, split: str, methods: str | None, questions: int
) -> None:
    """Write the results on CORPUS to one HTML file that needs no network.

    Contains leaderboard, plots, costs and judges, and each score with its answer, references and
    passages.
    """
    from gsum_assets.registry.families import METHODS
    from gsum_assets.report.page import build, render
    from gsum_assets.report.stored import read_stored
    from gsum_resources.store.parquet_store import ParquetStore

    home = Home.from_environment()
    wanted = listed(methods) if methods else None
    for method in wanted or ():
        METHODS.family_of(method)  # an error for unknown ones
    stored = read_stored(ParquetStore(home.warehouse), home.corpora, corpus, wanted)
    html = render(build(stored, split, questions)).encode()
    path = output or Path(f"{corpus}-report.html")
    _write(path, html)
    click.echo(f"{path}: {len(html) / 1e6:.1f} MB, open it in any browser")


@main.command()
@click.argument("corpus")
@click.option(
    "--output",
    type=click.Path(path_type=Path),
    help="The file to write.  [default: CORPUS.graphml in the current folder]",
)
def export(corpus: str, output: Path | None) -> None:
    """Write the entity graph of CORPUS as GraphML, for Gephi, yEd and networkx.

    Nodes are the entities of the method graphrag with their communities, edges their relationships.
    """
    from gsum_assets.corpus.find import find_corpus
    from gsum_assets.graphrag.export import graphml, read_entity_graph
    from gsum_assets.pipeline.tables import TABLES
    from gsum_resources.store.parquet_store import ParquetStore

    home = Home.from_environment()
    store = ParquetStore(home.warehouse)
    if not store.partitions(TABLES["graphrag.entities"], corpus):
        find_corpus(home.corpora, corpus)  # raises if there is no such corpus
    graph = read_entity_graph(store, corpus)
    path = output or Path(f"{corpus}.graphml")
    content = graphml(graph)
    _write(path, content)
    click.echo(
        f"{path}: {graph.number_of_nodes():,} entities, {graph.number_of_edges():,} relationships, "
        f"{len(content) / 1e6:.1f} MB"
    )


def _write(path: Path, content: bytes) -> None:
    try:
        path.write_bytes(content)
    except OSError as error:
        raise click.ClickException(f"{path}: {error.strerror}; name another --output") from error


@main.command()
@click.argument("corpus", required=False)
@click.option("--write", is_flag=True, help="Write the built-in prompts to files, to be edited.")
def prompts(corpus: str | None, write: bool) -> None:
    """List the prompts that language models get for CORPUS, and the files that override them.

    A prompt is overridden by prompts/FAMILY/NAME.md in the folder of a corpus, or, for all corpora,
    in GSUM_HOME, to which --write writes if no CORPUS is given. Existing files are kept.
    """
    from gsum_assets.corpus.find import find_corpus
    from gsum_assets.pipeline.prompts import PromptFolder, names_of, overrides, write_prompts
    from gsum_assets.registry.families import PROMPTS

    home = Home.from_environment()
    if corpus:
        find_corpus(home.corpora, corpus)
    folders = [home.corpora / corpus, home.prompts] if corpus else [home.prompts]
    for file in write_prompts(PROMPTS, folders[0]) if write else ():
        click.echo(f"{file}: written")
    files = overrides(PROMPTS, [PromptFolder(folder) for folder in folders])
    for name in map(".".join, names_of(PROMPTS)):
        click.echo(f"{name:<22} {files.get(name, 'built in')}")


@main.command()
@click.argument("query")
@click.option("--csv", "form", flag_value="csv", help="Print all rows as CSV, not as a table.")
@click.option("--json", "form", flag_value="json", help="Print each row as a line of JSON.")
@click.option("--parquet", type=click.Path(dir_okay=False), help="Write all rows to this file.")
def sql(query: str, form: str | None, parquet: str | None) -> None:
    """Run a SQL QUERY over the tables; `gsum sql "show all tables"` lists them.

    The same views are in $GSUM_HOME/gsum.duckdb for any other DuckDB client.
    """
    from shutil import get_terminal_size
    from tempfile import TemporaryDirectory

    import duckdb

    from gsum_assets.cli.terminal import print_tables
    from gsum_assets.pipeline.tables import TABLES
    from gsum_assets.registry.families import views
    from gsum_resources.store.catalogue import define_views
    from gsum_resources.store.parquet_store import ParquetStore

    with duckdb.connect() as connection:
        store = ParquetStore(Home.from_environment().warehouse)
        define_views(connection, store, TABLES.values(), views())
        try:
            result = connection.sql(query)
            if result is None:
                return
            if parquet:
                result.write_parquet(parquet)
                click.echo(f"{parquet}: written")
            elif form:
                with TemporaryDirectory() as folder:
                    file = Path(folder, "rows")
                    connection.execute(f"COPY result TO '{file}' (FORMAT {form})")
                    click.echo(file.read_bytes(), nl=False)
            elif _SHOW_TABLES.fullmatch(query):
                listed = zip(*(result.to_df()[name] for name in ("schema", "name")), strict=True)
                print_tables(listed)
            else:
                # `show` alone adds a LIMIT, with which DuckDB 2.0.0 never ends if rows are unnested
                width = get_terminal_size((120, 40)).columns
                result.materialize().show(max_rows=60, max_width=width)
        except duckdb.Error as error:
            message = str(error).split("\n\nLINE ")[0]  # without the excerpt of the query
            raise click.ClickException(f"SQL: {' '.join(message.split())}") from error


@main.command(context_settings={"ignore_unknown_options": True})
@click.option("-p", "--port", type=int, help="Port of the UI.  [default: 3000, or a free one]")
@click.option(
    "--host", default="127.0.0.1", show_default=True, help="Address to listen on, 0.0.0.0 for all."
)
@click.option(
    "--read-only", is_flag=True, help="Serve pages alone: no runs, no changes, no daemon."
)
@click.option(
    "--login-is-before-it",
    is_flag=True,
    help="Allow another address than this machine's own: a proxy or a firewall admits known users.",
)
@click.option(
    "--known-as",
    multiple=True,
    metavar="NAME",
    help="Host name by which browsers reach the UI, such as that of a proxy; may be repeated.",
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def ui(
    port: int | None,
    host: str,
    read_only: bool,
    login_is_before_it: bool,
    known_as: Sequence[str],
    arguments: Sequence[str],
) -> None:
    """Start the Dagster UI and daemon on this home; Ctrl-C ends both and the runs they started.

    Errors are shown here; all lines of the log are in $GSUM_HOME/dagster/ui.log. Other ARGUMENTS
    are passed to `dagster-webserver`, such as --path-prefix.
    """
    from gsum_assets.cli.ui import UiLog, answers, choose_port, require_protection
    from gsum_assets.cli.ui import serve as run_ui
    from gsum_assets.dagster_assets.record import fail_dead_runs, report_warehouse
    from gsum_assets.serve.server import address_of
    from gsum_resources.dagster_io.instance import open_instance

    require_protection(host, read_only or login_is_before_it)
    port = choose_port(host, port)
    home = Home.from_environment()
    os.environ |= {"GSUM_HOME": str(home.root), "GSUM_UI_NAMES": ",".join(known_as)}
    os.environ["PYTHONSAFEPATH"] = "1"  # modules in the present folder are not gsum's
    if not read_only:
        store = home.open_store()
        with open_instance(home) as instance:  # dead runs would fill the queue of the daemon
            fail_dead_runs(instance, store)
            if line := report_warehouse(instance, store):
                click.echo(line)
    address = address_of(host, port)
    log = UiLog(home.dagster / "ui.log")
    command = [sys.executable, "-m", "gsum_resources.dagster_io.services"]
    command += ["--host", host, "--port", str(port), *arguments]
    status = run_ui(
        [*command, "--read-only"] if read_only else command,
        log.write,
        lambda: answers(address),
        lambda: click.echo(f"{address} shows {home.root}; log: {home.dagster}/ui.log"),
    )
    if status and status not in (130, 143, 129):
        log.show_last()
    if not read_only:
        with open_instance(home) as instance:
            instance.wipe_daemon_heartbeats()  # else `gsum run` takes it for alive for two minutes
    sys.exit(status)


def script() -> None:
    """Run `main`, then end at once: at a shutdown after torch duckdb 2.0.0 prints pages."""
    code = 0
    if sys.argv[1:2] and sys.argv[1] in _ENDED_AT_ONCE:  # until a handler is installed
        signal.pthread_sigmask(signal.SIG_BLOCK, (signal.SIGINT, signal.SIGTERM))
    try:
        main()
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


if __name__ == "__main__":
    script()
