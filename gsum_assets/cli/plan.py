"""Output of `gsum plan`."""

from collections.abc import Iterator, Sequence

from rich.table import Table as Grid

from gsum_assets.cli.terminal import new_grid, new_screen, say
from gsum_assets.pipeline.result import count
from gsum_assets.planning.plan import Line, Plan


def print_plan(plan: Plan) -> None:
    """Print the requests and cost of a run, for index and questions separately."""
    say(f"{plan.corpus}: {', '.join(plan.methods)}")
    if plan.lines:
        new_screen().print(_grid(plan))
    for note in _assumptions(plan.lines):
        say(note)
    for note in plan.notes:
        say(note, "yellow")
    if plan.is_current:
        say(f"{plan.corpus}: nothing to pay, everything is up to date")
    elif not plan.lines:
        say(f"{plan.corpus}: nothing to pay, a run would send no new request to a model")


def print_total(plans: Sequence[Plan]) -> None:
    """Print the requests and cost of plans together, if they are several."""
    if len(plans) < 2:
        return
    totals = [plan.total() for plan in plans]
    n, tokens_in, tokens_out = (
        sum(getattr(total, name) for total in totals) for name in ("n", "tokens_in", "tokens_out")
    )
    say(
        f"all {len(plans)} corpora: {count(n, 'call')}, {tokens_in:,} tokens in, {tokens_out:,} "
        f"out, USD {_usd(sum(total.usd for total in totals))}"
    )


def _grid(plan: Plan) -> Grid:
    figures = ("requests", "tokens in", "tokens out", "USD")
    grid = new_grid(("asset", "stage"), figures, f"{plan.corpus}: requests of a run, about")
    for line in plan.lines:
        grid.add_row(line.asset, line.stage, *_amounts(line))
    grid.add_section()
    for stage in ("index", "query"):
        grid.add_row(f"all of {stage}", stage, *_amounts(plan.total(stage)))
    if plan.n_questions:
        query, n = plan.total("query"), plan.n_questions
        each = [f"{number / n:,.1f}" for number in (query.n, query.tokens_in, query.tokens_out)]
        each[0] += " calls"
        grid.add_row(f"each of {n:,} questions", "query", *each, _usd(query.usd / n))
    grid.add_row("total", "", *_amounts(plan.total()), style="bold")
    return grid


def _amounts(line: Line) -> tuple[str, ...]:
    """Return the cells of a line; figures of the sample corpora have a tilde."""
    about = "" if line.is_known or line.asset == "total" else "~"
    return (
        f"{'at most ' if line.is_most else ''}{line.n:,} {line.unit}",
        f"{about}{line.tokens_in:,}",
        f"{about}{line.tokens_out:,}",
        _usd(line.usd),
    )


def _usd(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.4f}"


def _assumptions(lines: Sequence[Line]) -> Iterator[str]:
    if any(not line.is_known for line in lines):
        yield "~: by requests and tokens of the sample corpora; other models write more or less"
    if any(line.is_known for line in lines):
        yield "without ~: by the tokens of earlier calls of the same asset and model"
    if any(line.is_most for line in lines):
        yield "at most: rows are written again, and the memo answers requests that stay the same"
