"""Settings in `gsum.toml`: the models, their servers, and the schedule of nightly work.

One small file in the home, every key optional. An environment variable `GSUM_<TABLE>_<KEY>`
(`GSUM_LLM_MODEL`, `GSUM_EMBEDDING_BASE_URL`) overrides a key of that table.
"""

import os
import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar, Literal, Self
from zoneinfo import available_timezones

from pydantic import BaseModel, Field, ValidationError, field_validator, model_validator

from gsum_resources.messages.suggest import did_you_mean
from gsum_resources.settings.paths import read_if_exists
from gsum_resources.settings.table import SettingsTable

SETTINGS_FILE = "gsum.toml"
PREFIX = "GSUM_"
# read by `home.py`, and by the benchmarks, which start `gsum run`
_OTHER_VARIABLES = frozenset(
    {"GSUM_HOME", "GSUM_WAREHOUSE", "GSUM_CORPORA", "GSUM_SETTINGS", "GSUM_SERVE_TOKEN"}
    | {"GSUM_DATASETS", "GSUM_MS_GRAPHRAG_PYTHON"}
)
_MAY_BE_EMPTY = "api_key_env"  # the key whose empty value has a meaning


class SettingsError(ValueError):
    """A setting that cannot be used; the message names the setting, its value and the remedy."""


class EndpointSettings(SettingsTable):
    """A server that speaks the OpenAI protocol, and its limits."""

    table: ClassVar[str]  # its name in `gsum.toml`, for messages

    base_url: str = Field(
        default="https://api.openai.com/v1", description="address of the API, up to its version"
    )
    api_key_env: str = Field(
        default="OPENAI_API_KEY",
        description="environment variable that holds the key; empty: the server requires none. A "
        "private server (localhost, a private address) needs none while the default is unset",
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
            # the value may be a key by mistake: never repeat it
            raise ValueError("names a variable, it is not the key itself")
        return name


_OWN_MODEL = {  # backends without the setting `model`
    "extractive": "which has no other model",
    "same": "the model of [llm]",
    "unigram": "which has no model",
    "packaged": "which has its own model",
}


class ModelSettings(SettingsTable):
    """A model of this machine, or of a server."""

    backend: Any  # declared by each subclass
    model: str = Field(default="", description="name at the server, or path or hub id")
    version: str = Field(
        default="",
        description="change it when the model behind the name changes: replies are requested again",
    )

    @model_validator(mode="after")
    def _backend_fits_model(self) -> Self:
        if self.backend not in _OWN_MODEL and not self.model:
            raise ValueError(f"backend '{self.backend}' needs a model; set model")
        allowed = ("", "extractive") if self.backend == "extractive" else ("",)
        if self.backend in _OWN_MODEL and self.model not in allowed:
            raise ValueError(
                f"model is '{self.model}', but backend is '{self.backend}', "
                f"{_OWN_MODEL[self.backend]}; set backend to one with a model, such as "
                "'transformers_local', or remove model"
            )
        return self


class LlmSettings(EndpointSettings, ModelSettings):
    """Table `[llm]`: the language model."""

    table: ClassVar[str] = "llm"
    backend: Literal["extractive", "openai_compatible", "transformers_local", "packaged"] = Field(
        default="extractive", description="what serves it; packaged: SmolLM2 of the extra smollm2"
    )
    structured_output: Literal["auto", "json_schema", "prompt"] = Field(
        default="auto", description="how JSON is requested; auto: the best that the server supports"
    )
    max_repairs: int = Field(
        default=2, ge=0, description="re-asks after a reply of wrong structure"
    )
    context_tokens: int = Field(
        default=0,
        ge=0,
        description="of prompt and reply together; 0: as the server or the model reports",
    )
    tokenizer: str = Field(
        default="",
        description="counts tokens: a tokenizer.json or its folder; empty: a local model's own, "
        "else a bound that errs on the safe side",
    )
    max_reply_tokens: int = Field(
        default=0, ge=0, description="of a served model, thoughts included; 0: by the wanted words"
    )
    reasoning_effort: Literal["", "none", "minimal", "low", "medium", "high", "xhigh"] = Field(
        default="", description="of a served model that reasons; empty: its own default"
    )
    filter_version: str = Field(
        default="", description="change it to send requests again that a content filter rejected"
    )
    usd_per_million_tokens_in: float = Field(default=0.0, ge=0, description="price, US dollars")
    usd_per_million_tokens_out: float = Field(default=0.0, ge=0, description="price, US dollars")


class JudgeSettings(LlmSettings):
    """Table `[judge]`: the language model that judges answers."""

    table: ClassVar[str] = "judge"
    backend: Literal["same", "openai_compatible", "transformers_local", "packaged"] = Field(  # type: ignore[assignment]
        default="same", description="what serves it; same: the model of [llm]"
    )


class ExtractionSettings(LlmSettings):
    """Table `[models.extraction]`: extraction from documents, passage by passage."""

    table: ClassVar[str] = "models.extraction"


class ReportSettings(LlmSettings):
    """Table `[models.reports]`: reports of communities."""

    table: ClassVar[str] = "models.reports"


class SimulationSettings(LlmSettings):
    """Table `[models.simulation]`: simulated questions, and their answers."""

    table: ClassVar[str] = "models.simulation"


class AnswerSettings(LlmSettings):
    """Table `[models.answers]`: everything that is requested for a question."""

    table: ClassVar[str] = "models.answers"


class WorkSettings(SettingsTable):
    """The tables `[models.*]`: models for kinds of work; None: the model of [llm]."""

    extraction: ExtractionSettings | None = None
    reports: ReportSettings | None = None
    simulation: SimulationSettings | None = None
    answers: AnswerSettings | None = None


class EmbeddingSettings(EndpointSettings):
    """Table `[embedding]`: the embedder of chunks and queries."""

    table: ClassVar[str] = "embedding"
    backend: Literal["local", "openai_compatible"] = Field(
        default="local", description="what serves it"
    )
    model: str = Field(default="packaged", description="packaged, path, hub id, name at the server")
    precision: Literal["auto", "float32", "bfloat16"] = Field(
        default="auto",
        description="of a local model; auto: that of the home's vectors; in a new home bfloat16, "
        "which is 1.5 to 2.5 times as fast, if the processor multiplies it",
    )
    version: str = Field(default="", description="change it when the model behind the name changes")
    max_tokens: int = Field(
        default=8000,
        ge=16,
        description="longest text a server takes; longer ones are split into windows",
    )
    usd_per_million_tokens: float = Field(default=0.0, ge=0, description="price, US dollars")


class ScorerSettings(ModelSettings):
    """Table `[scorer]`: the scorer of how well one passage predicts another."""

    table: ClassVar[str] = "scorer"
    backend: Literal["unigram", "transformers_local", "packaged"] = Field(
        default="unigram", description="what serves it; unigram: word frequencies, no model"
    )
    mu: float = Field(
        default=1000.0,
        gt=0,
        allow_inf_nan=False,
        description="of unigram: weight of the background, words",
    )


class CorpusBudget(SettingsTable):
    """A table `[budget.corpora.NAME]`: what served models may cost a day, for one corpus."""

    calls: int = Field(default=0, ge=0, description="requests a day; 0: no limit")
    tokens: int = Field(default=0, ge=0, description="in and out, a day; 0: no limit")
    usd: float = Field(default=0.0, ge=0, description="US dollars a day; 0: no limit")


class BudgetSettings(CorpusBudget):
    """Table `[budget]`: what served models may cost a day, for all corpora together."""

    corpora: dict[str, CorpusBudget] = Field(
        default_factory=dict, description="limits of a corpus by its name, besides those of all"
    )


class AutomationSettings(SettingsTable):
    """Table `[automation]`: when unattended work begins."""

    nightly: str = Field(default="0 2 * * *", description="cron line of the nightly re-index")
    retrain: str = Field(default="0 4 * * 0", description="cron line of training every model again")
    timezone: str = Field(
        default="UTC", description="of those cron lines and of a day of [budget], IANA name"
    )
    interval_s: int = Field(
        default=15, ge=1, description="between two looks at the folders of corpora, seconds"
    )
    buckets_per_run: int = Field(
        default=8,
        ge=1,
        description="buckets of a corpus that a step computes together: bounds its memory, and the "
        "work that a killed run loses",
    )
    forget_after_h: float = Field(
        default=24.0,
        ge=0,
        description="from noting that the folder of a corpus is missing until the corpus is "
        "forgotten, hours; a folder that comes back earlier is as before",
    )

    keep_runs_days: int = Field(
        default=90, ge=1, description="days after which ended runs leave Dagster's record"
    )
    steps_at_once: int = Field(
        default=1,
        ge=1,
        description="steps of a run side by side; 1: one after the other in one process, which "
        "loads the models once",
    )

    @field_validator("nightly", "retrain")
    @classmethod
    def _is_cron(cls, line: str) -> str:
        import dagster as dg

        try:
            dg.ScheduleDefinition(job_name="nightly", cron_schedule=line)
        except dg.DagsterInvalidDefinitionError:
            raise ValueError("not a cron line of five fields such as '0 2 * * *'") from None
        return line

    @field_validator("timezone")
    @classmethod
    def _is_known(cls, name: str) -> str:
        if name not in available_timezones():
            raise ValueError("not the name of a time zone such as 'Europe/Berlin'")
        return name


class StateSettings(SettingsTable):
    """Table `[state]`: the database of replies, calls, requests and other state."""

    url: str = Field(
        default="",
        repr=False,  # it may hold a password
        description="postgresql+psycopg2://user:password@host/name; empty: state.db in the home",
    )


class EngineSettings(SettingsTable):
    """Table `[engine]`: where the blocks of heavy steps are computed."""

    kind: Literal["local", "ray"] = Field(
        default="local",
        description="local: in the process of the run; ray: on a Ray cluster, of the extra ray",
    )
    address: str = Field(
        default="",
        description="of ray: a running cluster: 10.0.0.1:6379 or auto on one of its nodes, "
        "ray://10.0.0.1:10001 elsewhere; empty: as the variable RAY_ADDRESS says",
    )
    actors: int = Field(
        default=0,
        ge=0,
        description="of ray: processes of a run that compute blocks, each with its own copy of the "
        "models; 0: as many as the cluster has room for when the run starts",
    )
    num_cpus: int = Field(
        default=1, ge=1, description="of ray: processors of an actor, and its number of threads"
    )
    num_gpus: float = Field(default=0.0, ge=0, description="of ray: GPUs of an actor")
    resources: str = Field(
        default="",
        description="of ray: custom resources of an actor, as 'a100=1, fast_disk=0.5': it runs on "
        "nodes that declare them",
    )
    start_timeout_s: float = Field(
        default=300.0,
        gt=0,
        description="of ray: longest wait for a node that can hold an actor, seconds",
    )

    @field_validator("resources")
    @classmethod
    def _is_list(cls, text: str) -> str:
        resources_of(text)
        return text


def resources_of(text: str) -> dict[str, float]:
    """Return the custom resources of a list such as 'a100=1, fast_disk=0.5', or raise an error."""
    amounts = {}
    for item in filter(str.strip, text.split(",")):
        name, _, amount = (word.strip() for word in item.partition("="))
        try:
            amounts[name] = float(amount if name else "")
        except ValueError:
            raise ValueError("must be a list such as 'a100=1, fast_disk=0.5'") from None
    return amounts


class DagsterSettings(SettingsTable):
    """Table `[dagster]`: where Dagster's UI is."""

    ui_url: str = Field(
        default="",
        description="its address, to whose lineage the page of `gsum serve` links; empty: none",
    )

    @field_validator("ui_url")
    @classmethod
    def _is_address(cls, url: str) -> str:
        if url and not re.match(r"https?://[^\s/]", url):
            raise ValueError(f"'{url}' is no address that begins with http:// or https://")
        return url.rstrip("/")


class Settings(SettingsTable):
    """All settings in `gsum.toml`."""

    llm: LlmSettings = LlmSettings()
    models: WorkSettings = WorkSettings()
    judge: JudgeSettings = JudgeSettings()
    embedding: EmbeddingSettings = EmbeddingSettings()
    scorer: ScorerSettings = ScorerSettings()
    budget: BudgetSettings = BudgetSettings()
    automation: AutomationSettings = AutomationSettings()
    state: StateSettings = StateSettings()
    engine: EngineSettings = EngineSettings()
    dagster: DagsterSettings = DagsterSettings()

    @property
    def has_served_model(self) -> bool:
        """Whether a model is on a server, which may cost money."""
        models = self.llm, self.judge, self.embedding, *dict(self.models).values()
        return any(model and model.backend == "openai_compatible" for model in models)

    @model_validator(mode="before")
    @classmethod
    def _filled_up(cls, values: Any) -> Any:
        """Fill missing keys of tables of [models] from [llm]; move [models.judge] to [judge]."""
        models = values.get("models") if isinstance(values, dict) else None
        if not isinstance(models, dict):
            return values
        llm = values.get("llm", {})
        if isinstance(llm, BaseModel):
            llm = llm.model_dump(exclude_unset=True)
        is_table = isinstance(llm, dict)
        filled = {
            work: _inherited(keys, llm) if isinstance(keys, dict) and is_table else keys
            for work, keys in models.items()
        }
        if "judge" not in filled:
            return {**values, "models": filled}
        if values.get("judge"):
            raise ValueError("[judge] and [models.judge] are the same; remove one of them")
        judge = filled.pop("judge")
        if isinstance(judge, dict) and judge.get("backend", "extractive") == "extractive":
            judge = {key: value for key, value in judge.items() if key != "backend"}
        return {**values, "models": filled, "judge": judge}


_TABLES: dict[str, Any] = {  # every table of keys, by its name in the file
    **{name: f.annotation for name, f in Settings.model_fields.items() if name != "models"},
    **{
        settings.table: settings
        for settings in (ExtractionSettings, ReportSettings, SimulationSettings, AnswerSettings)
    },
    "models.judge": JudgeSettings,
}


def _variable(table: str, key: str) -> str:
    return f"{PREFIX}{table}_{key}".replace(".", "_").upper()


_VARIABLES = {  # table and key that each variable sets
    _variable(table, key): (table, key)
    for table, settings in _TABLES.items()
    for key in settings.model_fields
    if key != "corpora"  # a table
}
_OF_MODEL = frozenset(  # keys that do not apply to another model
    {"model", "version", "context_tokens", "tokenizer", "max_reply_tokens", "reasoning_effort"}
    | {"filter_version"}
    | {"usd_per_million_tokens_in", "usd_per_million_tokens_out", "structured_output"}
)


def _inherited(given: dict[str, Any], llm: dict[str, Any]) -> dict[str, Any]:
    """Return a table of [models] with the missing keys filled from [llm].

    For another server only the backend is inherited, and for another model only the server: a key
    is sent to no other server, and a price applies to no other model.
    """
    if "backend" in given and given["backend"] != llm.get("backend"):
        return given
    if "base_url" in given and given["base_url"] != llm.get("base_url"):
        return {key: value for key, value in llm.items() if key == "backend"} | given
    other = "model" in given and given["model"] != llm.get("model")
    return {key: value for key, value in llm.items() if not (other and key in _OF_MODEL)} | given


def load_settings(file: Path, environment: Mapping[str, str] = os.environ) -> Settings:
    """Return the settings of a home: defaults, overridden by its file, then by the environment.

    The file need not exist. Raise `SettingsError` if it is not TOML, a key or variable is unknown,
    or a value is invalid.
    """
    try:
        values = tomllib.loads((read_if_exists(file) or b"").decode("utf-8-sig"))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise SettingsError(f"{file}: not valid TOML: {error}; correct that line") from None
    for variable, text in environment.items():
        # an empty variable counts as unset
        if variable.startswith(PREFIX) and (text or variable.lower().endswith(_MAY_BE_EMPTY)):
            if variable in _VARIABLES:
                table, key = _VARIABLES[variable]
                _in_table(values, table, file)[key] = text
            elif variable not in _OTHER_VARIABLES:
                nearest = did_you_mean(variable, [*_VARIABLES, *sorted(_OTHER_VARIABLES)])
                raise SettingsError(f"environment variable {variable} is unknown{nearest}")
    return checked_settings(values, str(file), environment)


def checked_settings(
    values: Mapping[str, Any], source: str, environment: Mapping[str, str] | None = None
) -> Settings:
    """Return the tables of a `gsum.toml` as settings.

    Raise `SettingsError` if there is an unknown key, or a bad value; the message names the source,
    or one of the variables of the environment that are among the values.
    """
    try:
        return Settings.model_validate(dict(values))
    except ValidationError as error:
        given = environment or {}
        failures = (_failure_message(problem, source, given) for problem in error.errors())
        raise SettingsError("; ".join(failures)) from None


def _in_table(values: dict[str, Any], table: str, file: Path) -> dict[str, Any]:
    """Return the values of a table, which is added where the file has none."""
    for segment in table.split("."):
        values = values.setdefault(segment, {})
        if not isinstance(values, dict):
            raise SettingsError(f"{file}: '{segment}' is not a table; write [{table}] above it")
    return values


def _failure_message(problem: Any, file: str, environment: Mapping[str, str]) -> str:
    """Return a message that names the location, the value and the remedy of one error."""
    path = ".".join(map(str, problem["loc"]))
    table, _, key = path.rpartition(".")
    reason = problem["msg"].removeprefix("Value error, ")
    if problem["type"] == "extra_forbidden":
        if table and key == "api_key":
            return (
                f"{file}: [{table}] api_key: a key is never written here; remove it and set the "
                "environment variable that api_key_env names"
            )
        if table in _TABLES:
            return f"{file}: unknown key '{path}'{did_you_mean(key, _TABLES[table].model_fields)}"
        return (
            f"{file}: unknown key '{path}'{did_you_mean(path, [*Settings.model_fields, *_TABLES])}"
        )
    if problem["type"] == "value_error" and (not path or path in _TABLES):
        return f"{file}: [{path}]: {reason}" if path else f"{file}: {reason}"
    variable = _variable(table, key)
    where = f"environment variable {variable}" if environment.get(variable) else f"{file}: '{path}'"
    if problem["type"] == "literal_error":  # for example of a backend
        known = re.findall(r"'([^']*)'", problem["ctx"]["expected"])
        return f"{where} is {problem['input']!r}{did_you_mean(str(problem['input']), known)}"
    value = "" if key == "api_key_env" else f" is {problem['input']!r}"
    return f"{where}{value}: {reason}; correct or remove it"
