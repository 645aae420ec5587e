"""Validation of the rows of a given graph, one by one, so that invalid rows are skipped."""

import re
from collections.abc import Iterator
from itertools import chain
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
from gsum_assets.corpus.table_files import cells
from gsum_assets.graphrag.schemas import Name, Relationship
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.text.sentences import flat_text

# ids by `chunk.py`; those of Microsoft's package have 128 digits
_CHUNK_ID = re.compile(r"c[0-9a-f]{20}")
_SHOWN = 3  # examples in a message

_OneLine = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
_Description = Annotated[str, AfterValidator(flat_text)]
_Kind = Annotated[_OneLine, Field(max_length=MOST_CHARS), AfterValidator(str.lower)]


class FileRow(BaseModel):
    """A row of a file of the graph."""

    needs: ClassVar[tuple[tuple[str, ...], ...]]  # required columns, by all of their names
    may_have: ClassVar[tuple[str, ...]] = ()

    @model_validator(mode="before")
    @classmethod
    def _without_nulls(cls, row: dict[str, Any]) -> dict[str, Any]:
        return {name: value for name, value in row.items() if value is not None}


class Passage(BaseModel):
    """A part of a document, in characters."""

    document_id: str
    start: int
    end: int


class Row(FileRow):
    """Fields of the rows of entities and relationships."""

    may_have = ("text_unit_ids", "document_ids", "passages")

    description: _Description = ""
    text_unit_ids: list[str] = []
    document_ids: list[str] = []
    passages: list[Passage] = []

    @property
    def chunk_ids(self) -> list[str]:
        """Ids of chunks of our form, also of other buckets."""
        return [chunk_id for chunk_id in self.text_unit_ids if _CHUNK_ID.fullmatch(chunk_id)]


class EntityRow(Row):
    """A row of `entities.parquet`."""

    needs = (("title", "name"), ("type",), ("description",))

    title: Name = Field(validation_alias=AliasChoices("title", "name"))
    type: _Kind = ""


class RelationshipRow(Row, Relationship):
    """A row of `relationships.parquet`."""

    needs = (("source",), ("target",), ("description",))
    may_have = ("weight", *Row.may_have)

    description: _Description = ""
    weight: float = 1.0


AnyRow = TypeVar("AnyRow", bound=FileRow)


def good_rows(folder: Path, name: str, model: type[AnyRow]) -> tuple[list[AnyRow], list[str]]:
    """Return the valid rows of a file, and a line on the others if there are any.

    Raises
    ------
    CorpusError
        If the file is not Parquet or lacks a column.
    """
    good, errors, number = [], [], 0
    for number, row in enumerate(_rows(folder / name, model), start=1):
        try:
            good.append(model.model_validate(row))
        except ValidationError as error:
            errors.append(f"row {number}: {_first_error(error)}")
    examples = "; ".join([*errors[:_SHOWN], *(["…"] if len(errors) > _SHOWN else [])])
    left_out = f"{name}: {len(errors):,} of {number:,} rows left out ({examples}); correct them"
    return good, [left_out] if errors else []


def _rows(file: Path, model: type[FileRow]) -> Iterator[dict[str, Any]]:
    """Yield the rows as plain values, with texts as bytes, since Arrow does not validate UTF-8."""
    try:
        with file.open("rb") as stream:
            source = pq.ParquetFile(stream)
            names = source.schema_arrow.names
            for alternatives in model.needs:
                if not set(alternatives) & set(names):
                    lacking = " or ".join(f"'{name}'" for name in alternatives)
                    raise CorpusError(
                        f"{file} has no column {lacking} (it has {', '.join(names)}); "
                        "add it, or rename the column that holds it"
                    )
            used = [name for name in (*chain(*model.needs), *model.may_have) if name in names]
            table = source.read(columns=used)
            columns = [cells(table[name]) for name in used]
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        # Arrow reports corrupt files as a plain OSError; subclasses are errors of disk or network.
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        reason = str(error).splitlines()[0]
        raise CorpusError(
            f"{file} is not readable as Parquet ({reason}); write it again"
        ) from error
    for row in zip(*columns, strict=True):
        yield dict(zip(used, row, strict=True))


def _first_error(error: ValidationError) -> str:
    """Return the message of the first validation error of a row."""
    problem = error.errors()[0]
    message = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return message
    where = f"'{problem['loc'][0]}'"
    return f"{where} is missing" if problem["type"] == "missing" else f"{where}: {message}"
