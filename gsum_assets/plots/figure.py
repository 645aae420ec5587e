"""Common style of all plots, and conversion of figures to bytes."""

import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import wraps
from typing import TYPE_CHECKING, Any, ParamSpec

import numpy as np
from rich.cells import cell_len, set_cell_size

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # the functions that draw import matplotlib
    Axes = Figure = Any

Arguments = ParamSpec("Arguments")

DPI = 110
INK, FAINT = "#333333", "#8c8c8c"
# Okabe and Ito (2008), distinguishable by colour-blind readers; without black, and without yellow,
# which is hard to see on white
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
BEST = COLOURS[3]
BOUND = "#b9b9b9"  # an upper bound
OTHERS = "#a9a9a9"  # what has no colour of its own
_PALETTE = 48  # colours of a PNG: a third of the bytes, without a visible difference
_MAX_LABEL = 28  # characters
_MAX_MESSAGE = 110  # characters
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def as_png(draw: Callable[Arguments, Figure]) -> Callable[Arguments, bytes]:
    """Return the function that draws the same figure as PNG."""

    @wraps(draw)
    def drawn(*args: Arguments.args, **kwargs: Arguments.kwargs) -> bytes:
        return to_png(draw(*args, **kwargs))

    return drawn


def new_figure(width: float, height: float, title: str = "") -> Figure:
    """Return a white figure with a heading, `width` and `height` in inches."""
    from matplotlib.figure import Figure

    figure = Figure((width, height), dpi=DPI, facecolor="white", layout="constrained")
    if title:
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK, parse_math=False)
    return figure


def new_axes(
    figure: Figure,
    where: Any = 111,
    title: str = "",
    x: str = "",
    y: str = "",
) -> Axes:
    """Add axes with a title and the axis labels `x` and `y`, without lines that are not needed.

    `where` is a position as of `Figure.add_subplot`.
    """
    axes = figure.add_subplot(*where) if isinstance(where, tuple) else figure.add_subplot(where)
    axes.set_facecolor("none")
    axes.set_title(title, loc="left", fontsize=10, color=INK, parse_math=False)
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=9, colors=INK, length=3, color=FAINT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.set_axisbelow(True)
    return axes


def legend_below(figure: Figure, colours: Mapping[str, str]) -> None:
    """Write what colours mean below a figure, by meaning."""
    from matplotlib.patches import Patch

    figure.legend(
        handles=[Patch(color=colour, label=meaning) for meaning, colour in colours.items()],
        loc="outside lower left",
        ncols=max(1, len(colours)),
        fontsize=9,
        frameon=False,
        labelcolor=INK,
        handlelength=1,
        columnspacing=1.2,
    )


def label(name: str) -> str:
    """Return a name on one line, with its middle replaced by "…" if it is long."""
    text = " ".join(name.split())
    if len(text) <= _MAX_LABEL:
        return text
    half = _MAX_LABEL // 2
    return f"{text[:half]}…{text[-half + 1 :]}"


def empty_figure(what: str) -> Figure:
    """Return a figure with a message instead of a plot."""
    if cell_len(what) > _MAX_MESSAGE:
        what = set_cell_size(what, _MAX_MESSAGE - 1) + "…"
    figure = new_figure(max(5, 0.5 + 0.085 * cell_len(what)), 0.8)
    figure.text(0.5, 0.5, what, ha="center", va="center", color=FAINT, parse_math=False)
    return figure


def to_png(figure: Figure) -> bytes:
    """Return the figure as PNG; the same figure gives the same bytes."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from PIL import Image

    canvas = FigureCanvasAgg(figure)
    with _missing_letters_allowed():
        canvas.draw()
    image = Image.fromarray(np.asarray(canvas.buffer_rgba())).convert("RGB")
    image = image.quantize(_PALETTE, method=Image.Quantize.MAXCOVERAGE, dither=Image.Dither.NONE)
    packed = io.BytesIO()
    image.save(packed, format="png", optimize=True)
    return packed.getvalue()


def to_svg(figure: Figure) -> str:
    """Return the figure as SVG with a transparent background; the same figure gives the same text.

    Text stays text, in the reader's fonts; characters that XML forbids become U+FFFD.
    """
    import matplotlib as mpl

    written = io.StringIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    fonts = ["DejaVu Sans"]  # with the reader's fonts as fallback
    with (
        mpl.rc_context({"svg.hashsalt": "gsum", "svg.fonttype": "none", "font.sans-serif": fonts}),
        _missing_letters_allowed(),
    ):
        figure.savefig(written, format="svg", facecolor="none", metadata=nothing)
    return _NOT_IN_XML.sub("\ufffd", written.getvalue())


@contextmanager
def _missing_letters_allowed() -> Iterator[None]:
    """Ignore warnings about missing letters, which are drawn as boxes."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")
        yield
