"""Terminal output of commands."""

import re
import shlex
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console as Screen
from rich.live import Live
from rich.spinner import Spinner
from rich.table import Table as Grid
from rich.text import Text

from gsum_assets.cli.suggested_question import suggest_question
from gsum_assets.corpus.queries import QUERIES_FILE
from gsum_assets.evaluation.leaderboard import LEGEND, grids
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.pipeline.result import count
from gsum_assets.pipeline.tables import TABLES
from gsum_assets.registry.declared import Declared
from gsum_assets.registry.families import views
from gsum_resources.messages.progress import Stage, shown_by
from gsum_resources.models.models_check import CheckedModel
from gsum_resources.store.parquet_store import ParquetStore, Partition
from gsum_resources.store.table import Macro

if TYPE_CHECKING:
    from gsum_assets.cli.interrupts import Ending
    from gsum_assets.runner.forget import ForgetReport
    from gsum_assets.runner.report import RunReport, StepReport
    from gsum_assets.runner.run import Pipeline

FOLLOWS = "the daemon of this home (`gsum ui`) executes the run; this command follows it"
STOPPED = "the daemon has stopped; this command computes what is left"
_PROVENANCE = "one row per partition of a table: its inputs, time and run"
_PIPED_WIDTH = 400  # at which no table is cut
_MOST_NAMES = 6


class Console:
    """A line for each run that ended, and the progress of the current one.

    Parameters `every_s`: seconds between two lines of progress where there is no terminal;
    `ending`: of a command that a signal may end between two steps.
    """

    def __init__(self, every_s: float = 10.0, ending: "Ending | None" = None) -> None:
        self._every_s, self._ending = every_s, ending
        self._waiting = ""
        self._unavailable = set[str]()
        self._done: dict[str, list[StepReport]] = {}

    def __enter__(self) -> "Console":
        self._screen = new_screen()
        self._started = self._printed = time.monotonic()
        self._stage = Stage("observing the corpus", self._started)
        self._ended = threading.Event()
        spinner = Spinner("dots")

        def redrawn() -> Spinner:
            spinner.update(text=Text(self._stage.line(time.monotonic())))
            return spinner

        with ExitStack() as stack:
            if self._screen.is_terminal:
                stack.enter_context(
                    Live(console=self._screen, transient=True, get_renderable=redrawn)
                )
            else:
                ticker = threading.Thread(target=self._tick, name="progress", daemon=True)
                ticker.start()
                stack.callback(ticker.join)
            stack.callback(self._ended.set)
            stack.enter_context(shown_by(self._advance))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def begins(self, steps: Sequence[Declared]) -> None:
        """Show that a run of some steps begins."""
        self._left = Counter(declared.group for declared in steps)
        self._of_group = {declared.name: declared.group for declared in steps}
        self._done, self._n_begun = {}, 0
        self._n_steps = 1 + len(steps)  # the first one looks at the folder
        self._begin(count(len(steps), "step"))

    def step(self, asset: str) -> None:
        """Show that a step of the run begins, unless a signal has come."""
        if self._ending:
            self._ending.hold()
        self._n_begun += 1
        self._begin(asset, f"step {self._n_begun} of about {self._n_steps}")

    def ended(self, step: "StepReport") -> None:
        """Print a line for each family of which all steps have ended, and each error at once."""
        group = self._of_group.get(step.name, "")
        self._left[group] -= 1
        self._done.setdefault(group, []).append(step)
        for line in step.skipped:
            self._print(line, "yellow")
        if step.error:
            self._print(self._error(step), "red")
        if group and not self._left[group]:
            self._print_group(group)

    def _print_group(self, group: str) -> None:
        steps = self._done.pop(group, [])
        seconds = sum(step.seconds for step in steps)
        written = [asset for step in steps for asset in step.written]
        if not written:
            return
        files = Counter(text for step in steps for text in step.written.values())
        where = [text for text, _ in files.most_common() if text != "all rows"]
        self._printed = time.monotonic()
        names = _names([asset.removeprefix(f"{group}/") for asset in written])
        line = f"{seconds:7.1f} s  {group}: {names}" + (f" ({where[0]})" if where else "")
        self._screen.print(line, soft_wrap=True)

    def followed(self, is_followed: bool) -> None:
        """Show who computes: a daemon, or this process."""
        self.says(FOLLOWS if is_followed else STOPPED)

    def waits(self, what: str) -> None:
        """Show what must happen first, such as the work of another process."""
        label = f"waiting for {what}"
        if self._waiting != what:
            self._waiting = what
            if not self._screen.is_terminal:
                self._line(label)
        if self._stage.label.partition(":")[0] != label.partition(":")[0]:
            self._begin(label)
        self._stage.label = label

    def _begin(self, label: str, position: str = "") -> None:
        self._stage = Stage(label, time.monotonic(), position or self._stage.position)

    def _advance(self, label: str, done: int, total: int, detail: str = "") -> None:
        now = time.monotonic()
        if self._stage.label != label:
            self._begin(label)
        self._stage.advance(done, total, now, detail)

    def _tick(self) -> None:
        """Print how far the stage has come, whenever nothing was printed for a while."""
        while not self._ended.wait(min(1.0, self._every_s)):
            now = time.monotonic()
            if now - self._printed >= self._every_s:
                self._line(f"… {self._stage.line(now)}")

    def _line(self, text: str) -> None:
        self._printed = time.monotonic()
        seconds = self._printed - self._started
        self._screen.print(f"{seconds:7.1f} s  {text}", soft_wrap=True)

    def _error(self, step: "StepReport") -> str:
        """Return the error of a step; in short if the same model was reported before."""
        if step.unavailable and step.unavailable in self._unavailable:
            return f"{step.name}: the model is unavailable, see above"
        if step.unavailable:
            self._unavailable.add(step.unavailable)
        return step.error

    def failed(self, corpus: str, error: CorpusError) -> None:
        """Show that the corpus could not be refreshed at all."""
        self._print(f"{corpus}: {error}", "red")

    def done(self, corpus: str, report: "RunReport") -> None:
        """Show that the refresh ended."""
        for group in list(self._done):
            if group:
                self._print_group(group)
        seconds = time.monotonic() - self._started
        outcome = "nothing to do, all is up to date"
        if report.steps or report.missing or report.stopped:
            outcome = f"{count(len(report.written), 'table')} written"
        failed = f", {count(len(report.errors), 'step')} failed" if report.errors else ""
        self._screen.print(f"{seconds:7.1f} s  {corpus}: {outcome}{failed}")
        for line in (*report.gaps, *report.known_gaps):
            self._print(line, "yellow")
        if report.stopped:
            self._print(report.stopped, "red")
        if report.missing:
            self._print(
                f"missing or out of date: {_names(report.missing)}; "
                f"`gsum run {corpus}` tries again, and the Dagster UI (`gsum ui`) shows the errors",
                "red",
            )

    def says(self, line: str) -> None:
        """Print a line without markup."""
        self._screen.print(line, soft_wrap=True)

    def _print(self, message: str, colour: str) -> None:
        self._screen.print(f"           {message}", style=colour, soft_wrap=True)


def print_leaderboard(pipeline: "Pipeline", corpus: str) -> None:
    """Print the leaderboard of a corpus, one table for each kind of question, if it has scores."""
    rows, _ = pipeline.store.read(TABLES["leaderboard"], [Partition(corpus)])
    if set(TABLES["leaderboard"].schema.names) - set(rows.column_names):
        return  # an older gsum wrote it, and it could not be recomputed
    costs, _ = pipeline.store.read(TABLES["costs"], [Partition(corpus)])
    for grid in grids(rows, costs=costs):
        print_grid(f"{corpus}: {grid.title}", grid.header, grid.rows)
    if rows.num_rows:
        say(LEGEND)
        judgements, _ = pipeline.store.read(TABLES["judgements"], [Partition(corpus)])
        if not judgements.num_rows:
            return
        from gsum_assets.evaluation.judges.bias import own_judge_note

        if note := own_judge_note(judgements):
            say(note, "yellow")


def print_grid(
    title: str, header: Sequence[str], rows: Iterable[Sequence[str]], n_texts: int = 1
) -> None:
    """Print a table whose first `n_texts` columns are texts, and the others figures."""
    grid = new_grid(header[:n_texts], header[n_texts:], title)
    for row in rows:
        grid.add_row(*row)
    new_screen().print(grid)


def print_tables(names: Iterable[tuple[str, str]]) -> None:
    """Print schema, name and meaning of a row of each table or view, and of each macro."""
    rows = {table.name: f"one row per {table.row}" for table in (*TABLES.values(), *views())}
    grid = new_grid(["schema", "name"])
    grid.add_column("contents")
    for schema, name in names:
        full = name if schema == "main" else f"{schema}.{name}"
        grid.add_row(schema, name, rows.get(full, _PROVENANCE if name == "provenance" else ""))
    for macro in sorted((v for v in views() if isinstance(v, Macro)), key=lambda v: v.name):
        call = f"{macro.name}({', '.join(macro.arguments)})"
        grid.add_row("macro", macro.name, f"{call}: {rows[macro.name]}")
    new_screen().print(grid)


def print_models(checked: Iterable[CheckedModel]) -> None:
    """Print a row for each model, and below them the errors of those that do not answer."""
    figures = ("context", "tokens/s", "structure", "USD per million in, out")
    grid, failures = new_grid(("table", "backend", "model", "answers"), figures), []
    models = list(checked)
    for model in models:
        grid.add_row(
            f"[{model.table}]",
            model.backend,
            model.model,
            "no" if model.failure else "yes",
            f"{model.context_tokens:,}" if model.context_tokens else "",
            f"{model.tokens_per_s:,.1f}" if model.tokens_per_s else "",
            model.structure,
            ", ".join(f"{price:g}" for price in model.usd),
        )
        if model.failure:
            failures.append(f"[{model.table}]: {' '.join(model.failure.split())}")
    new_screen().print(grid)
    for model in models:
        if model.hint:
            say(f"[{model.table}]: {model.hint}")
    for failure in failures:
        say(failure, "red")


def print_forget_report(done: "ForgetReport", corpus: str, document: str) -> None:
    """Print what was removed of a document, and what could not be removed."""
    n_written = len(done.report.written)
    say(f"{corpus}: '{document}' deleted; {n_written:,} tables recomputed without it")
    say(f"{done.n_replies:,} replies of models that depended on it removed from the memo")
    if done.problem:
        say(
            f"not all could be recomputed: {done.problem}; {done.removed:,} files that may "
            f"contain it were removed, `gsum run {corpus}` recomputes them",
            "red",
        )
    if done.trained:
        say(
            f"weights of {', '.join(done.trained)} are kept, and may have been trained with it; "
            "they contain no text. `gsum run … --retrain`, the job retrain in the UI or its weekly "
            "schedule train them again",
            "yellow",
        )
    if done.questions:
        say(
            f"{len(done.questions)} questions in queries.jsonl name it and are left out from now "
            f"on; correct or delete them: {', '.join(done.questions[:10])}",
            "yellow",
        )
    say("delete files that you exported (gsum report, gsum export) and backups yourself")
    print_search(done)


def print_search(done: "ForgetReport") -> None:
    """Print where sentences of a deleted document were found."""
    for leftover in done.leftovers:
        say(f"left over: {leftover.path} contains “{leftover.sentence[:80]}”", "red")
    for storage in done.unsearched:
        say(
            f"not searched: Dagster's {storage}, which may contain sentences in its logs; delete "
            "them there, or let dagster.yaml name SQLite or PostgreSQL",
            "red",
        )
    if not done.n_sentences:
        say(
            "nothing was searched for: no table has a sentence of it that no other document has; "
            "`gsum forget … --check FILE` searches for those of a copy",
            "yellow",
        )
    elif done.is_clean:
        say(f"searched for its {done.n_sentences:,} own sentences: none is left under the home")


def say(line: str, colour: str | None = None) -> None:
    """Print a line as long as it is."""
    new_screen().print(line, style=colour, soft_wrap=True)


def new_screen() -> Screen:
    """Return a screen as wide as the terminal, or as any table if output is piped."""
    if sys.stdout.isatty():
        return Screen(highlight=False, markup=False)
    # a pipe gets no control characters, whatever the environment says about colours
    return Screen(
        highlight=False, markup=False, width=_PIPED_WIDTH, force_terminal=False, no_color=True
    )


def new_grid(left: Sequence[str], right: Sequence[str] = (), title: str | None = None) -> Grid:
    """Return a table with some columns of texts, then some of figures; without a title no lines."""
    grid = Grid(title=title, title_justify="left") if title else Grid(box=None, pad_edge=False)
    for name in left:
        grid.add_column(name, no_wrap=True)
    for name in right:
        grid.add_column(name, justify="right", no_wrap=True)
    return grid


def _names(names: Sequence[str]) -> str:
    """Return `rankings, contexts, summaries and 2 more`."""
    more = f" and {len(names) - _MOST_NAMES} more" if len(names) > _MOST_NAMES else ""
    return ", ".join(names[:_MOST_NAMES]) + more


_N_READ = 8  # documents that a suggested question is chosen from
_COUNTED = ("chunks", "queries", "leaderboard", "summaries")
_EXAMPLE = '{"text": "…", "references": ["…"]}'


def next_steps(store: ParquetStore, corpus: str, folder: Path) -> list[str]:
    """Return the lines to print after a run; [] if no question can be answered yet."""
    n_rows = store.counts([TABLES[name] for name in _COUNTED], corpus)
    if not n_rows["chunks"]:
        return []
    if not n_rows["queries"]:
        question = suggest_question(_first_documents(store, corpus))
        return [
            "next:",
            f"  gsum ask {corpus} {quoted(question)}",
            *_aligned([("gsum ui", "documents, passages and lineage in the Dagster UI")]),
            f"{corpus} has no questions to measure answers by; to add some, "
            "write a line for each to",
            f"  {folder / QUERIES_FILE}: {_EXAMPLE}",
            f"  gsum run {corpus} --methods default",
        ]
    return ["next:", *_aligned(_with_questions(n_rows, corpus))]


def _with_questions(n_rows: Mapping[str, int], corpus: str) -> Iterator[tuple[str, str]]:
    query = f"gsum sql \"select {{}} from {{}} where corpus = '{corpus}'\""
    yield f'gsum ask {corpus} "…"', "an answer with its passages"
    if n_rows["leaderboard"]:
        yield query.format("method, metric, mean", "leaderboard"), ""
    elif n_rows["summaries"]:  # no references to score them by
        yield query.format("method, query_id, text", "summaries"), ""
    if n_rows["summaries"]:
        yield f"gsum report {corpus}", "every answer, with its passages, as one HTML file"
    shown = "lineage, plots and the leaderboard" if n_rows["leaderboard"] else "lineage and tables"
    yield "gsum ui", f"{shown} in the Dagster UI"


def _aligned(steps: Iterable[tuple[str, str]]) -> list[str]:
    steps = list(steps)
    width = max((len(command) for command, gives in steps if gives), default=0)
    return [f"  {command:<{width}}    {gives}".rstrip() for command, gives in steps]


def quoted(text: str) -> str:
    """Return a text as one shell word, in double quotes if they are safe."""
    return f'"{text}"' if not re.search(r'["$`\\!\x00-\x1f]', text) else shlex.quote(text)


def _first_documents(store: ParquetStore, corpus: str) -> list[tuple[str, str]]:
    """Return the first documents by bucket and id, without reading the whole corpus."""
    table = TABLES["documents"]
    texts: list[tuple[str, str]] = []
    for partition in store.partitions(table, corpus):
        rows, _ = store.read(table, [partition], ["document_id", "title", "text"])
        ordered = sorted(rows.to_pylist(), key=lambda row: row["document_id"])
        texts += [(row["title"], row["text"]) for row in ordered]
        if len(texts) >= _N_READ:
            break
    return texts[:_N_READ]
