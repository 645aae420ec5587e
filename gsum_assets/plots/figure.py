"""Common style of all plots, and conversion of figures to images."""

import base64
import io
import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
else:  # the functions that draw import matplotlib
    Axes = Figure = Any

INK, FAINT = "#333333", "#8c8c8c"
# Okabe and Ito (2008), distinguishable by colour-blind readers; without black, and without yellow,
# which is hard to see on white
COLOURS = ("#0072b2", "#e69f00", "#009e73", "#d55e00", "#cc79a7", "#56b4e9")
BEST = COLOURS[3]
BOUND = "#b9b9b9"  # an upper bound
OTHERS = "#a9a9a9"  # what has no colour of its own
_DPI = 110
_PALETTE = 48  # colours of a PNG: a third of the bytes, without a visible difference
_NOT_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")


def new_figure(width: float, height: float, title: str) -> Figure:
    """Return a white figure with a heading, `width` and `height` in inches."""
    from matplotlib.figure import Figure

    figure = Figure((width, height), dpi=_DPI, facecolor="white", layout="constrained")
    figure.suptitle(title, x=0.01, ha="left", fontsize=10, color=INK, parse_math=False)
    return figure


def new_axes(
    figure: Figure,
    where: tuple[int, int, int] = (1, 1, 1),
    title: str = "",
    x: str = "",
    y: str = "",
) -> Axes:
    """Add axes with a title and the axis labels `x` and `y`, without lines that are not needed.

    `where`: numbers of rows and columns of panels, and which of them, from 1.
    """
    axes = figure.add_subplot(*where)
    axes.set_facecolor("none")
    axes.set_title(title, loc="left", fontsize=10, color=INK)
    axes.set_xlabel(x, fontsize=9, color=INK)
    axes.set_ylabel(y, fontsize=9, color=INK)
    axes.tick_params(labelsize=9, colors=INK, length=3, color=FAINT)
    axes.spines[["top", "right"]].set_visible(False)
    axes.spines[["left", "bottom"]].set_color(FAINT)
    axes.set_axisbelow(True)
    return axes


def to_markdown(figure: Figure, alt: str) -> str:
    """Return the figure as an image in Markdown, with an alternative text."""
    return f"![{alt}](data:image/png;base64,{base64.b64encode(to_png(figure)).decode()})"


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
