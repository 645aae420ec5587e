"""`gsum.toml`: which model serves what, and when the nightly work begins; with its mistakes told.

One small file in the home, every key optional. An environment variable `GSUM_<TABLE>_<KEY>`
(`GSUM_LLM_MODEL`, `GSUM_EMBEDDING_BASE_URL`) overrides the key of that table.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, get_origin
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from gsum_resources.suggest import did_you_mean

SETTINGS_FILE = "gsum.toml"
PREFIX = "GSUM_"
# read by `home.py`, and by the benchmarks, which start `gsum run`
_OTHER_VARIABLES = frozenset(
    {"GSUM_HOME", "GSUM_WAREHOUSE", "GSUM_DATASETS", "GSUM_MS_GRAPHRAG_PYTHON"}
)
_MAY_BE_EMPTY = frozenset({"api_key_env"})  # keys whose empty value says something


class SettingsError(ValueError):
    """A setting that cannot be used; the message names it, its value and the remedy."""


class EndpointSettings(BaseModel):
    """A server that speaks the OpenAI protocol, and how hard it may be pressed.

    Attributes
    ----------
    table : of `gsum.toml` that holds such settings, for messages.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    table: ClassVar[str]

    base_url: str = Field(
        default="https://api.openai.com/v1", description="address of the API, up to its version"
    )
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        description="environment variable that holds the key; empty: the server wants none. A "
        "server of one's own (localhost, a private address) needs none while the default is unset",
    )
    max_concurrent: int = Field(default=16, ge=1, le=1024, description="requests in flight at once")
    requests_per_minute: int = Field(
        default=0, ge=0, description="in any 60 seconds, retries included; 0: no limit"
    )
    tokens_per_minute: int = Field(
        default=0, ge=0, description="in and out, in any 60 seconds; 0: no limit"
    )
    timeout_s: float = Field(default=120.0, gt=0, description="for one attempt, seconds")
    max_retries: int = Field(
        default=6, ge=0, description="after 408, 409, 429, 5xx, a time-out or a broken connection"
    )

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if not url.startswith(("http://", "https://")):
            raise ValueError("must begin with http:// or https://")
        return url.rstrip("/")

    @field_validator("api_key_env")
    @classmethod
    def _is_a_name(cls, name: str) -> str:
        if name and not name.replace("_", "").isalnum():
            # what stands here may be a key by mistake: never repeat it
            raise ValueError("names a variable, it is not the key itself")
        return name


class LlmSettings(EndpointSettings):
    """Table `[llm]`: the language model."""

    table: ClassVar[str] = "llm"
    backend: Literal["extractive", "openai_compatible", "transformers_local"] = Field(
        default="extractive", description="what serves it"
    )
    model: str = Field(default="", description="name at the server, or path or hub id")
    version: str = Field(
        default="",
        description="change it when the model behind the name changes: replies are asked anew",
    )
    structured_output: Literal["auto", "json_schema", "json_object", "prompt"] = Field(
        default="auto", description="how JSON is asked for; auto: the best that the server takes"
    )
    max_repairs: int = Field(
        default=2, ge=0, description="re-asks after a reply of wrong structure"
    )
    usd_per_million_tokens_in: float = Field(default=0.0, ge=0, description="price, US dollars")
    usd_per_million_tokens_out: float = Field(default=0.0, ge=0, description="price, US dollars")

    @model_validator(mode="after")
    def _backend_fits_model(self) -> "LlmSettings":
        if self.backend == "extractive" and self.model not in ("", "extractive"):
            raise ValueError(
                f"model is '{self.model}', but backend is 'extractive', which has no other model; "
                "set backend to 'openai_compatible' or 'transformers_local', or remove model"
            )
        if self.backend != "extractive" and not self.model:
            raise ValueError(f"backend '{self.backend}' needs a model; set model")
        return self


class JudgeSettings(LlmSettings):
    """Table `[judge]`: the language model that judges answers."""

    table: ClassVar[str] = "judge"
    backend: Literal["same", "openai_compatible", "transformers_local"] = Field(  # type: ignore[assignment]
        default="same", description="what serves it; same: the model of [llm]"
    )

    @model_validator(mode="after")
    def _backend_fits_model(self) -> "JudgeSettings":
        if self.backend == "same" and self.model:
            raise ValueError(
                f"model is '{self.model}', but backend is 'same', the model of [llm]; set backend "
                "to 'openai_compatible' or 'transformers_local', or remove model"
            )
        if self.backend != "same" and not self.model:
            raise ValueError(f"backend '{self.backend}' needs a model; set model")
        return self


class EmbeddingSettings(EndpointSettings):
    """Table `[embedding]`: the embedder of chunks and queries."""

    table: ClassVar[str] = "embedding"
    backend: Literal["local", "openai_compatible"] = Field(
        default="local", description="what serves it"
    )
    model: str = Field(default="packaged", description="packaged, path, hub id, name at the server")
    precision: Literal["float32", "bfloat16"] = Field(
        default="float32", description="of a local model; bfloat16: two to three times as fast"
    )
    version: str = Field(default="", description="change it when the model behind the name changes")
    max_tokens: int = Field(
        default=8000, ge=16, description="longest text a server takes; longer ones go in windows"
    )
    usd_per_million_tokens: float = Field(default=0.0, ge=0, description="price, US dollars")


class ScorerSettings(EndpointSettings):
    """Table `[scorer]`: what tells how well one passage predicts another."""

    table: ClassVar[str] = "scorer"
    backend: Literal["unigram", "openai_compatible", "transformers_local"] = Field(
        default="unigram", description="what serves it; unigram: word frequencies, no model"
    )
    model: str = Field(default="", description="name at the server, or path or hub id")
    version: str = Field(default="", description="change it when the model behind the name changes")
    mu: float = Field(
        default=1000.0,
        gt=0,
        allow_inf_nan=False,
        description="of unigram: weight of the background, words",
    )
    max_tokens: int = Field(
        default=4096,
        ge=64,
        description="longest prompt a server takes; a passage gets half of it, the rest is cut",
    )
    usd_per_million_tokens: float = Field(default=0.0, ge=0, description="price, US dollars")

    @model_validator(mode="after")
    def _backend_fits_model(self) -> "ScorerSettings":
        if self.backend == "unigram" and self.model:
            raise ValueError(
                f"model is '{self.model}', but backend is 'unigram', which has no model; set "
                "backend to 'openai_compatible' or 'transformers_local', or remove model"
            )
        if self.backend != "unigram" and not self.model:
            raise ValueError(f"backend '{self.backend}' needs a model; set model")
        return self


class AutomationSettings(BaseModel):
    """Table `[automation]`: when unattended work begins."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nightly: str = Field(default="0 2 * * *", description="cron line of the nightly re-index")
    retrain: str = Field(default="0 4 * * 0", description="cron line of training every model again")
    timezone: str = Field(default="UTC", description="of those cron lines, IANA name")
    interval_s: int = Field(
        default=15, ge=1, description="between two looks at folders and tables, seconds"
    )

    @field_validator("nightly", "retrain")
    @classmethod
    def _is_cron(cls, line: str) -> str:
        from dagster._utils.schedules import is_valid_cron_string

        if not is_valid_cron_string(line):
            raise ValueError("not a cron line of five fields such as '0 2 * * *'")
        return line

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError("not the name of a time zone such as 'Europe/Berlin'")
        return name


class Settings(BaseModel):
    """Everything in `gsum.toml`."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    llm: LlmSettings = LlmSettings()
    judge: JudgeSettings = JudgeSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    scorer: ScorerSettings = ScorerSettings()
    automation: AutomationSettings = AutomationSettings()


def load_settings(home: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """The settings of a home: defaults, overridden by its file, overridden by the environment.

    Raises
    ------
    SettingsError
        If the file is not TOML, a key or variable is unknown, or a value is bad.
    """
    file = home / SETTINGS_FILE
    values = _from_file(file)
    sources: dict[str, str] = {}
    for variable, text in environment.items():
        if variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            if not text and not variable.lower().endswith(tuple(_MAY_BE_EMPTY)):
                continue  # an empty variable counts as unset
            table, key = _place(variable)
            if not isinstance(values.setdefault(table, {}), dict):
                raise SettingsError(f"{file}: '{table}' is not a table; write [{table}] above it")
            values[table][key] = _as_typed(Settings.model_fields[table].annotation, key, text)
            sources[f"{table}.{key}"] = variable
    try:
        return Settings.model_validate(values)
    except ValidationError as error:
        problems = "; ".join(_told(problem, file, sources) for problem in error.errors())
        raise SettingsError(problems) from None


def _from_file(file: Path) -> dict[str, Any]:
    if not file.is_file():
        return {}
    try:
        return tomllib.loads(file.read_bytes().decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file}: not valid TOML: {error}; correct that line") from None


def _place(variable: str) -> tuple[str, str]:
    """`GSUM_LLM_BASE_URL` -> ("llm", "base_url")."""
    for table, field in Settings.model_fields.items():
        prefix = f"{PREFIX}{table.upper()}_"
        if variable.startswith(prefix):
            key = variable.removeprefix(prefix).lower()
            if key in field.annotation.model_fields:  # type: ignore[union-attr]
                return table, key
    known = [
        f"{PREFIX}{table}_{key}".upper()
        for table, field in Settings.model_fields.items()
        for key in field.annotation.model_fields  # type: ignore[union-attr]
    ] + sorted(_OTHER_VARIABLES)
    raise SettingsError(
        f"environment variable {variable} is unknown{did_you_mean(variable, known)}"
    )


def _as_typed(table: Any, key: str, text: str) -> Any:
    """Numbers come as text from the environment; a wrong one stays text, for the error to show."""
    wanted = table.model_fields[key].annotation
    if get_origin(wanted) is None and wanted in (int, float):
        try:
            return wanted(text)
        except ValueError:
            return text
    return text


def _told(problem: Any, file: Path, sources: Mapping[str, str]) -> str:
    path = ".".join(str(part) for part in problem["loc"])
    table, _, key = path.partition(".")
    if problem["type"] == "extra_forbidden":
        if key == "api_key":
            return (
                f"{file}: [{table}] api_key: a key is never written here; remove it and set the "
                "environment variable that api_key_env names"
            )
        model = Settings if not key else Settings.model_fields[table].annotation
        known = model.model_fields  # type: ignore[union-attr]
        return f"{file}: unknown key '{path}'{did_you_mean(key or table, known)}"
    if problem["type"] == "literal_error":  # of a backend and the like
        expected = problem["ctx"]["expected"]
        nearest = did_you_mean(str(problem["input"]), re.findall(r"'([^']*)'", expected))
        where = _where(path, file, sources)
        return f"{where} is {problem['input']!r}{nearest}"
    if problem["type"] == "value_error" and not key:
        return f"{file}: [{table}]: {problem['msg'].removeprefix('Value error, ')}"
    where = _where(path, file, sources)
    value = "" if key == "api_key_env" else f" is {problem['input']!r}"
    return f"{where}{value}: {problem['msg'].removeprefix('Value error, ')}; correct or remove it"


def _where(path: str, file: Path, sources: Mapping[str, str]) -> str:
    """Return what set the value at `path`: a variable or a key of the file."""
    return f"environment variable {sources[path]}" if path in sources else f"{file}: '{path}'"
