"""Text of Jupyter notebooks: the Markdown and the code of their cells."""

import json
import re
from dataclasses import replace
from typing import Any

from gsum_assets.corpus.conversion.formats import (
    ConversionError,
    Converted,
    Report,
    counted,
    decoded_text,
    paged,
    readable_as,
    useful_title,
)

_HEADING = re.compile(r"^ {0,3}#{1,6}[ \t]+\S", re.MULTILINE)
_BACKTICKS = re.compile(r"`{3,}")


def convert_notebook(content: bytes, _: Report) -> Converted:
    """Return the cells of a notebook as Markdown, code in fences; outputs are counted.

    Cells are numbered where no Markdown cell has a heading.
    """
    with readable_as("a notebook", "open it in Jupyter and save it again"):
        notebook = json.loads(decoded_text(content))
        # before version 4 the cells were in worksheets
        sheets = [notebook] if "cells" in notebook else notebook["worksheets"]
        cells, outputs = [], []
        for cell in (cell for sheet in sheets for cell in sheet["cells"]):
            source = cell.get("source", cell.get("input", ""))
            text = source if isinstance(source, str) else "".join(source)
            if cell.get("cell_type") == "heading":  # before version 4
                text = f"{'#' * int(cell['level'])} {text}"
            cells.append((cell.get("cell_type"), text))
            outputs += [text for text in map(_printed, cell.get("outputs", ())) if text.strip()]
        metadata, language = notebook.get("metadata", {}), ""
        language = metadata.get("language_info", {}).get("name", "")
    texts = [_shown(kind, source, str(language)) for kind, source in cells if source.strip()]
    if not texts:
        raise ConversionError("the notebook has no text in its cells; fill it or remove it")
    title, left_out = useful_title(metadata.get("title")), counted(("output", outputs))
    if any(kind == "markdown" and _HEADING.search(source) for kind, source in cells):
        return Converted(title, "\n\n".join(texts), left_out=left_out)
    labels = [f"cell {number}" for number, (_, source) in enumerate(cells, 1) if source.strip()]
    return replace(paged(title, texts, labels), left_out=left_out)


def _printed(output: dict[str, Any]) -> str:
    printed = output.get("text") or output.get("data", {}).get("text/plain") or ""
    return printed if isinstance(printed, str) else "".join(printed)


def _shown(kind: Any, source: str, language: str) -> str:
    source = source.strip("\n")
    if kind != "code":
        return source
    longest = max((len(run[0]) for run in _BACKTICKS.finditer(source)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{source}\n{fence}"
