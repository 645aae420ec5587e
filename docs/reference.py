"""References that are generated from the code: commands, settings, tables and API pages.

`hooks.py` adds them to the site; nothing is written to `docs/`. The commands come from click's
declarations, the settings from the pydantic models, the tables from `TABLES`. An API page names the
modules that mkdocstrings reads without importing them.
"""

import html
import re
import types
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin

import click
from pydantic import BaseModel
from pydantic.fields import FieldInfo
from pydantic_core import PydanticUndefined

ROOT = Path(__file__).parents[1]

API: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "gsum": ("gsum", ("gsum",)),
    "method": (
        "Steps and methods",
        (
            "gsum_assets.pipeline.family",
            "gsum_assets.pipeline.step",
            "gsum_assets.registry.families",
            "gsum_assets.pipeline.columns",
            "gsum_resources.store.table",
            "gsum_assets.pipeline.result",
            "gsum_assets.pipeline.result",
        ),
    ),
    "corpus": ("Corpus", ("gsum_assets.corpus",)),
    "retrieval": ("Retrieval and graphs", ("gsum_assets.retrieval", "gsum_assets.graphs")),
    "gor": ("Graph of Records", ("gsum_assets.gor",)),
    "lightpal": ("LightPAL", ("gsum_assets.lightpal",)),
    "gae": ("Graph-augmented summarization", ("gsum_assets.gae",)),
    "graphrag": ("GraphRAG", ("gsum_assets.graphrag",)),
    "jerr": ("JERR", ("gsum_assets.jerr",)),
    "evidence": ("Learnt evidence", ("gsum_assets.evidence",)),
    "rivals": (
        "LinearRAG, HippoRAG 2 and RAPTOR",
        (
            "gsum_assets.linear_rag",
            "gsum_assets.hippo_rag",
            "gsum_assets.multi_hop",
            "gsum_assets.raptor",
        ),
    ),
    "evaluation": ("Evaluation", ("gsum_assets.evaluation",)),
    "models": (
        "Models",
        ("gsum_resources.protocols.models", "gsum_resources.llm", "gsum_resources.embedding"),
    ),
    "warehouse": (
        "Warehouse",
        (
            "gsum_resources.settings.home",
            "gsum_resources.store.parquet_store",
            "gsum_resources.store.catalogue",
            "gsum_resources.store.lineage",
            "gsum_resources.store.memo",
        ),
    ),
}
"""Pages of the API reference: file name, title, and the modules or packages that it shows."""


def reference_pages() -> dict[str, str]:
    """Return the text of every generated reference by its path in the site."""
    return {
        "reference/commands.md": commands_page(),
        "reference/settings.md": settings_page(),
        "reference/tables.md": tables_page(),
        **{f"reference/api/{name}.md": api_page(*page) for name, page in API.items()},
    }


# --- commands -------------------------------------------------------------------------------------


def commands_page() -> str:
    """Return the reference of `gsum` and its commands."""
    from gsum_assets.cli.main import main

    context = click.Context(main, info_name="gsum", **main.context_settings)
    lines = ["# Commands", "", _paragraphs(main), ""]
    lines += ["| command | purpose |", "|---|---|"]
    for name, command in sorted(main.commands.items()):
        lines.append(
            f"| [`gsum {name}`](#gsum-{name}) | {_cell(command.get_short_help_str(200))} |"
        )
    for name, command in sorted(main.commands.items()):
        lines += ["", *_command(name, command, context)]
    return "\n".join(lines) + "\n"


def _command(name: str, command: click.Command, parent: click.Context) -> Iterator[str]:
    context = click.Context(command, parent=parent, info_name=name)
    yield f"## gsum {name}"
    yield ""
    usage = " ".join(command.collect_usage_pieces(context))
    yield from ("```console", f"$ gsum {name} {usage}", "```", "")
    yield _paragraphs(command)
    options = [one for one in command.get_params(context) if isinstance(one, click.Option)]
    yield from ("", "| option | value | meaning |", "|---|---|---|")
    for option in options:
        record = option.get_help_record(context)
        if record is None:
            continue
        names = " ".join(f"`{one}`" for one in (*option.opts, *option.secondary_opts))
        value = "" if option.is_flag else option.make_metavar(context)
        yield f"| {names} | {_cell(value)} | {_cell(record[1])} |"


def _paragraphs(command: click.Command) -> str:
    text = (command.help or "").replace("\b", "")
    return html.escape(re.sub(r"\n {2,}", "\n", text), quote=False).strip()


# --- settings -------------------------------------------------------------------------------------


def settings_page() -> str:
    """Return the reference of `gsum.toml`, `corpus.toml` and the environment variables."""
    return "\n".join(
        [
            "# Settings",
            "",
            "Generated from the models that validate the files. [Settings](../settings.md)",
            "explains the files.",
            "",
            "## gsum.toml",
            "",
            "The file `$GSUM_HOME/gsum.toml`. An environment variable `GSUM_<TABLE>_<KEY>`",
            "overrides a key, for example `GSUM_LLM_MODEL`.",
            *_tables_of(home_sections()),
            "",
            "## corpus.toml",
            "",
            "The file `corpus.toml` in the folder of a corpus.",
            *_tables_of(corpus_sections()),
            "",
        ]
    )


def home_sections() -> dict[str, type[BaseModel]]:
    """Return the tables of `gsum.toml` with their models."""
    from gsum_resources.settings.schema import Settings

    return _sections("", Settings)


def corpus_sections() -> dict[str, type[BaseModel]]:
    """Return the tables of `corpus.toml` with their models; the keys above all tables under ''."""
    from gsum_assets.evaluation.generate_questions import QuestionsSettings
    from gsum_assets.evaluation.judges.settings import JudgesSettings
    from gsum_assets.evaluation.score import ScoreSettings
    from gsum_assets.pipeline.corpus_settings import CorpusSettings
    from gsum_assets.registry.families import FAMILIES

    found = {"": CorpusSettings, **_sections("", CorpusSettings)}
    of_steps = {"scores": ScoreSettings, "judges": JudgesSettings, "questions": QuestionsSettings}
    of_methods = {one.name: one.settings for one in FAMILIES if one.settings}
    for name, model in {**of_steps, **of_methods}.items():
        found |= {name: model, **_sections(f"{name}.", model)}
    return {name: model for name, model in found.items() if _own_fields(model)}


def _sections(prefix: str, model: type[BaseModel]) -> dict[str, type[BaseModel]]:
    found: dict[str, type[BaseModel]] = {}
    for name, field in model.model_fields.items():
        if nested := _nested(field):
            found[f"{prefix}{name}"] = nested
            found |= _sections(f"{prefix}{name}.", nested)
    return {name: one for name, one in found.items() if _own_fields(one)}


def _nested(field: FieldInfo) -> type[BaseModel] | None:
    options = (field.annotation, *get_args(field.annotation))
    return next(
        (one for one in options if isinstance(one, type) and issubclass(one, BaseModel)), None
    )


def _own_fields(model: type[BaseModel]) -> dict[str, FieldInfo]:
    """Fields that are keys; a field that is a table, checked elsewhere or nested, is none."""
    return {
        name: field
        for name, field in model.model_fields.items()
        if not _nested(field) and get_origin(field.annotation) is not dict
    }


def _tables_of(sections: Mapping[str, type[BaseModel]]) -> Iterator[str]:
    seen: dict[tuple[str, ...], str] = {}
    for name, model in sections.items():
        title = f"`[{name}]`" if name else "Keys above all tables"
        anchor = re.sub(r"\W+", "-", name) or "top"
        yield from ("", f"### {title} {{ #{anchor} }}", "")
        if (first := seen.setdefault(_described(model), name)) != name:
            yield f"The keys of [`[{first}]`](#{first})."
            continue
        yield from ("| key | type | default | meaning |", "|---|---|---|---|")
        for key, field in _own_fields(model).items():
            yield (
                f"| `{key}` | {_cell(type_name(field.annotation))} | {_default(field)} | "
                f"{_cell(field.description or '')} |"
            )


def _described(model: type[BaseModel]) -> tuple[str, ...]:
    """Return what a table says of its keys, to find tables with the same ones."""
    return tuple(
        f"{key} {field.annotation} {field.description} {_default(field)}"
        for key, field in _own_fields(model).items()
    )


def type_name(annotation: Any) -> str:
    """Return a type as a reader of TOML knows it: `integer`, `one of "a", "b"`."""
    plain = {int: "integer", float: "number", bool: "true or false", str: "text"}
    if annotation in plain:
        return plain[annotation]
    origin, inner = get_origin(annotation), get_args(annotation)
    if origin is Literal:
        return "one of " + ", ".join(f'"{one}"' for one in inner)
    if origin in (Union, types.UnionType):
        return " or ".join(type_name(one) for one in inner if one is not type(None))
    if origin in (list, tuple, Sequence):
        return f"list of {type_name(inner[0])}" if inner else "list"
    if origin is not None and inner:  # Annotated
        return type_name(inner[0])
    return getattr(annotation, "__name__", str(annotation))


def _default(field: FieldInfo) -> str:
    value = field.get_default(call_default_factory=True)
    if value is PydanticUndefined:
        return "required"
    if value is None:
        return "unset"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple):
        value = list(value)
    return f"`{value}`" if not isinstance(value, str) else f'`"{value}"`'


# --- tables ---------------------------------------------------------------------------------------


_EDGES = (
    "Edges lead from `source_id` to `target_id`:",
    "",
    "| table | from `source_id` | to `target_id` |",
    "|---|---|---|",
    "| `gor.record_edges` | passage or response that was used | response that used it |",
    "| `lightpal.edges` (view) | passage where a walk is | passage to which it goes on |",
    "| `jerr.edges`, `jerr.left_out_edges` | element that acts or contains | the other |",
    "| `hippo_rag.edges` | undirected: phrase, or passage of a context | phrase |",
    "| `graphrag.relationships` | undirected; the end usually named first | the other end |",
    "| `gae.graph_edges` | undirected, one row a pair | |",
)


def tables_page() -> str:
    """Return the reference of all tables, one row a column."""
    from gsum_assets.pipeline.tables import TABLES

    lines = [
        "# Tables",
        "",
        "Every table is a view in `$GSUM_HOME/gsum.duckdb` ([SQL and notebooks](../sql.md)). The",
        "columns `corpus`, `bucket` and `method` are partition keys: they are part of the path of",
        "the Parquet file, and the view adds them.",
        "",
        *_EDGES,
    ]
    schemas: dict[str, list[Any]] = {}
    for table in TABLES.values():
        schemas.setdefault(table.name.rpartition(".")[0], []).append(table)
    for schema, tables in schemas.items():
        lines += ["", f"## {f'Schema {schema}' if schema else 'Corpus and evaluation'}"]
        for table in tables:
            lines += ["", *_table(table)]
    return "\n".join(lines) + "\n"


def _table(table: Any) -> Iterator[str]:
    yield f"### {table.name}"
    yield ""
    keys = ", ".join(f"`{one}`" for one in (*table.dimensions, *table.key))
    yield f"One row per {_cell(table.row)}." + (f" Key: {keys}." if table.key else "")
    yield from ("", "| column | type | meaning |", "|---|---|---|")
    for dimension in table.dimensions:
        yield f"| `{dimension}` | string | partition key |"
    for column in table.columns:
        null = "; may be null" if column.nullable else ""
        ignored = "; not part of the content hash" if column.ignored_by_hash else ""
        kind = _cell(str(column.type))
        yield f"| `{column.name}` | {kind} | {_cell(column.meaning)}{null}{ignored} |"


def _cell(text: str) -> str:
    """Return a text that stands in one cell of a Markdown table, whatever it holds."""
    return html.escape(" ".join(text.split()), quote=False).replace("|", "&#124;")


# --- API ------------------------------------------------------------------------------------------


def api_page(title: str, names: Iterable[str]) -> str:
    """Return a page that shows modules; of a package all of its public modules."""
    lines = [f"# {title}", ""]
    for name in names:
        lines += [f"::: {module}\n" for module in modules_of(name)]
    return "\n".join(lines)


def modules_of(name: str) -> list[str]:
    """Return a module, or a package followed by its public modules.

    Raises
    ------
    FileNotFoundError
        If there is no such module below the root.
    """
    path = ROOT.joinpath(*name.split("."))
    if path.with_suffix(".py").is_file():
        return [name]
    if not (path / "__init__.py").is_file():
        raise FileNotFoundError(f"docs/hooks.py, API: no module {name!r}; correct the entry")
    below = sorted(one.stem for one in path.glob("[!_]*.py"))
    return [name, *(f"{name}.{one}" for one in below)]
