"""The component `gsum.GsumCorpus`: a corpus, with gsum's assets, in a Dagster project of others."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import dagster as dg
import tomlkit
from dagster.components import Scaffolder, ScaffoldRequest
from pydantic import Field

from gsum_assets.automation.attempts import TRY_AGAIN
from gsum_assets.automation.jobs import OBSERVE_SOURCES
from gsum_assets.automation.processes import CORPUS
from gsum_assets.corpus.init import link_corpus
from gsum_assets.definitions import METHODS, pipeline_for
from gsum_assets.pipeline.corpus_settings import SETTINGS_FILE as CORPUS_FILE
from gsum_assets.pipeline.corpus_settings import CorpusError, checked_settings, corpus_name_problem
from gsum_resources.settings.home import Home
from gsum_resources.settings.paths import path_at, read_if_exists, replace_content
from gsum_resources.settings.schema import SettingsError
from gsum_resources.settings.schema import checked_settings as checked_models

_MARK = "# Written by the component gsum.GsumCorpus from its defs.yaml; edit that file.\n"
_SCAFFOLD = """\
type: {type}

attributes:
  # The folder with the documents, relative to the project, or the URL of one.
  folder: corpora/{name}
  # Methods or families to start with; without them bm25, dense, hybrid and passage_walk.
  # methods: [hybrid, graphrag]
  # When to observe the folder and to retry what failed, besides watching it all the time.
  # schedule: "0 2 * * *"
  # owners: ["team:research"]
  # Tables of gsum.toml and of corpus.toml.
  # models: {{llm: {{backend: openai_compatible, model: gpt-5-mini}}}}
  # settings: {{title: {name}}}
"""


class _Scaffold(Scaffolder):
    """Writes a commented `defs.yaml`, and the folder of the documents."""

    def scaffold(self, request: ScaffoldRequest) -> None:
        """Write the files of a new component."""
        name = request.target_path.name
        text = _SCAFFOLD.format(type=request.type_name, name=name)
        (request.target_path / "defs.yaml").write_text(text)
        if request.project_root:
            (request.project_root / "corpora" / name).mkdir(parents=True, exist_ok=True)


@dg.scaffold_with(_Scaffold)
class GsumCorpus(dg.Component, dg.Resolvable, dg.Model):
    """A folder of documents as a corpus of gsum.

    The corpus is named after the component's folder. All such components of a project share one
    home of gsum and its assets; each corpus is a partition of these.
    """

    folder: Annotated[
        str, Field(description="folder with the documents, relative to the project, or its URL")
    ]
    home: Annotated[
        str,
        Field(default="data", description="gsum's home, relative to the project; GSUM_HOME wins"),
    ] = "data"
    methods: Annotated[
        Sequence[str] | None, Field(default=None, description="methods or families to start with")
    ] = None
    schedule: Annotated[
        str | None,
        Field(default=None, description="cron line: observe the folder, and retry what failed"),
    ] = None
    owners: Annotated[
        Sequence[str], Field(default=(), description="of all of gsum's assets in this project")
    ] = ()
    upstream: Annotated[
        Sequence[str],
        Field(default=(), description="keys of assets that write the folder, for the lineage"),
    ] = ()
    models: Annotated[
        Mapping[str, Any], Field(default={}, description="tables of gsum.toml, for all corpora")
    ] = {}
    settings: Annotated[
        Mapping[str, Any], Field(default={}, description="keys and tables of corpus.toml")
    ] = {}

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """Return the schedule of this corpus, and in the project's first component all assets."""
        corpora = _components(self, context)
        home = _home_of(self, context)
        corpus = context.path.name
        _write_corpus(self, corpus, home, context.project_root)
        own = dg.Definitions(schedules=[_schedule(corpus, self.schedule)] if self.schedule else [])
        if corpora[0] is not self:
            return own
        _write_models(corpora, home)
        pipeline = pipeline_for(
            home,
            owners=[owner for each in corpora for owner in each.owners],
            upstream=[dg.AssetKey.from_user_string(key) for c in corpora for key in c.upstream],
            executor=None,
        )
        return dg.Definitions.merge(pipeline.definitions, own)


def _components(present: GsumCorpus, context: dg.ComponentLoadContext) -> list[GsumCorpus]:
    """Return all such components of the project; they must have the same home.

    Raises
    ------
    SettingsError
        If their attributes contradict one another.
    """
    every = context.component_tree.get_all_components(GsumCorpus) or [present]
    for attribute in ("home", "models"):
        values = [getattr(each, attribute) for each in every if getattr(each, attribute)]
        if any(value != values[0] for value in values):
            raise SettingsError(
                f"gsum.GsumCorpus: components of one project share one home; '{attribute}' is "
                f"{' and '.join(map(repr, values))}: write it in one defs.yaml, or the same in all"
            )
    return every if any(each is present for each in every) else [present]


def _home_of(component: GsumCorpus, context: dg.ComponentLoadContext) -> Home:
    """Return the home; a corpus at a URL is read there, and the others must be beside it."""
    home = Home.from_environment(context.project_root / component.home)
    folders = [each.folder for each in _components(component, context)]
    parents = {
        folder.rstrip("/").rpartition("/")[0] if "://" in folder else "" for folder in folders
    }
    if len(parents) > 1:
        raise SettingsError(
            "gsum.GsumCorpus: corpora at URLs must all be folders of one URL, and none on this "
            f"machine; folders are {', '.join(folders)}"
        )
    return replace(home, corpora_url=parents.pop() or home.corpora_url)


def _write_corpus(component: GsumCorpus, corpus: str, home: Home, project: Path) -> None:
    """Add the folder to the home as a corpus, and write its `corpus.toml` if attributes ask."""
    if problem := corpus_name_problem(corpus):
        raise CorpusError(f"corpus '{corpus}': {problem}; rename the folder of defs.yaml")
    if "://" in component.folder:
        if component.folder.rstrip("/").rpartition("/")[2] != corpus:
            raise CorpusError(
                f"corpus '{corpus}': the URL {component.folder} ends otherwise; name the folder of "
                "defs.yaml as that of the documents"
            )
        folder = path_at(component.folder)
    else:
        folder = (project / component.folder).resolve()
        link_corpus(folder, home, corpus)
    values = dict(component.settings)
    if component.methods is not None:
        values["methods"] = METHODS.named(component.methods, f"corpus '{corpus}': methods")
    if values:
        checked_settings(values, f"corpus '{corpus}': defs.yaml")
        _write(folder / CORPUS_FILE, values)


def _write_models(corpora: Sequence[GsumCorpus], home: Home) -> None:
    """Write the home's `gsum.toml`, which `gsum ask` and `gsum run` read, too."""
    if models := next((each.models for each in corpora if each.models), None):
        checked_models(models, "gsum.GsumCorpus: models")
        _write(home.settings_file, models)


def _write(file: Path, values: Mapping[str, Any]) -> None:
    """Write settings to a file, unless it is equal; never replace what somebody else wrote."""
    content = (_MARK + tomlkit.dumps(values)).encode()
    before = read_if_exists(file)
    if before == content:
        return
    if before and not before.startswith(_MARK.encode()):
        raise SettingsError(
            f"{file} was written by somebody else; move its keys into defs.yaml and remove it, or "
            "remove methods, models and settings from defs.yaml"
        )
    if isinstance(file, Path):
        file.parent.mkdir(parents=True, exist_ok=True)
    replace_content(file, content)


def _schedule(corpus: str, cron: str) -> dg.ScheduleDefinition:
    return dg.ScheduleDefinition(
        name=f"refresh_{corpus.replace('-', '_').replace('.', '_')}",
        job_name=OBSERVE_SOURCES,
        cron_schedule=cron,
        tags={CORPUS: corpus, TRY_AGAIN: corpus},
        default_status=dg.DefaultScheduleStatus.RUNNING,
        description=f"Observes the corpus {corpus} and retries what failed; keep_current then "
        "writes what is due.",
    )
