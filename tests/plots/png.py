"""What holds of every plot: drawn without a warning, a small PNG on white, not too wide."""

import io
import warnings
from collections.abc import Callable
from typing import Any

from PIL import Image

MAX_BYTES = 60_000  # a plot is stored in the event log once a partition


def drawn(draw: Callable[..., bytes], *args: Any, **how: Any) -> bytes:
    """Return the plot that `draw` gives; a warning is an error."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return draw(*args, **how)


def image_of(png: bytes) -> Image.Image:
    image = Image.open(io.BytesIO(png))
    assert image.format == "PNG"
    image.load()
    return image


def check(png: bytes, max_bytes: int = MAX_BYTES, max_width: int = 1100) -> None:
    """Check the size of a plot, and that there is something on white paper."""
    image = image_of(png)
    assert image.width <= max_width
    assert len(png) < max_bytes
    assert image.convert("RGB").getpixel((0, 0)) == (255, 255, 255)  # legible in dark mode too
    assert len(image.convert("L").getcolors() or ()) > 2


def is_empty(png: bytes) -> bool:
    """Return whether a plot is only a message."""
    return image_of(png).height < 100
