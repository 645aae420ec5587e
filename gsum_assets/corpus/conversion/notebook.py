"""Text of Jupyter notebooks: the Markdown and the code of their cells."""

import json
import re
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    decoded_text,
    paged,
    readable_as,
    useful_title,
)

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_BACKTICKS = re.compile(r"`{3,}")


def convert_notebook(content: bytes, _: Report) -> Converted:
    """Return the cells of a notebook as Markdown, code in fences; outputs are not read.

    Cells are numbered where no Markdown cell has a heading.
    """
    with readable_as("a notebook", "open it in Jupyter and save it again"):
        notebook = json.loads(decoded_text(content))
        # before version 4 the cells were in worksheets
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]
        cells = []
        for cell in (cell for sheet in sheets for cell in sheet["cells"]):
            source = cell.get("source", cell.get("input", ""))
            text = source if isinstance(source, str) else "".join(source)
            if cell.get("cell_type") == "heading":  # before version 4
                text = f"{'#' * int(cell['level'])} {text}"
            cells.append((cell.get("cell_type"), text))
        metadata, language = notebook.get("metadata", {}), ""
        language = metadata.get("language_info", {}).get("name", "")
    texts = [_shown(kind, source, str(language)) for kind, source in cells if source.strip()]
    if not texts:
        raise ConversionError("the notebook has no text in its cells; fill it or remove it")
    title = useful_title(metadata.get("title"))
    if any(kind == "markdown" and _HEADING.search(source) for kind, source in cells):
        return Converted(title, "\n\n".join(texts))
    labels = [f"cell {number}" for number, (_, source) in enumerate(cells, 1) if source.strip()]
    return paged(title, texts, labels)


def _shown(kind: Any, source: str, language: str) -> str:
    source = source.strip("\n")
    if kind != "code":
        return source
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(source)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{source}\n{fence}"
