"""Questions of a corpus in `queries.jsonl`, with their references and relevant documents."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import pyarrow as pa
from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from gsum_assets.corpus.decoding import is_blank
from gsum_assets.corpus.rows import rows_of
from gsum_assets.pipeline.corpus_settings import CorpusError, CorpusSettings
from gsum_assets.pipeline.tables import TABLES
from gsum_resources.settings.paths import read_if_exists, unreadable

QUERIES_FILE = "queries.jsonl"

QuestionKind = Literal[
    "general",
    "specific",
    "fact-retrieval",  # this and the next three are the types of GraphRAG-Bench
    "complex-reasoning",
    "contextual-summarize",
    "creative-generation",
]

_Text = Annotated[str, StringConstraints(pattern=r"\S")]
_NO_TEXTS = frozenset(
    {"query_id", "document_id", "kind", "form", "split", "is_answerable"}
    | {"relevant_document_ids", "relevant_spans"}
)
"""Keys whose values a message may show: Dagster keeps messages, and no text of a question."""


@dataclass(frozen=True)
class Span:
    """Characters `start` to `end` (one past the last) of a document's text."""

    document_id: str
    start: int
    end: int


@dataclass(frozen=True)
class Query:
    """A question, see `queries` in `tables.py`; `relevant_spans` contain the source's evidence."""

    query_id: str
    text: str
    retrieval_text: str
    kind: str
    document_id: str | None
    references: list[str]
    relevant_document_ids: list[str]
    split: str
    form: str = "summary"
    options: list[str] = field(default_factory=list)
    relevant_spans: list[Span] = field(default_factory=list)
    is_answerable: bool | None = None
    relevant_chunk_ids: Sequence[str] = ()

    @classmethod
    def of(
        cls,
        text: str,
        query_id: str | None = None,
        document_id: str | None = None,
        *,
        retrieval_text: str | None = None,
        relevant_document_ids: Iterable[str] | None = None,
        form: str | None = None,
        options: Iterable[str] = (),
        **values: Any,
    ) -> Self:
        """Return a question with the defaults of `queries.jsonl`."""
        if relevant_document_ids is None:
            relevant_document_ids = [document_id] if document_id else []
        choices = list(options)
        return cls(
            query_id=query_id or content_query_id(text, document_id),
            text=text,
            retrieval_text=retrieval_text or text,
            document_id=document_id,
            relevant_document_ids=list(dict.fromkeys(relevant_document_ids)),
            form=form or ("choice" if choices else "summary"),
            options=choices,
            **values,
        )


class _SpanLine(BaseModel):
    """One item of `relevant_spans`."""

    model_config = ConfigDict(strict=True, extra="forbid")

    document_id: str | None = None
    start: int = Field(ge=0)
    end: int

    @model_validator(mode="after")
    def _has_characters(self) -> Self:
        if self.end <= self.start:
            raise ValueError(f"end {self.end} must be larger than start {self.start}")
        return self


class _Line(BaseModel):
    """One line of `queries.jsonl`; keys that are not declared here are ignored."""

    model_config = ConfigDict(strict=True)

    text: _Text
    query_id: _Text | None = None
    retrieval_text: _Text | None = None
    kind: QuestionKind = "general"
    document_id: str | None = None
    references: list[str] = Field(default_factory=list)
    relevant_document_ids: list[str] | None = None
    split: Literal["train", "dev", "test"] = "test"
    form: Literal["summary", "short", "choice"] | None = None
    options: list[_Text] = Field(default_factory=list, max_length=26)
    relevant_spans: list[_SpanLine] = Field(default_factory=list)
    answerable: bool | None = None

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if is_blank(self.text) or is_blank(self.retrieval_text or self.text):
            raise ValueError("text has only invisible characters; write the question")
        if self.form == "choice" and len(self.options) < 2:
            raise ValueError(f"form 'choice' with {len(self.options)} options; give at least two")
        if self.form not in (None, "choice") and self.options:
            raise ValueError(f"options with form '{self.form}'; make it 'choice' or remove them")
        if strangers := [r for r in self.references if self.options and r not in self.options]:
            raise ValueError(f"{len(strangers)} of the references are none of the options")
        if self.document_id is None and any(s.document_id is None for s in self.relevant_spans):
            raise ValueError("relevant_spans without document_id; name the document of each")
        return self


def load_queries(folder: Path, document_ids: Collection[str]) -> tuple[list[Query], list[str]]:
    """Return the valid queries of a corpus in their order, and a message for each rejected one."""
    return queries_in(_lines(folder), document_ids, f"{QUERIES_FILE} line")


def queries_in(
    lines: Iterable[tuple[int, bytes]], document_ids: Collection[str], source: str
) -> tuple[list[Query], list[str]]:
    """Return the queries of numbered lines of JSON, and a message for each bad one.

    A message has `source` before the line's number, then query, value and remedy.
    """
    known = frozenset(document_ids)
    queries: list[Query] = []
    failures: list[str] = []
    numbers: dict[str, int] = {}
    for number, content in lines:
        where = f"{source} {number}"
        try:
            line = _Line.model_validate(json.loads(content.decode("utf-8")))
        except ValidationError as error:
            row = json.loads(content)
            query_id = row.get("query_id") if isinstance(row, dict) else None
            name = f", query {query_id!r}" if query_id else ""
            failures.append(f"{where}{name}: {_line_errors(error)}")
            continue
        except (ValueError, RecursionError) as error:
            failures.append(f"{where}: not JSON in UTF-8 ({error}); correct the line")
            continue
        values = line.model_dump(exclude={"answerable", "relevant_spans"})
        spans = [
            Span(span.document_id or line.document_id or "", span.start, span.end)
            for span in line.relevant_spans
        ]
        query = Query.of(**values, relevant_spans=spans, is_answerable=line.answerable)
        where = f"{where}, query '{query.query_id}'"
        named = [*([query.document_id] if query.document_id else []), *query.relevant_document_ids]
        named += [span.document_id for span in query.relevant_spans]
        unknown = [document_id for document_id in named if document_id not in known]
        if first := numbers.get(query.query_id):
            failures.append(f"{where}: query_id already used on line {first}; rename one")
        elif unknown:
            failures.append(
                f"{where}: document '{unknown[0]}' is not in the corpus or was rejected; "
                "add it or correct document_id and relevant_document_ids"
            )
        else:
            numbers[query.query_id] = number
            queries.append(query)
    return queries, failures


def may_have_questions(folder: Path, settings: CorpusSettings) -> bool:
    """Return whether a corpus has or requests questions, valid or not."""
    return bool(settings.questions.get("n")) or any(True for _ in _lines(folder))


def _lines(folder: Path) -> Iterator[tuple[int, bytes]]:
    """Yield line numbers, from 1, and the lines that are not blank."""
    file = folder / QUERIES_FILE
    try:
        content = (read_if_exists(file) or b"").removeprefix(b"\xef\xbb\xbf")
    except OSError as error:
        raise CorpusError(f"{file}: {unreadable(error)}") from error
    for number, line in enumerate(content.split(b"\n"), start=1):
        if line.strip():
            yield number, line


def as_queries(generated: pa.Table) -> list[Query]:
    """Return generated questions, which are about the whole corpus and have no reference."""
    rows = generated.select(["query_id", "text"]).to_pylist()
    return [
        Query.of(row["text"], row["query_id"], kind="general", references=[], split="generated")
        for row in rows
    ]


def content_query_id(text: str, document_id: str | None) -> str:
    """Return the id of a query that has none: a hash of its text and document."""
    content = json.dumps([text, document_id]).encode()
    return "q" + hashlib.blake2b(content, digest_size=10).hexdigest()


def _line_errors(error: ValidationError) -> str:
    """Return key, value and remedy of each validation error of a line, without texts."""
    messages = []
    for problem in error.errors():
        key = ".".join(map(str, problem["loc"])) or "the line"
        names_value = problem["type"] != "missing" and not _NO_TEXTS.isdisjoint(problem["loc"][:1])
        value = f" has value {problem['input']!r:.80}" if names_value else ""
        messages.append(f"'{key}'{value}: {problem['msg']}")
    return "; ".join(messages) + "; correct the line"


def query_rows(queries: Sequence[Query], chunks: pa.Table) -> tuple[pa.Table, list[str]]:
    """Return rows of `queries`, and a message for each question without a matching passage."""
    chunks_of: dict[str, list[tuple[int, int, str]]] = defaultdict(list)
    for row in chunks.select(["chunk_id", "document_id", "start", "end"]).to_pylist():
        chunks_of[row["document_id"]].append((row["start"], row["end"], row["chunk_id"]))
    located, failures = [], []
    for query in queries:
        relevant = [  # passage and span share at least half of the shorter one
            chunk_id
            for span in query.relevant_spans
            for start, end, chunk_id in sorted(chunks_of[span.document_id])
            if 2 * (min(end, span.end) - max(start, span.start))
            >= min(end - start, span.end - span.start)
        ]
        if query.relevant_spans and not relevant:
            failures.append(
                f"query '{query.query_id}': its relevant_spans are outside of every passage; "
                "correct start and end (characters of the document's text)"
            )
        ids = list(dict.fromkeys([*relevant, *query.relevant_chunk_ids]))
        located.append(replace(query, relevant_chunk_ids=ids))
    return rows_of(TABLES["queries"], located), failures
