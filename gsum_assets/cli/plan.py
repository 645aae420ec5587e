"""Output of `gsum plan`."""

from collections.abc import Iterator, Sequence

from rich.table import Table as Grid

from gsum_assets.cli.terminal import _screen
from gsum_assets.pipeline.finding import count
from gsum_assets.planning.plan import Plan
from gsum_assets.planning.plan_lines import EARLIER, ESTIMATE, Line


def print_plan(plan: Plan) -> None:
    """Print the requests and cost of a run, for index and questions separately."""
    screen, everything = _screen(), plan.total()
    screen.print(f"{plan.corpus}: {plan.requests}", markup=False, soft_wrap=True)
    if plan.lines:
        screen.print(_plan_grid(plan))
    for note in _assumptions(plan.lines):
        screen.print(note, soft_wrap=True)
    for note in plan.notes:
        screen.print(note, style="yellow", markup=False, soft_wrap=True)
    if plan.is_current:
        screen.print(f"{plan.corpus}: nothing to pay, all that calls a model is up to date")
    elif not everything.n and not everything.tokens_in:
        screen.print(f"{plan.corpus}: nothing to pay, a run would send no new request to a model")


def print_total(plans: Sequence[Plan]) -> None:
    """Print the requests and cost of several plans together."""
    totals = [plan.total() for plan in plans]
    n, tokens_in, tokens_out = (
        sum(getattr(total, name) for total in totals) for name in ("n", "tokens_in", "tokens_out")
    )
    _screen().print(
        f"all {len(plans)} corpora: {count(n, 'call')}, {tokens_in:,} tokens in, {tokens_out:,} "
        f"out, USD {_usd(sum(total.usd for total in totals))}",
        soft_wrap=True,
    )


def _plan_grid(plan: Plan) -> Grid:
    grid = Grid(title=f"{plan.corpus}: requests of a run", title_justify="left")
    grid.add_column("asset", no_wrap=True)
    grid.add_column("stage", no_wrap=True)
    for name in ("requests", "from memo", "tokens in", "tokens out", "USD"):
        grid.add_column(name, justify="right", no_wrap=True)
    for line in plan.lines:
        grid.add_row(line.asset, line.stage, *_amounts(line))
    grid.add_section()
    for stage in ("index", "query"):
        grid.add_row(f"all of {stage}", stage, *_amounts(plan.total(stage)))
    if plan.n_questions:
        query = plan.total("query")
        each = [f"{n / plan.n_questions:,.1f}" for n in (query.tokens_in, query.tokens_out)]
        calls = f"{query.n / plan.n_questions:,.1f} calls"
        price = _usd(query.usd / plan.n_questions)
        grid.add_row(f"each of {plan.n_questions:,} questions", "query", calls, "", *each, price)
    grid.add_row("total", "", *_amounts(plan.total()), style="bold")
    return grid


def _amounts(line: Line) -> tuple[str, ...]:
    """Return the cells of a line; estimates have a tilde."""
    about_in = "~" if line.tokens_in_from == ESTIMATE else ""
    about_out = "~" if line.tokens_out_from == ESTIMATE else ""
    return (
        f"{line.n:,} {line.unit}",
        f"{line.from_memo:,}" if line.unit == "calls" else "",
        f"{about_in}{line.tokens_in:,}",
        f"{about_out}{line.tokens_out:,}",
        _usd(line.usd),
    )


def _usd(amount: float) -> str:
    return f"{amount:,.2f}" if amount >= 1 or not amount else f"{amount:.4f}"


def _assumptions(lines: Sequence[Line]) -> Iterator[str]:
    """Yield how the numbers of tokens were determined."""
    sources = {source for line in lines for source in (line.tokens_in_from, line.tokens_out_from)}
    if ESTIMATE in sources:
        yield (
            "~: an estimate of one token for four bytes, with the replies of the extractive model; "
            "number and length of later requests follow from these replies"
        )
    if EARLIER in sources:
        yield (
            "without ~: derived from the tokens that a server counted in earlier calls, including "
            "repeated requests"
        )
    if sources - {ESTIMATE, EARLIER}:
        yield "without ~: counted by the local model, which costs nothing"
