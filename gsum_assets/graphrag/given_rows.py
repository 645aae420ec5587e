"""Rows of a given graph, each checked for itself: what cannot be used never loses the rest."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Annotated, Any, ClassVar, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import (
    AfterValidator,
    AliasChoices,
    BaseModel,
    Field,
    ValidationError,
    model_validator,
)

from gsum_assets.corpus.names import MOST_CHARS
from gsum_assets.corpus.records import cells
from gsum_assets.corpus.settings import CorpusError
from gsum_assets.graphrag.schemas import Name, Relationship

_CHUNK_ID = re.compile(r"c[0-9a-f]{20}")  # as `chunk.py` makes them; the package's have 128 digits
_SHOWN = 3  # examples in a message


def _one_line(text: str) -> str:
    return " ".join(text.split())


_OneLine = Annotated[str, AfterValidator(_one_line)]
_Kind = Annotated[_OneLine, Field(max_length=MOST_CHARS), AfterValidator(str.lower)]


@dataclass(frozen=True, order=True)
class Place:
    """Where a row says that it stands: in chunks of ours, or else in documents; none: anywhere.

    Ids are in ascending order.
    """

    chunk_ids: tuple[str, ...] = ()
    document_ids: tuple[str, ...] = ()


class Row(BaseModel):
    """What rows of both files have."""

    needs: ClassVar[tuple[tuple[str, ...], ...]]  # columns, each with other names for it
    may_have: ClassVar[tuple[str, ...]] = ("text_unit_ids", "document_ids")

    description: _OneLine = ""
    text_unit_ids: list[str] = []
    document_ids: list[str] = []

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, row: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if value is not None}

    def place(self) -> Place:
        """Return the ids of chunks count where they have the form of ours, be they of this bucket or not."""
        ours = {chunk_id for chunk_id in self.text_unit_ids if _CHUNK_ID.fullmatch(chunk_id)}
        return Place(tuple(sorted(ours)), tuple(sorted(set(self.document_ids))))


class EntityRow(Row):
    """A row of `entities.parquet`."""

    needs = (("title", "name"), ("type",), ("description",))

    title: Name = Field(validation_alias=AliasChoices("title", "name"))
    type: _Kind = ""


class RelationshipRow(Row, Relationship):
    """A row of `relationships.parquet`."""

    needs = (("source",), ("target",), ("description",))
    may_have = ("weight", *Row.may_have)

    description: _OneLine = ""
    weight: float = 1.0


AnyRow = TypeVar("AnyRow", bound=Row)


def good_rows(folder: Path, name: str, model: type[AnyRow]) -> tuple[list[AnyRow], list[str]]:
    """Return the rows of a file that can be used, and a line on the others if there are any.

    Parameters
    ----------
    folder : the corpus folder.
    name : of the file, relative to it.

    Raises
    ------
    CorpusError
        If the file is not Parquet or lacks a column.
    """
    good, slips, number = [], [], 0
    for number, row in enumerate(_rows(folder / name, model), start=1):
        try:
            good.append(model.model_validate(row))
        except ValidationError as error:
            slips.append(f"row {number}: {_told(error)}")
    left_out = f"{name}: {len(slips):,} of {number:,} rows left out ({examples(slips)})"
    return good, [f"{left_out}; correct them"] if slips else []


def examples(items: Iterable[str]) -> str:
    """Return the first few, and whether there are more."""
    first = list(islice(items, _SHOWN + 1))
    return "; ".join([*first[:_SHOWN], *(["…"] if len(first) > _SHOWN else [])])


def _rows(file: Path, model: type[Row]) -> Iterator[dict[str, Any]]:
    """Yield the rows as plain values, texts as bytes: Arrow does not vouch for their UTF-8."""
    try:
        with file.open("rb") as stream:
            source = pq.ParquetFile(stream)
            names = source.schema_arrow.names
            used = _used_columns(file, names, model)
            table = source.read(columns=used)
            columns = {name: cells(table[name]) for name in used}
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        # Arrow reports damage as a plain OSError; its subclasses come from disk or network.
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        reason = str(error).splitlines()[0]
        raise CorpusError(f"{file} is not readable as Parquet ({reason}); write it anew") from error
    for row in zip(*columns.values(), strict=True):
        yield dict(zip(columns, row, strict=True))


def _used_columns(file: Path, names: list[str], model: type[Row]) -> list[str]:
    """Those columns of a file that are read; `CorpusError` where one is lacking."""
    for wanted in model.needs:
        if not set(wanted) & set(names):
            lacking = " or ".join(f"'{name}'" for name in wanted)
            raise CorpusError(
                f"{file} has no column {lacking} (it has {', '.join(names)}); "
                "add it, or rename the column that holds it"
            )
    return [name for name in (*chain(*model.needs), *model.may_have) if name in names]


def _told(error: ValidationError) -> str:
    """Return the first thing that is wrong with a row."""
    problem = error.errors()[0]
    message = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return message
    where = f"'{problem['loc'][0]}'"
    return f"{where} is missing" if problem["type"] == "missing" else f"{where}: {message}"
