"""The files of a graph in a corpus folder, with the columns of Microsoft's package."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar

import pyarrow as pa
import pyarrow.parquet as pq
from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    model_validator,
)

from gsum_assets.corpus.folder import COMMUNITIES_FILE, GRAPH_FILES
from gsum_assets.corpus.names import MOST_CHARS
from gsum_assets.corpus.table_files import cells
from gsum_assets.graphrag.schemas import Name, Relationship
from gsum_assets.pipeline.corpus_settings import CorpusError
from gsum_resources.text.sentences import flat_text

# ids by `chunk.py`; those of Microsoft's package have 128 digits
_CHUNK_ID = re.compile(r"c[0-9a-f]{20}")
_SHOWN = 3  # examples in a message
_OPTIONAL = {"weight", "text_unit_ids", "document_ids", "passages", "report"}  # columns

_OneLine = Annotated[str, AfterValidator(lambda text: " ".join(text.split()))]
_Description = Annotated[str, AfterValidator(flat_text)]
_Kind = Annotated[_OneLine, Field(max_length=MOST_CHARS), AfterValidator(str.lower)]


class FileRow(BaseModel):
    """A row of a file of the graph, by the columns that are read."""

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

    title: Name
    type: _Kind = ""


class RelationshipRow(Row, Relationship):
    """A row of `relationships.parquet`."""

    description: _Description = ""
    weight: float = 1.0


class GivenFinding(BaseModel):
    """A finding, the entities that it is about, and the passages that it cites, if any."""

    summary: str
    explanation: str = ""
    entities: list[str] = []
    passages: list[Passage] = []


class GivenReport(BaseModel):
    """A report on a community."""

    title: str = Field(min_length=1)
    summary: str
    rating: Annotated[float, AfterValidator(lambda r: min(10.0, max(0.0, r)))] = 0.0
    rating_explanation: str = ""
    findings: list[GivenFinding] = []


def _from_json(text: Any) -> Any:
    return json.loads(text) if isinstance(text, str | bytes) else text


class CommunityRow(FileRow):
    """A row of `communities.parquet`; `parent` is the number of a community, or -1."""

    community: int
    parent: int = -1
    entities: list[str]
    report: Annotated[GivenReport | None, BeforeValidator(_from_json)] = None


AnyRow = TypeVar("AnyRow", bound=FileRow)


def read_graph(folder: Path) -> tuple[list[EntityRow], list[RelationshipRow], list[str]] | None:
    """Return the valid rows of `graph/` of a corpus folder, and a line for each file with others.

    Return None if there is no graph. Raise CorpusError if only one of the files exists, or a file
    is not Parquet or lacks a column.
    """
    missing = [name for name in GRAPH_FILES if not (folder / name).is_file()]
    if len(missing) == len(GRAPH_FILES):
        return None
    if missing:
        (other,) = set(GRAPH_FILES) - set(missing)
        raise CorpusError(
            f"{folder / other} exists without {missing[0]}; add that file, or remove the first to "
            "have the graph extracted"
        )
    entities, entity_errors = _good_rows(folder, GRAPH_FILES[0], EntityRow)
    relationships, relationship_errors = _good_rows(folder, GRAPH_FILES[1], RelationshipRow)
    return entities, relationships, [*entity_errors, *relationship_errors]


def read_communities(folder: Path | None) -> tuple[list[CommunityRow], list[str]] | None:
    """Return the communities in `graph/` of a corpus folder, and a line on invalid rows if any.

    Return None if there is no such file. Raise CorpusError if it is not Parquet or lacks a column.
    """
    if folder is None or not (folder / COMMUNITIES_FILE).is_file():
        return None
    return _good_rows(folder, COMMUNITIES_FILE, CommunityRow)


def _good_rows(folder: Path, name: str, model: type[AnyRow]) -> tuple[list[AnyRow], list[str]]:
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
            present = source.schema_arrow.names
            if lacking := model.model_fields.keys() - _OPTIONAL - set(present):
                raise CorpusError(
                    f"{file} has no column '{min(lacking)}' (it has {', '.join(present)}); "
                    "add it, or rename the column that holds it"
                )
            used = [name for name in model.model_fields if name in present]
            table = source.read(columns=used)
            values = [cells(table[name]) for name in used]
    except (pa.ArrowException, OSError, KeyError, UnicodeDecodeError) as error:
        # Arrow reports corrupt files as a plain OSError; subclasses are errors of disk or network.
        if isinstance(error, OSError) and type(error) is not OSError:
            raise
        reason = str(error).splitlines()[0]
        raise CorpusError(
            f"{file} is not readable as Parquet ({reason}); write it again"
        ) from error
    for row in zip(*values, strict=True):
        yield dict(zip(used, row, strict=True))


def _first_error(error: ValidationError) -> str:
    """Return the message of the first validation error of a row."""
    problem = error.errors()[0]
    message = problem["msg"].removeprefix("Value error, ")
    if not problem["loc"]:
        return message
    where = f"'{problem['loc'][0]}'"
    return f"{where} is missing" if problem["type"] == "missing" else f"{where}: {message}"
