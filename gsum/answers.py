"""The answer to one question, with its sources."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gsum_assets.answering.answer import Answer as Found
from gsum_assets.answering.renderings import answer_html, answer_lines

if TYPE_CHECKING:
    import pandas as pd


class Answer:
    """An answer and what it was written from; printed as `gsum ask` prints it.

    Parameters
    ----------
    found : what `gsum_assets.answering.ask` returned.
    settings : says where a model is set.

    Attributes
    ----------
    text : the answer.
    method : that found the passages.
    model : that wrote the answer; "" where no passage was found to write from.
    explanation : how it came about, where that was requested.
    """

    def __init__(self, found: Found, settings: str) -> None:
        self.text, self.method = found.text, found.method
        self.model, self.explanation = found.model, found.explanation
        self._found, self._settings = found, settings

    @property
    def is_refusal(self) -> bool:
        """Whether the text says that the documents do not answer the question."""
        return self._found.is_refusal

    @property
    def sources(self) -> "pd.DataFrame":
        """The passages in the order in which the model read them.

        Columns `title`, `location` ("page 4", "passage 3 of 14"), `text`, `document_id`, `node_id`.
        Passages in which a sentence of the answer stands, but which the model did not read, follow.
        """
        import pandas as pd

        names = ["title", "location", "text", "document_id", "node_id"]
        rows = [[getattr(source, name) for name in names] for source in self._found.sources]
        return pd.DataFrame(rows, columns=names)

    @property
    def sentences(self) -> "pd.DataFrame":
        """The sentences of the answer with the numbers of their sources.

        Columns `text`; `numbers`, the rows of `sources`, from 1, none for a sentence without a
        source; `unsupported`, what the model cites though the passage does not support it.
        """
        import pandas as pd

        rows = [[s.text, list(s.numbers), list(s.unsupported)] for s in self._found.sentences]
        return pd.DataFrame(rows, columns=["text", "numbers", "unsupported"])

    @property
    def contexts(self) -> "pd.DataFrame":
        """The same passages as rows of the table `contexts`, best first, with their scores."""
        import pandas as pd

        return pd.DataFrame([dict(row) for row in self._found.passages])

    def __str__(self) -> str:
        return "\n".join(answer_lines(self._found, self._settings))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return answer_html(self._found)


def is_frame(value: Any) -> bool:
    """Return whether this is a pandas frame, without importing pandas."""
    return hasattr(value, "columns") and hasattr(value, "to_dict")


def records_of(frame: "pd.DataFrame") -> list[dict[str, Any]]:
    """Return the rows of a frame as dicts of plain values; a missing value is left out."""
    return [plain_record(row) for row in frame.to_dict("records")]


def plain_record(row: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row with plain Python values, without those that are missing."""
    text = json.dumps({str(name): value for name, value in row.items()}, default=_plain)
    values = json.loads(text).items()
    return {name: value for name, value in values if value is not None and value == value}  # NaN


def _plain(value: Any) -> Any:
    if type(value).__name__ in ("NAType", "NaTType"):
        return None
    return value.tolist() if hasattr(value, "tolist") else list(value)  # NumPy's; sets
