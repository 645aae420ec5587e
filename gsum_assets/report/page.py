"""Contents and rendering of the report's page."""

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, NamedTuple

import pyarrow as pa

from gsum_assets.evaluation.comparisons import ALL
from gsum_assets.evaluation.judges.bias import own_judge_note, position_bias
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_assets.plots.figure import to_svg
from gsum_assets.plots.main_metrics import main_metrics, scale_of, shown_value
from gsum_assets.plots.quality_cost import quality_cost
from gsum_assets.report.board import Board, boards
from gsum_assets.report.judges import duel_criteria
from gsum_assets.report.questions import Detail, Question, detail, in_split
from gsum_assets.report.stored import Stored
from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.store.arrow import pc

if TYPE_CHECKING:
    from jinja2 import Environment

_N_LISTED = 12  # contexts of an answer shown by name; further ones are numbered links
_N_DOCUMENTS = 100  # documents shown by title
_CONTROLS = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufffe\uffff]")


class Plot(NamedTuple):
    """A picture as a `data:` address with an alternative text."""

    source: str
    alt: str


class Compared(NamedTuple):
    """A board with its plot; `cost` is None if costs are unknown."""

    board: Board
    cost: Plot | None


class Verdicts(NamedTuple):
    """Results of pairwise judging; `rates`: rows of `win_rates`, on the overall winner first."""

    judge: str
    rates: Sequence[Mapping[str, Any]]
    bias: Sequence[Mapping[str, Any]]
    n_unparsed: int
    n: int


class Page(NamedTuple):
    """Everything on the page; `number` is that of each method, from 1, in anchors.

    `is_subset`: whether methods of the leaderboard are left out.
    """

    stored: Stored
    is_subset: bool
    split: str
    number: Mapping[str, int]
    n_questions: Mapping[str, int]
    models: Sequence[str]
    own_judge: str | None
    compared: Sequence[Compared]
    index_costs: Sequence[Mapping[str, Any]]
    query_costs: Sequence[Mapping[str, Any]]
    verdicts: Verdicts | None
    detail: Detail


def build(stored: Stored, split: str, n_questions: int) -> Page:
    """Return the page of a split, with at most `n_questions` in detail.

    Raise `CorpusError` if there is no such split.
    """
    splits = sorted({row["split"] for row in stored.queries.to_pylist()})
    if split not in (ALL, *splits):
        raise CorpusError(
            f"corpus '{stored.corpus}' has no split '{split}'{did_you_mean(split, [*splits, ALL])}"
        )
    queries = in_split(stored.queries, split)
    kinds = sorted({row["kind"] for row in queries})
    all_boards = boards(stored.leaderboard, stored.comparisons, stored.methods, split)
    order = [method for method, _ in all_boards[0].ranked] if all_boards else []
    order += [method for method in stored.methods if method not in order]
    stored = replace(stored, methods=order)
    costs = stored.costs.to_pylist()
    rank = {method: i for i, method in enumerate(order, 1)}
    shown = sorted((c for c in costs if c["method"] in rank), key=lambda c: rank[c["method"]])
    return Page(
        stored=stored,
        is_subset=not set(stored.leaderboard["method"].to_pylist()) <= set(order),
        split=split,
        number=rank,
        n_questions={kind: sum(row["kind"] == kind for row in queries) for kind in kinds},
        models=sorted(set(stored.summaries["model"].to_pylist())),
        own_judge=own_judge_note(stored.judgements),
        compared=[_compared(board, costs, stored.corpus) for board in all_boards],
        index_costs=[cost for cost in shown if cost["stage"] == "index"],
        query_costs=[cost for cost in shown if cost["stage"] == "query"],
        verdicts=_verdicts(stored),
        detail=detail(stored, split, n_questions),
    )


def render(page: Page) -> str:
    """Render the page as HTML; the same page gives the same text."""
    return (
        _environment()
        .get_template("page.html")
        .render(page=page, n_listed=_N_LISTED, n_documents=_N_DOCUMENTS)
    )


def _environment() -> "Environment":
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("gsum_assets", "report"),
        autoescape=True,
        finalize=_printable,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "count": lambda n: f"{n:,.0f}",
        "seconds": lambda value: (
            f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 1 else f"{value:.3f}"
        ),
        "dollars": lambda value: f"{value:,.2f}" if value >= 1 or not value else f"{value:.2g}",
        "share": lambda value: "–" if value is None else f"{100 * value:.1f}",
        "p": lambda p: "< 0.001" if p < 0.001 else f"{p:.3f}",
        "time": lambda t: f"{datetime.fromisoformat(t):%-d %B %Y, %H:%M} UTC" if t else "unknown",
        "value": lambda value, metric: shown_value(metric, value),
        "shade": _shade,
    }
    environment.globals |= {
        "duel_criteria": duel_criteria,
        "first_metric": lambda metrics: main_metrics(metrics)[0],
        "scale_of": scale_of,
    }
    return environment


def _printable(value: object) -> object:
    """Replace characters that HTML forbids or that are invisible by U+FFFD."""
    if not isinstance(value, str) or hasattr(value, "__html__"):  # already rendered by a macro
        return value
    return _CONTROLS.sub("\ufffd", value)


def _shade(question: Question, value: float, metric: str) -> int:
    """Return 0 to 4: where a score lies between the lowest and highest of its question."""
    values = [a.scores[metric] for a in question.answers if metric in a.scores]
    low, high = min(values), max(values)
    return round(4 * (value - low) / (high - low)) if high > low else 0


def _compared(board: Board, costs: Sequence[Mapping], corpus: str) -> Compared:
    about = f"{corpus}, {board.kind} questions"
    figure = quality_cost(board.ranked, costs, about)
    if figure is None:
        return Compared(board, None)
    # an image, in which no scripts run and ids cannot clash
    svg = base64.b64encode(to_svg(figure).encode()).decode()
    alt = f"Scatter plot of quality against the cost of a question: {about}"
    return Compared(board, Plot(f"data:image/svg+xml;base64,{svg}", alt))


def _verdicts(stored: Stored) -> Verdicts | None:
    """Return the pairwise results, or None if no judge compared two of the methods shown."""
    methods = pa.array(stored.methods, pa.string())
    shown = pc.and_(
        pc.is_in(stored.win_rates["method"], methods),
        pc.is_in(stored.win_rates["opponent"], methods),
    )
    rates = stored.win_rates.filter(shown)
    if not rates.num_rows:
        return None
    verdicts = stored.judgements.filter(pc.equal(stored.judgements["judge"], "pairwise"))
    return Verdicts(
        judge=", ".join(sorted(set(stored.judgements["model"].to_pylist()))),
        rates=sorted(rates.to_pylist(), key=lambda row: row["criterion"] != "overall"),
        bias=position_bias(stored.judgements).to_pylist(),
        n_unparsed=verdicts["verdict"].to_pylist().count("unparsed"),
        n=verdicts.num_rows,
    )
