"""Schema of `corpus.toml`, and the error messages for invalid values."""

import json
import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import not_
from pathlib import Path
from typing import Any, Literal, TypeVar

from pydantic import (
    BaseModel,
    Field,
    ValidationError,
    model_validator,
)

from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.paths import is_remote, read_if_exists, unreadable
from gsum_resources.settings.table import SettingsTable

SETTINGS_FILE = "corpus.toml"

Kind = Literal["meeting", "story", "news", "paper", "report", "other"]
Section = TypeVar("Section", bound=BaseModel)


@dataclass(frozen=True)
class ColumnNames:
    """The columns that `corpus.toml` names; empty: found automatically.

    Attributes
    ----------
    text : columns of the text; of several the first one that a table has.
    title, id : columns of title and id.
    """

    text: Sequence[str] = ()
    title: str = ""
    id: str = ""


FOUND = ColumnNames()


class CorpusError(ValueError):
    """Error for a corpus, its settings or a benchmark's source that cannot be used."""


def corpus_name_problem(corpus: str) -> str | None:
    """Return why a corpus name is no valid partition key and folder, or None."""
    if re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}", corpus):
        return None
    return "use letters, digits, '.', '_' and '-', at most 100, beginning with a letter or digit"


class ChunkingSettings(SettingsTable):
    """Table `[chunking]`: how a document is cut into passages; lengths in word pieces."""

    chunker: Literal["tokens", "lines"] = Field(
        default="tokens", description="sliding window or lines"
    )
    max_tokens: int = Field(default=256, ge=1, description="longest chunk, word pieces (gor, 3.1)")
    overlap_tokens: int = Field(default=32, ge=0, description="shared by neighbours, word pieces")
    overlap_lines: int = Field(
        default=0, ge=0, description="lines shared by neighbours, chunker 'lines'"
    )
    borders: Literal["length", "content"] = Field(
        default="content",
        description="'content': chunks end at sentences or lines selected by their text, so that "
        "an edit changes the chunks near it only; 'length': they are as full as can be",
    )

    @model_validator(mode="after")
    def _window_advances(self) -> "ChunkingSettings":
        if self.chunker == "tokens" and self.overlap_tokens >= self.max_tokens:
            raise ValueError(
                f"overlap_tokens ({self.overlap_tokens}) must be smaller than "
                f"max_tokens ({self.max_tokens})"
            )
        return self


class DocumentSettings(SettingsTable):
    """Table `[documents]`: limits of documents. A change here changes content hashes."""

    max_bytes: int = Field(default=50_000_000, ge=1, description="largest document, bytes of UTF-8")
    text_column: str | list[str] | None = Field(
        default=None,
        description="column of tables with the text, or several, of which the first that a table "
        "has is used; unset: text, body, content or the like, or the only one with long texts",
    )
    title_column: str | None = Field(
        default=None, description="column of tables with the title; unset: title, subject, headline"
    )
    id_column: str | None = Field(
        default=None,
        description="column of tables with ids that are unique in the corpus; unset: document_id",
    )

    @property
    def columns(self) -> ColumnNames:
        """The columns of tables that are named."""
        text = self.text_column or ()
        texts = (text,) if isinstance(text, str) else tuple(text)
        return ColumnNames(texts, self.title_column or "", self.id_column or "")


class AnswerSettings(SettingsTable):
    """Table `[answer]`: how questions are answered, whatever the method."""

    max_words: int = Field(default=130, ge=10, description="length of an answer, words")
    splits: list[Literal["train", "dev", "test", "generated"]] = Field(
        default=[],
        exclude_if=not_,  # so that answers written without it keep their settings
        description="splits whose questions are answered, if not all: networks are trained on "
        "those of train, whose answers are paid for",
    )
    abstain: bool = Field(
        default=True,
        description='whether `gsum ask` says "The documents do not say." where the table '
        "answerability says so",
    )
    by_kind: bool = Field(
        default=False,
        description="whether evaluated answers, too, have the form of the kind of their question "
        "(a list, yes or no, …) and hold only what bears on it, as those of `gsum ask`",
    )
    response_type: str = Field(
        default="",
        description="form of all answers of a language model, such as 'a table with a row for each "
        "decision'; empty: by the kind of question, or one coherent text (the package: "
        "'Multiple Paragraphs')",
    )


class CorpusSettings(SettingsTable):
    """A corpus's `corpus.toml`; tables of methods are validated where they are read."""

    title: str = Field(default="", description="shown in the UI; empty: the folder's name")
    language: str = Field(default="en", min_length=2, description="BCP 47 code")
    kind: Kind = Field(default="other", description="what the documents are")
    methods: list[str] | None = Field(
        default=None,
        description="methods or families to start with; unset: bm25, dense, hybrid and "
        "passage_walk, or without questions the index of hybrid",
    )
    buckets: Literal[8, 16, 32, 64, 128, 256, 512, 1024] | None = Field(
        default=None,
        description="partitions of its documents, fixed when the corpus is created; unset: by "
        "its size",
    )
    ignore: list[str] = Field(
        default=[],
        description="files and folders that are not read, as in .gitignore, such as 'archive/**'; "
        "the file .gsumignore in the folder has such lines, too",
    )
    chunking: ChunkingSettings = ChunkingSettings()
    documents: DocumentSettings = DocumentSettings()
    answer: AnswerSettings = AnswerSettings()
    scores: dict[str, Any] = Field(default_factory=dict)
    judges: dict[str, Any] = Field(default_factory=dict)
    questions: dict[str, Any] = Field(default_factory=dict)
    retrieval: dict[str, Any] = Field(default_factory=dict)
    gor: dict[str, Any] = Field(default_factory=dict)
    gae: dict[str, Any] = Field(default_factory=dict)
    lightpal: dict[str, Any] = Field(default_factory=dict)
    graphrag: dict[str, Any] = Field(default_factory=dict)
    jerr: dict[str, Any] = Field(default_factory=dict)
    evidence: dict[str, Any] = Field(default_factory=dict)
    linear_rag: dict[str, Any] = Field(default_factory=dict)
    hippo_rag: dict[str, Any] = Field(default_factory=dict)
    raptor: dict[str, Any] = Field(default_factory=dict)

    def reading_fingerprint(self) -> bytes:
        """Return canonical bytes of the settings that change how a document is read."""
        return json.dumps(self.documents.model_dump(exclude_none=True), sort_keys=True).encode()


def settings_file(folder: Path) -> Path:
    """Return the path of a corpus's settings: `corpus.toml` in its folder.

    For a folder that cannot be written, `gsum init` writes `NAME.toml` beside its link in the home.
    """
    own, beside = folder / SETTINGS_FILE, folder.with_name(f"{folder.name}.toml")
    if is_remote(folder) or own.is_file() or not beside.is_file():
        return own
    return beside


def load_settings(folder: Path) -> CorpusSettings:
    """Return the settings of a corpus folder; the defaults if it has none.

    Raise `CorpusError` if it is not TOML in UTF-8, or a key or a value is wrong.
    """
    file = settings_file(folder)
    try:
        content = read_if_exists(file)
    except OSError as error:
        raise CorpusError(f"{file}: {unreadable(error)}") from error
    if content is None:
        return CorpusSettings()
    try:
        table = tomllib.loads(content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise CorpusError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8") from error
    except tomllib.TOMLDecodeError as error:
        raise CorpusError(f"{file}: not valid TOML: {error}; correct that line") from error
    return checked_settings(table, str(file))


def checked_settings(values: Mapping[str, Any], source: str) -> CorpusSettings:
    """Return tables as settings; raise `CorpusError` if there is an unknown key, or a bad value."""
    return _validated(CorpusSettings, values, source)


def checked_section(
    model: type[Section], name: str, values: Mapping[str, Any], source: str = SETTINGS_FILE
) -> Section:
    """Return a method's table of a source as its settings; see `checked_settings`."""
    return _validated(model, values, f"{source}, table [{name}]")


def _validated(model: type[Section], values: Mapping[str, Any], where: str) -> Section:
    try:
        return model.model_validate(dict(values), strict=True)
    except ValidationError as error:
        failures = "; ".join(_described(problem, model) for problem in error.errors())
        raise CorpusError(f"{where}: {failures}") from error


def _described(problem: Any, root: type[BaseModel]) -> str:
    path = [str(step) for step in problem["loc"]]
    key = ".".join(path)
    if problem["type"] == "extra_forbidden":
        model = root
        for step in path[:-1]:
            nested = model.model_fields[step].annotation
            if isinstance(nested, type) and issubclass(nested, BaseModel):
                model = nested
        keys = sorted(model.model_fields)
        nearest = did_you_mean(path[-1], keys)
        return f"unknown key '{key}' (value {problem['input']!r}){nearest}"
    message = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "value_error":
        return f"[{key}]: {message}; change one of them"
    return f"key '{key}' has value {problem['input']!r}: {message}; correct or remove it"
